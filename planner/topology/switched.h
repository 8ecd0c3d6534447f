// Fabrics of switches: fat trees, DGX-2, BiGraph (paper 001 §V-A).
#pragma once

#include <string_view>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// "K,L": the K-ary L-tree (Petrini and Vanneschi 1997): K^L hosts under L levels of K^(L-1) switches, K ports down and
/// K up at each but the roots; full bisection. Hosts K·i … K·i+K−1 share leaf switch i. "8,2" is paper 001's 64-node
/// 8-ary 2-level fat tree. K >= 2, L >= 1.
Result<Topology> make_fat_tree(std::string_view arguments);

/// "P": the DGX-2 with P of its six planes: 16 hosts on two boards of eight, in every plane one switch per board with a
/// link to each host of its board and a trunk of eight to its twin. "1" is paper 001's "one physical network".
Result<Topology> make_dgx2(std::string_view arguments);

/// "HxS": BiGraph of EFLOPS (paper 001 [29]): S switches, half of them upper and half lower, H hosts on each, every
/// upper switch joined to every lower one by as many links (one trunk) as full bisection takes. Hosts H·i … H·i+H−1 are
/// on switch i, upper ones first. "4x8" has 32 hosts, "4x16" 64. S is even.
Result<Topology> make_bigraph(std::string_view arguments);

}  // namespace libcoll::topology

// Where the ranks of a communicator are in the topology: by a placement file, by the names their hosts have, or by
// rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::comm {

/// What RankIdentity::placed says besides nodes.
inline constexpr topology::NodeId not_placed = -1;  ///< there is no placement file
inline constexpr topology::NodeId badly_placed =
    -2;  ///< there is one, and it names no node of the topology for the rank

/// What a rank says of itself, as bytes.
struct RankIdentity {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 0;
  topology::NodeId told = -1;            ///< as a communicator of the whole world found; negative: none has
  topology::NodeId placed = not_placed;  ///< by the placement file
  std::array<char, 260> host{};          ///< as MPI, or LIBCOLL_HOST, says
  std::array<char, 252> aliases{};       ///< other names of it (names_of_host), a line each
};

/// Names that launchers and schedulers have for this host, most trustworthy first, without repetition: PMIX_HOSTNAME,
/// SLURMD_NODENAME, and the line of $PBS_NODEFILE for it: that of $PBS_NODENUM, or the first whose short name is that
/// of `host`. `environment` as environ.
std::vector<std::string> names_of_host(std::string_view host, char* const* environment);

/// Both into `identity`, as much of them as fits in whole names.
void set_names(RankIdentity& identity, std::string_view host, std::span<const std::string> aliases);

/// Where a name is: the host of that name; else the only one that has the same up to the first dot. Nothing when there
/// is none.
std::optional<topology::NodeId> find_host(const topology::Topology& topology, std::string_view name);

/// Where ranks are, or why that is not known.
struct RankNodes {
  std::vector<topology::NodeId> nodes;  ///< by rank; empty: not known of all
  /// The first rank whose host is not in the topology, or that the placement file does not place; nothing where another
  /// thing is in the way.
  std::optional<std::size_t> unknown;
};

/// Node of every rank, the same whoever asks. By placement file where any rank has one; by host name and aliases where
/// the topology names hosts; otherwise rank k of the world is node k or, when the world has more ranks than there are
/// nodes, the k-th host is. Several worlds have several ranks k: there only names tell.
RankNodes nodes_of_ranks(const topology::Topology& topology, std::span<const RankIdentity> ranks, bool several_worlds);

bool on_one_host(std::span<const RankIdentity> ranks);

/// "rank 3 is on 'n3x', which the topology 'torus' does not have; expected one of n0, n1, n2, …"
std::string unknown_host_sentence(const topology::Topology& topology, const RankIdentity& rank);

}  // namespace libcoll::comm

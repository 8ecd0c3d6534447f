// Candidate paths for all-to-all on fabrics that route (paper 003 §3.1.4): the sets P of pMCF and of the ILPs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/base/result.h"
#include "planner/flow/paths/path_decomposition.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::paths {

/// Beyond this many paths of all pairs together a set is refused: the paper's own warning about shortest paths on tori.
inline constexpr std::int64_t max_candidate_paths = 500'000;

struct PathSet {
  enum class Kind : std::uint8_t {
    disjoint,  ///< as many link-disjoint paths as there can be, of least total length (by default in hops)
    shortest,  ///< all with the least number of hops
    all,       ///< all simple ones of at most `length` hops
  };
  Kind kind = Kind::disjoint;
  std::int32_t length = 0;
};

/// "disjoint", "shortest" or "all:LENGTH"; empty means disjoint.
Result<PathSet> parse_path_set(const std::string& text);

/// `lengths` by link, for disjoint sets: what their total is counted in; where empty, hops. The set of every pair from
/// one of the sources to another host, sources in order and destinations ascending; weights are equal within a pair.
/// Among link-disjoint sets of equal length those come first whose links fewer sets use already. Error where a pair has
/// no path within the length, or for more than max_candidate_paths. Precondition: every host reaches every other.
Result<std::vector<PairPaths>> candidate_paths(const topology::Topology& topology, const PathSet& set,
                                               std::span<const topology::NodeId> sources,
                                               std::span<const std::int64_t> lengths = {});

/// Link-disjoint sets around the paths of a flow: of every pair its heaviest path, then those that share no link with
/// one taken before, all in proportion to their weights, then as many more as the other links have room for, of least
/// total hops and without weight. Precondition: each pair has a path.
std::vector<PairPaths> disjoint_sets_around(const topology::Topology& topology, std::vector<PairPaths> flow);

}  // namespace libcoll::flow::paths

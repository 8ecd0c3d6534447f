// From fractions of a shard to whole chunks, with a known loss in F.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/deadline.h"
#include "planner/flow/lowering/concurrent_flow.h"
#include "planner/flow/paths/path_flow.h"
#include "planner/flow/problem/negotiation.h"
#include "planner/registry/planner.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::lowering {

/// A path and how many of its pair's chunks take it (> 0).
struct ChunkedPath {
  std::vector<topology::LinkId> links;
  std::int32_t chunks = 0;
};

/// The chunks of the paths sum to chunks_per_shard; paths are in lexicographic order of their links.
struct ChunkedPair {
  topology::NodeId source = 0;
  topology::NodeId destination = 0;
  std::vector<ChunkedPath> paths;
};

/// `pairs` as in ConcurrentFlow: those of the solved sources. `cost` is their largest load in shards per unit capacity,
/// `loss` = 1 − F(chunks)/F(fluid).
struct Chunking {
  std::int32_t chunks_per_shard = 1;
  double cost = 0;
  double loss = 0;
  std::vector<ChunkedPair> pairs;
};

/// How far chunks may stray from the weights of a plan.
enum class ChunkPaths : std::uint8_t {
  weighted,  ///< not at all: rounding alone
  given,     ///< to other paths of the plan
  shortest,  ///< to those and to shortest paths (16 per pair at most)
};

/// Cuts every shard in the smallest number of equal chunks, up to options.max_chunks (default 8), that loses at most
/// options.chunk_loss; where there is none, in the number that loses least. Weights are rounded by largest remainder;
/// then chunks on hot links are moved to other paths of their pair by negotiated congestion, as far as that goes;
/// beyond 100 000 pairs until the accepted loss is reached. No pair takes more than options.max_routes paths (0: any
/// number): where there are more to choose from, so many chunks at most. Shards are of the size options.demand says.
Chunking round_to_chunks(const topology::Topology& topology, const ConcurrentFlow& plan,
                         const registry::PlanOptions& options, ChunkPaths paths = ChunkPaths::shortest,
                         const Deadline& deadline = Deadline(0));

/// The solution of fewest chunks that costs at most (1 + loss/(1 − loss)) times the fluid plan, or else the cheapest
/// with up to options.max_chunks chunks. Without `search` rounding alone.
problem::ChunkSolution choose_chunks(const problem::ChunkProblem& problem, double fluid_cost,
                                     const registry::PlanOptions& options, bool search, const Deadline& deadline);

}  // namespace libcoll::flow::lowering

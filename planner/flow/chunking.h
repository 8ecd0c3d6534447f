// From fractions of a shard to whole chunks, with a known loss in F.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/flow/concurrent_flow.h"
#include "planner/planner.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// A path and how many of its pair's chunks take it (> 0).
struct ChunkedPath {
  std::vector<LinkId> links;
  std::int32_t chunks = 0;
};

/// The chunks of the paths sum to chunks_per_shard; paths are in lexicographic order of their links.
struct ChunkedPair {
  NodeId source = 0;
  NodeId destination = 0;
  std::vector<ChunkedPath> paths;
};

/// `pairs` as in ConcurrentFlow: those of the solved sources. `loss` = 1 − F(chunks)/F(fluid).
struct Chunking {
  std::int32_t chunks_per_shard = 1;
  double loss = 0;
  std::vector<ChunkedPair> pairs;
};

/// Cuts every shard in the smallest number of equal chunks, up to options.max_chunks (default 8), that loses at most
/// options.chunk_loss; where there is none, in the number that loses least. Weights are rounded by largest remainder;
/// then chunks on hot links are moved to other paths of their pair (those of the decomposition and shortest ones) by
/// negotiated congestion, as far as that goes; beyond 100 000 pairs until the accepted loss is reached.
Chunking round_to_chunks(const Topology& topology, const ConcurrentFlow& plan, const PlanOptions& options);

}  // namespace libcoll

// Calls of equal blocks, as all ranks of a node make them at once.
#pragma once

#include <cstdint>
#include <functional>

#include "libcoll/execute/call.h"

namespace libcoll::node {

/// Of the vector in an allreduce or a call of one root.
inline std::int64_t block_bytes(const execute::Call& call) { return call.elements * call.element_bytes; }

inline bool is_reduction(schedule::Collective collective) {
  return collective == schedule::Collective::allreduce || collective == schedule::Collective::reduce_scatter;
}

/// Whether the program may see that calls of MPI are made in it.
inline bool calls_mpi(const execute::Call& call) { return is_reduction(call.collective) && call.reducer.calls_mpi; }

/// Whether a rank shows a block for each rank, of which that one reads its own.
inline bool shows_block_per_rank(const execute::Call& call) {
  return call.collective == schedule::Collective::alltoall ||
         (call.collective == schedule::Collective::reduce_scatter && !call.is_rooted);
}

/// What a rank of so many shows.
inline std::int64_t shown_bytes(const execute::Call& call, std::int32_t ranks) {
  return block_bytes(call) * (shows_block_per_rank(call) ? ranks : 1);
}

/// Whether the result is written where others still read.
inline bool spoils_input(const execute::Call& call, std::int32_t ranks) {
  if (call.collective != schedule::Collective::alltoall) return false;
  const std::int64_t bytes = shown_bytes(call, ranks);
  const std::less<> before;
  return before(call.input, call.output + bytes) && before(call.output, call.input + bytes);
}

}  // namespace libcoll::node

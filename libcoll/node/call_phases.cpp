#include "libcoll/node/call_phases.h"

namespace libcoll::node {
namespace {

/// Where processes share a processor, longer looking keeps from running whom it waits for.
constexpr int looks_in_a_row = 10;

/// Lets the processor's other thread run.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool CallPhases::all_came_soon() const {
  for (int look = 0; look < looks_in_a_row; ++look) {
    if (phases_.have_come(awaited())) return true;
    relax();
  }
  return false;
}

bool CallPhases::all_say(std::int64_t number) const {
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    if (note(rank).number != number) return false;
  }
  return true;
}

}  // namespace libcoll::node

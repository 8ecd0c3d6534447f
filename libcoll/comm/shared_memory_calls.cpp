#include "libcoll/comm/shared_memory_calls.h"

#include <mutex>
#include <string>

#include "libcoll/base/log.h"
#include "libcoll/comm/call_choices.h"
#include "libcoll/comm/learned_rows.h"
#include "libcoll/comm/node_wait.h"

namespace libcoll::comm {

using namespace execute;
using namespace node;
using namespace schedule;

void SharedMemoryCalls::learn_settings() {
  for (std::size_t each = 0; each < may_go_.size(); ++each) {
    may_go_[each] = members_.hierarchy() != nullptr ||
                    wants_cost_model(members_.runtime().config(), static_cast<CallKind>(each), false);
  }
}

NodeMemory* SharedMemoryCalls::memory_for(CallKind kind) const {
  const Hierarchy* const neighbourhood = members_.neighbourhood();
  const bool has_memory = neighbourhood != nullptr && neighbourhood->memory() != nullptr;
  return has_memory && may_go_[static_cast<std::size_t>(kind)] ? neighbourhood->memory().get() : nullptr;
}

bool SharedMemoryCalls::serves_short(const Call& call) const {
  const NodeMemory* const memory = memory_for(call_of(call));
  return memory != nullptr && memory->short_exchange() != nullptr && memory->short_exchange()->fits(call);
}

bool SharedMemoryCalls::serves_long(const Call& call) const {
  const CopyChoice* const choice = choice_for(call);
  if (choice != nullptr) return choice->reads();
  const NodeMemory* const memory = memory_for(call_of(call));
  return memory != nullptr && memory->single_copy() != nullptr && memory->single_copy()->fits(call);
}

CopyChoice* SharedMemoryCalls::choice_for(const Call& call) const {
  if (!CopyChoice::serves(call)) return nullptr;
  const NodeMemory* const memory = memory_for(call_of(call));
  const bool may_go_in_stages = members_.hierarchy() != nullptr || has_stages(call_of(call));
  return memory != nullptr && may_go_in_stages ? memory->copy_choice() : nullptr;
}

void SharedMemoryCalls::begin_choice(CopyChoice& choice, const Call& call) const {
  choice.begin(call, memory_for(call_of(call))->single_copy()->least_bytes(call.collective));
}

bool SharedMemoryCalls::serves_in_stages(const Call& call) const { return has_stages(call_of(call)); }

bool SharedMemoryCalls::has_stages(CallKind kind) const {
  return members_.hierarchy() == nullptr && memory_for(kind) != nullptr &&
         members_.neighbourhood()->serves(*collective_of(kind), !is_rooted(kind) && !has_known_blocks(kind));
}

std::int64_t SharedMemoryCalls::most_short_bytes(Collective collective) const {
  const NodeMemory* const memory = memory_for(call_of(collective));
  const bool has_short_calls = memory != nullptr && memory->short_exchange() != nullptr;
  return has_short_calls ? ShortExchange::most_bytes_of(members_.size()) : 0;
}

bool SharedMemoryCalls::run(const Call& call, ProgressHook hook) {
  NodeMemory& memory = *memory_for(call_of(call));
  ShortExchange& exchange = *memory.short_exchange();
  try {
    const bool good = exchange.fits(call) ? run_short(exchange, call, hook)
                                          : run_long(*memory.single_copy(), exchange.phases(), call, hook);
    if (!good) memory.fail();
    return good;
  } catch (...) {
    memory.fail();  // no memory on this rank; the others are not to wait for it
    throw;
  }
}

bool SharedMemoryCalls::run_short(ShortExchange& exchange, const Call& call, ProgressHook hook) {
  exchange.begin(call);
  if (!wait(exchange.phases(), call.collective, hook)) return false;
  lengths_differ_ = !exchange.finish(call);
  return true;
}

bool SharedMemoryCalls::run_long(SingleCopy& copies, CallPhases& phases, const Call& call, ProgressHook hook) {
  SingleCopy::State state = SingleCopy::State::goes_on;
  for (copies.begin(call); state == SingleCopy::State::goes_on; state = copies.go_on(call)) {
    if (!wait(phases, call.collective, hook)) return false;
  }
  if (state == SingleCopy::State::failed) log(LogLevel::error, "a collective fails: a rank's memory cannot be read");
  lengths_differ_ = state == SingleCopy::State::lengths_differ;
  return state != SingleCopy::State::failed;
}

bool SharedMemoryCalls::wait(CallPhases& phases, Collective collective, ProgressHook hook) {
  if (phases.all_came_soon()) return true;
  hook.signs_of_life = &phases.phases().signs_of_life();
  const std::uint32_t number = phases.number();
  NodeWait wait(members_.runtime(), hook, [&] {
    return members_.in_words(collective, number) + "waits for other ranks of its host, " +
           members_.hosts()[static_cast<std::size_t>(members_.rank())];
  });
  const bool has_messages = [this] {
    const std::lock_guard guard(members_.runtime().lock());
    return members_.runtime().engine().has_unattended();
  }();
  if (wait.wait(phases.phases(), phases.awaited(), has_messages)) return true;
  if (hook.waits_in_vain()) return false;
  log(LogLevel::error, "a collective fails: a rank of this host gave up, or gave no sign of life for " +
                           std::to_string(members_.runtime().config().timeout_seconds) + " s");
  return false;
}

}  // namespace libcoll::comm

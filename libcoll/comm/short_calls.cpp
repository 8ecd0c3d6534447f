#include "libcoll/comm/short_calls.h"

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

ShortExchange* ShortCalls::exchange_memory() const {
  const Hierarchy* const neighbourhood = members_.neighbourhood();
  const bool has_memory = neighbourhood != nullptr && neighbourhood->memory() != nullptr;
  return has_memory ? neighbourhood->memory()->short_exchange() : nullptr;
}

void ShortCalls::learn_settings() {
  for (std::size_t each = 0; each < may_go_.size(); ++each) {
    const CallKind kind = call_of(static_cast<Collective>(each));
    may_go_[each] = members_.hierarchy() != nullptr || wants_cost_model(members_.runtime().config(), kind, false);
  }
}

std::int64_t ShortCalls::most_bytes(Collective collective) const {
  return may_go(collective) ? ShortExchange::most_bytes_of(members_.size()) : 0;
}

bool ShortCalls::exchange(const Call& call, ProgressHook hook) {
  ShortExchange& memory = *exchange_memory();
  memory.begin(call);
  if (!memory.all_came_soon() && !wait(memory, call.collective, hook)) {
    members_.neighbourhood()->memory()->fail();
    log(LogLevel::error, "a collective fails: a rank of this host gave up, or gave no sign of life for " +
                             std::to_string(members_.runtime().config().timeout_seconds) + " s");
    return false;
  }
  lengths_differ_ = !memory.finish(call);
  return true;
}

bool ShortCalls::wait(ShortExchange& memory, Collective collective, ProgressHook hook) {
  hook.signs_of_life = &memory.phases().signs_of_life();
  const std::uint32_t number = memory.calls();
  NodeWait wait(members_.runtime(), hook, [&] {
    return members_.in_words(collective, number) + "waits for other ranks of its host, " +
           members_.hosts()[static_cast<std::size_t>(members_.rank())];
  });
  const bool has_messages = [this] {
    const std::lock_guard guard(members_.runtime().lock());
    return members_.runtime().engine().has_unattended();
  }();
  return wait.wait(memory.phases(), memory.awaited(), has_messages);
}

}  // namespace libcoll::comm

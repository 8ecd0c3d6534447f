#include "libcoll/comm/short_calls.h"

#include "libcoll/base/log.h"
#include "libcoll/comm/node_wait.h"

namespace libcoll::comm {

using namespace execute;
using namespace node;
using namespace schedule;

ShortExchange* ShortCalls::exchange_memory() const {
  const Hierarchy* const hierarchy = members_.hierarchy();
  return hierarchy != nullptr && hierarchy->memory() != nullptr ? hierarchy->memory()->short_exchange() : nullptr;
}

bool ShortCalls::exchange(const Call& call, ProgressHook hook) {
  ShortExchange& memory = *exchange_memory();
  memory.begin(call);
  if (!memory.all_came_soon() && !wait(memory, call.collective, hook)) {
    members_.hierarchy()->memory()->fail();
    log(LogLevel::error, "a collective fails: a rank of this node gave up, or gave no sign of life for " +
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
    return members_.in_words(collective, number) + "waits for other ranks of its node, " +
           members_.hosts()[static_cast<std::size_t>(members_.rank())];
  });
  return wait.wait(memory.phases(), memory.awaited(), members_.runtime().engine().has_unattended());
}

}  // namespace libcoll::comm

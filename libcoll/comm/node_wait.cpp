#include "libcoll/comm/node_wait.h"

#include <mutex>
#include <utility>

namespace libcoll::comm {

using namespace node;

namespace {

/// Who has messages to look after, which others may be waiting for, does so this often while it waits in memory.
constexpr std::chrono::microseconds longest_sleep_of_the_busy{1000};
constexpr std::chrono::microseconds longest_sleep_of_others{8000};

}  // namespace

NodeWait::NodeWait(Runtime& runtime, ProgressHook hook, std::function<std::string()> in_words)
    : runtime_(runtime),
      hook_(hook),
      in_words_(std::move(in_words)),
      other_things_([this] { return look_after_others(); }) {}

bool NodeWait::look_after_others() {
  runtime_.engine().progress();
  hook_();
  const auto waited = std::chrono::steady_clock::now() - begin_;
  if (waited > shortest_doubt && hook_.waits_in_vain()) return false;
  if (told_) return true;
  const std::lock_guard guard(runtime_.lock());
  told_ = runtime_.engine().warn_of_silence(waited, in_words_);
  return true;
}

bool NodeWait::wait(Phases& phases, Awaited awaited, bool has_messages) {
  const Config& config = runtime_.config();
  const Patience patience{std::chrono::microseconds(config.poll_microseconds),
                          std::chrono::seconds(config.timeout_seconds),
                          has_messages ? longest_sleep_of_the_busy : longest_sleep_of_others, &other_things_};
  return phases.wait(awaited, patience);
}

}  // namespace libcoll::comm

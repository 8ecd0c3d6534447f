#include "libcoll/comm/progress_thread.h"

#include <sched.h>

#include <chrono>
#include <csignal>
#include <mutex>

#include "libcoll/comm/runtime.h"

namespace libcoll::comm {
namespace {

/// Something may be sent, or the thread be ended, that the transport's descriptor does not tell of.
constexpr int longest_sleep_milliseconds = 10;
constexpr auto while_others_wait = std::chrono::milliseconds(1);

}  // namespace

ProgressThread::ProgressThread(Runtime& runtime) : runtime_(runtime) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  thread_ = std::thread([this] { run(); });
  if (masked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard guard(runtime_.lock());
    stop_ = true;
    wake();
  }
  thread_.join();
}

void ProgressThread::run() {
  std::unique_lock guard(runtime_.lock());
  while (!stop_) {
    if (!runtime_.has_unattended()) {
      wake_.wait(guard);
    } else if (runtime_.somebody_waits()) {
      wake_.wait_for(guard, while_others_wait);
    } else if (runtime_.step_unattended()) {
      guard.unlock();
      sched_yield();
      guard.lock();
    } else {
      const int milliseconds = runtime_.milliseconds_to_next_unattended_advance(longest_sleep_milliseconds);
      const bool armed = runtime_.transport().arm();
      guard.unlock();
      if (armed) runtime_.transport().block(milliseconds);
      guard.lock();
    }
  }
}

}  // namespace libcoll::comm

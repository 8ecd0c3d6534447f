#include "libcoll/comm/progress_thread.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>

#include "libcoll/base/log.h"
#include "libcoll/comm/progress_engine.h"
#include "libcoll/node/placement.h"

namespace libcoll::comm {
namespace {

/// Something may be sent, or the thread be ended, that the transport's descriptor does not tell of.
constexpr int longest_sleep_milliseconds = 10;
constexpr auto while_others_wait = std::chrono::milliseconds(1);

/// The scheduler lets a thread that wakes have the processor at once only where its slice is shorter than that of the
/// thread that computes there. Linux before 6.12 has no slices of threads, and no need of this.
void take_short_slices() {
#ifdef SYS_sched_setattr
  struct {  // sched_attr of the kernel, which glibc has not
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t slice_nanoseconds;
    std::uint64_t deadline;
    std::uint64_t period;
  } attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.slice_nanoseconds = 100'000;  // the least that there is
  syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

}  // namespace

ProgressThread::ProgressThread(ProgressEngine& engine) : engine_(engine) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  thread_ = std::thread([this] { run(); });
  if (masked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard guard(engine_.lock());
    stop_ = true;
    wake();
  }
  thread_.join();
}

void ProgressThread::bind(const std::string& processors) {
  const Status bound = node::bind_thread(thread_.native_handle(), processors);
  log(LogLevel::info, bound.ok() ? "the progress thread is bound to processors " + processors : bound.error().message);
}

void ProgressThread::run() {
  take_short_slices();
  std::unique_lock guard(engine_.lock());
  while (!stop_) {
    if (!engine_.has_unattended()) {
      wake_.wait(guard);
      engine_.program_makes_progress();  // what it did until now does not count
    } else if (engine_.somebody_waits() || engine_.program_makes_progress()) {
      wake_.wait_for(guard, while_others_wait);
    } else if (engine_.step_unattended()) {
      if (!engine_.lock().is_wanted()) continue;
      guard.unlock();
      sched_yield();
      guard.lock();
    } else {
      const int milliseconds = engine_.milliseconds_to_next_unattended_advance(longest_sleep_milliseconds);
      const bool armed = engine_.transport()->arm();
      guard.unlock();
      if (armed) {
        engine_.transport()->block(milliseconds);
      } else {
        sched_yield();
      }
      guard.lock();
    }
  }
}

}  // namespace libcoll::comm

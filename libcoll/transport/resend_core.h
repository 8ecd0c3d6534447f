// What the parts of a resilient transport have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "libcoll/transport/buffer_pool.h"
#include "libcoll/transport/resilient_transport.h"
#include "libcoll/transport/transport.h"

namespace libcoll::transport {

inline constexpr std::int64_t ticks_in_patience = 8;
inline constexpr std::int64_t tries_in_patience = 2;

/// Ahead of every message.
struct Stamp {
  std::uint64_t sequence = 0;  ///< of the messages from one process of a recovery group to another: 1, 2, …
  std::uint64_t received = 0;  ///< all messages of the other direction up to this one
};
static_assert(sizeof(Stamp) == stamp_bytes);

/// Runs only while somebody looks: a process that was busy elsewhere has no reason to find that others are late.
/// Nanoseconds.
class AttendedClock {
 public:
  explicit AttendedClock(const ResendOptions& options)
      : steady_(options.now_nanoseconds),
        longest_(options.patience_nanoseconds / ticks_in_patience),
        last_look_(steady_()) {}

  /// Brings it up to date.
  std::int64_t attend() {
    const std::int64_t now = steady_();
    attended_ += std::min(now - last_look_, longest_);
    last_look_ = now;
    return attended_;
  }
  [[nodiscard]] std::int64_t now() const { return attended_; }
  /// By the steady clock.
  [[nodiscard]] std::int64_t last_look() const { return last_look_; }

 private:
  std::int64_t (*steady_)() noexcept;
  std::int64_t longest_;
  std::int64_t last_look_;
  std::int64_t attended_ = 0;
};

struct ResendCore {
  ResendCore(const ResendOptions& wanted, Transport& underneath) : options(wanted), inner(underneath), clock(wanted) {}

  /// Long messages go from and to the caller's memory, and are complete when the receiver has them.
  [[nodiscard]] bool lends(std::size_t bytes) const { return bytes >= options.lent_bytes && inner.takes_pieces(); }

  void tell(const Completion& completion, bool ok) {
    ++completions;
    completion.waiter->completed(completion.index, ok);
  }

  const ResendOptions options;
  Transport& inner;
  AttendedClock clock;
  BufferPool pool;
  ResendCounts counts;
  std::int64_t completions = 0;  ///< in this progress(): of messages, and of the pieces of one that comes around
  bool closing = false;          ///< the transport underneath ends: what it completes now is nobody's
};

}  // namespace libcoll::transport

// What a rank waits for while its messages move.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "libcoll/transport/transport.h"

namespace libcoll::execute {

/// Something under way. All members are to be called under the lock around the transport.
class Driven {
 public:
  /// Goes on after the transport's progress.
  virtual void advance() noexcept = 0;
  [[nodiscard]] virtual bool over() const = 0;
  [[nodiscard]] virtual bool failed() const = 0;
  /// Messages had other lengths than this rank's counts say. It ends all the same, for the others wait for its
  /// messages, and as an error: what comes next is as good as before.
  [[nodiscard]] virtual bool lengths_differ() const { return false; }
  /// How soon advance() is to be called again although no message comes.
  [[nodiscard]] virtual int milliseconds_to_next_advance() const { return std::numeric_limits<int>::max(); }
  /// Nothing that the transport can bring is waited for: it is over, or other processes of the node are waited for.
  [[nodiscard]] virtual bool rests() const { return over(); }
  /// Adds the senders of messages that it waits for, as its tags number them, each once.
  virtual void add_awaited([[maybe_unused]] std::vector<std::int32_t>& senders) const {}
  /// Whom it sends to or receives from; negative entries are none.
  [[nodiscard]] virtual std::span<const transport::PeerId> peers() const = 0;
  [[nodiscard]] virtual std::int64_t largest_message_bytes() const = 0;

 protected:
  ~Driven() = default;
};

}  // namespace libcoll::execute

// How the ranks of a communicator come to the same end: all of them see what each of them says.
#pragma once

#include <cstddef>

namespace libcoll {

/// Between the ranks of a communicator. allgather(), broadcast() and barrier() are collective; false when they failed.
class Agreement {
 public:
  virtual ~Agreement() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Every rank's `bytes` bytes, in rank order, into `all` (size() · bytes).
  virtual bool allgather(const void* mine, std::size_t bytes, void* all) = 0;
  /// Rank 0's bytes to everybody.
  virtual bool broadcast(void* data, std::size_t bytes) = 0;
  /// Until all have come.
  virtual bool barrier();
};

/// Agreement without a reduction: every rank's verdict is seen by every rank. False when one is, or the exchange
/// failed. Collective.
bool all_agree(Agreement& ranks, bool mine);

}  // namespace libcoll

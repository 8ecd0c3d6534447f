// Calls of one kind that are made to see how long they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/comm/call_choices.h"
#include "libcoll/comm/learned_rows.h"

namespace libcoll::comm {

/// Calls of one kind with memory of their own, both ways: libcoll's and MPI's. The root of rooted ones is rank 0. While
/// it is there, the communicator's calls are not counted as the program's.
class Trial {
 public:
  Trial(const Learner& learner, CallKind kind);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Of calls without messages nothing is known but what these show.
  [[nodiscard]] std::int64_t largest_bytes() const;
  /// Of shorter vectors a plan moves fewer shards than of all others: what they take says nothing of those.
  [[nodiscard]] std::int64_t smallest_bytes() const;

  /// Collective. False: the call failed.
  bool own(std::int64_t bytes, Protocol selected);
  bool native(std::int64_t bytes);

 private:
  static std::vector<std::int64_t>& offsets_of(execute::Call& call);
  [[nodiscard]] const std::byte* input() const;
  std::byte* output();

  const Learner& learner_;
  const CallKind kind_;
  const std::int64_t ranks_;
  std::vector<std::uint64_t> input_;
  std::vector<std::uint64_t> output_;
};

}  // namespace libcoll::comm

// What a leader moves between nodes for a small allreduce: the nodes' sums go from leader to leader without a plan.
#pragma once

#include <cstdint>
#include <span>

#include "libcoll/comm/running_call.h"
#include "libcoll/execute/call.h"
#include "libcoll/transport/tag_space.h"

namespace libcoll::comm {

struct CommunicatorParts;

/// One at a time on a communicator, whose leaders are wired up directly. A step of messages in place of a plan's two,
/// and reduced in the order of nodes.
class SliceExchange final : public RunningCall {
 public:
  /// `call` is an allreduce whose buffers must outlive its end, and the communicator's `parts` this.
  SliceExchange(CommunicatorParts& parts, const execute::Call& call);

  void begin() override;
  void advance() noexcept override;
  [[nodiscard]] bool over() const override { return failed_ || reduced_; }
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] bool lengths_differ() const override { return lengths_differ_; }
  void abandon() noexcept override;
  bool drive(ProgressHook hook) override;
  [[nodiscard]] std::string in_words() const override;
  [[nodiscard]] bool calls_mpi() const override { return call_.reducer.calls_mpi; }
  [[nodiscard]] std::span<const transport::PeerId> peers() const override;
  [[nodiscard]] std::int64_t largest_message_bytes() const override { return largest_message_bytes_; }

 private:
  [[nodiscard]] transport::TagSpace tags() const;

  CommunicatorParts& parts_;
  const execute::Call call_;
  std::uint32_t number_ = 0;
  std::int64_t began_ = 0;  ///< steady_nanoseconds(), with a record
  std::int64_t largest_message_bytes_ = 0;
  bool reduced_ = false;
  bool failed_ = false;
  bool lengths_differ_ = false;
};

}  // namespace libcoll::comm

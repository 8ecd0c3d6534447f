// One call of a communicator from its start to its end, whether somebody waits for it or not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "libcoll/execute/driven.h"
#include "libcoll/execute/execution.h"
#include "libcoll/runtime/call.h"
#include "libcoll/runtime/id_pool.h"

namespace libcoll {

class Communicator;

/// Tags of one persistent call. Its starts are numbered by themselves: the ranks may start several such calls in any
/// order, and anywhere among the communicator's others.
class Channel {
 public:
  /// `id` is taken by all ranks of the communicator, and given back at the end of each.
  Channel(std::shared_ptr<IdPool> ids, std::uint32_t id) : ids_(std::move(ids)), id_(id) {}
  /// What a call that failed has left under way would be taken for another's.
  ~Channel() {
    if (!failed_) ids_->give_back(id_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

 private:
  friend class Communicator;
  friend class RunningCall;

  std::shared_ptr<IdPool> ids_;
  const std::uint32_t id_;
  std::uint32_t calls_ = 0;  ///< rounds that were numbered so far
  bool failed_ = false;
};

/// What one round of a call under way needs; kept by the communicator for the next one.
struct Flight {
  std::shared_ptr<const Script> script;
  Tuning tuning;
  Workspace workspace;
  std::optional<Execution> execution;
};

/// A call under way: its rounds one after the other. Several may be under way on a communicator; all ranks begin them
/// in the same order, and each goes on as its own messages come. All members but the constructors are to be called
/// under the runtime's lock.
class RunningCall : public Driven {
 public:
  /// `communicator` must outlive this, and the call's buffers its end. `channel`: of a persistent call, which is to be
  /// over before its next start.
  RunningCall(Communicator& communicator, Call call, std::shared_ptr<Channel> channel = nullptr);
  /// A call of one round whose data lies as in `shape`.
  RunningCall(Communicator& communicator, Call call, Shape shape);
  /// Precondition: not begun, over, or abandoned.
  virtual ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  /// Takes its place among the communicator's calls, and starts when there is room.
  void begin();
  void advance() noexcept override;
  [[nodiscard]] bool over() const override { return failed_ || round_ == rounds_; }
  [[nodiscard]] bool failed() const override { return failed_; }
  /// Gives up. Messages still under way may yet report to what this leaves behind, and arrive in the call's buffers.
  void abandon() noexcept;

  /// Whether advance() may call MPI.
  [[nodiscard]] bool calls_mpi() const { return call_.reducer.calls_mpi; }
  [[nodiscard]] std::span<const PeerId> peers() const override;
  [[nodiscard]] std::int64_t largest_message_bytes() const override { return largest_message_bytes_; }
  [[nodiscard]] int milliseconds_to_next_send() const override;
  /// Number of the round it is at among all rounds of the communicator's calls, or of its channel.
  [[nodiscard]] std::uint32_t number() const { return first_number_ + static_cast<std::uint32_t>(round_); }

 private:
  friend class Communicator;

  void launch();
  [[nodiscard]] TagSpace tags() const;

  Communicator& communicator_;
  Call call_;
  std::optional<Shape> shape_;
  std::shared_ptr<Channel> channel_;  ///< as a rule null
  std::int64_t rounds_;
  std::int64_t round_ = 0;
  std::uint32_t first_number_ = 0;
  std::int64_t largest_message_bytes_ = 0;
  bool failed_ = false;
  Tuning tuning_;
  std::unique_ptr<Flight> flight_;  ///< while a round is under way
};

}  // namespace libcoll

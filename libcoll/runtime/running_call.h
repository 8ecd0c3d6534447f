// One call of a communicator from its start to its end, whether somebody waits for it or not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "libcoll/execute/execution.h"
#include "libcoll/runtime/call.h"

namespace libcoll {

class Communicator;

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
class RunningCall {
 public:
  /// `communicator` must outlive this, and the call's buffers its end.
  RunningCall(Communicator& communicator, Call call);
  /// A call of one round whose data lies as in `shape`.
  RunningCall(Communicator& communicator, Call call, Shape shape);
  /// Precondition: not begun, over, or abandoned.
  virtual ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  /// Takes its place among the communicator's calls, and starts when there is room.
  void begin();
  /// Goes on after the transport's progress.
  void advance() noexcept;
  [[nodiscard]] bool over() const { return failed_ || round_ == rounds_; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// Gives up. Messages still under way may yet report to what this leaves behind, and arrive in the call's buffers.
  void abandon() noexcept;

  /// Whether advance() may call MPI.
  [[nodiscard]] bool calls_mpi() const { return call_.reducer.calls_mpi; }
  [[nodiscard]] std::span<const PeerId> peers() const;
  [[nodiscard]] std::int64_t largest_message_bytes() const { return largest_message_bytes_; }
  /// How soon advance() is to be called again although nothing comes.
  [[nodiscard]] int milliseconds_to_next_send() const;
  /// Number of the round it is at among all rounds of the communicator's calls.
  [[nodiscard]] std::uint32_t number() const { return first_number_ + static_cast<std::uint32_t>(round_); }

 private:
  friend class Communicator;

  void launch();

  Communicator& communicator_;
  Call call_;
  std::optional<Shape> shape_;
  std::int64_t rounds_;
  std::int64_t round_ = 0;
  std::uint32_t first_number_ = 0;
  std::int64_t largest_message_bytes_ = 0;
  bool failed_ = false;
  std::unique_ptr<Flight> flight_;  ///< while a round is under way
};

}  // namespace libcoll

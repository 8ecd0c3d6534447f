// Runs a task graph as data-flow: a send starts when its data is there and its peer has room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "libcoll/execute/task_graph.h"
#include "libcoll/transport/tag_space.h"
#include "libcoll/transport/transport.h"

namespace libcoll::execute {

/// destination = left op right for `elements` elements; destination may be left. The shim supplies it: a kernel of ours
/// or MPI's own reduction. `right` may lie in the transport's memory, aligned to nothing.
struct Reducer {
  void (*apply)(const void* context, void* destination, const void* left, const void* right,
                std::int64_t elements) noexcept = nullptr;
  const void* context = nullptr;
  bool calls_mpi = false;  ///< which not every thread may do
};

/// The user's memory of one call. In place: input is where the call's own data lies in the output.
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// What passes through this rank, or waits here to be added up. Nothing reads it before it is written, so growing takes
/// neither zeros nor what was in it, which would cost as much as the messages themselves.
class Scratch {
 public:
  void make_room(std::size_t bytes) {
    if (bytes <= size_) return;
    size_ = 0;
    bytes_.reset();  // not both at a time
    bytes_.reset(new std::byte[bytes]);
    size_ = bytes;
  }
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

/// What becomes of a message whose data is reduced while it arrives. `staged`: its reductions still waited for others
/// when its first piece came, so it is kept in scratch as a message that comes whole is.
enum class Arrival : std::uint8_t { whole, awaited, reduced, staged };

/// An element of which one piece of a message has the first bytes and another one the last.
struct SplitElement {
  std::uint32_t receive = 0;    ///< task
  std::uint32_t reduction = 0;  ///< task
  std::int64_t element = 0;     ///< of the reduction
};

/// Memory that outlives a call so that the next one need not allocate.
struct Workspace {
  Scratch scratch;
  std::vector<std::uint32_t> waits;
  std::vector<transport::Completion> completions;
  std::vector<Arrival> arrivals;  ///< by receive
  std::vector<SplitElement> split_elements;
};

/// Injection rate control, the limitation of paper 003 §5.5: each lane sends its share at the rate the plan gives it,
/// so that no link gets more than it can take.
struct Pace {
  std::int64_t duration_nanoseconds = 0;  ///< predicted time of the call; 0: send as fast as the transport takes it
  std::int64_t window_bytes = 0;          ///< how far a lane may run ahead of its rate
  std::int64_t (*now_nanoseconds)() noexcept = nullptr;
};

/// Told of an execution's messages, under the transport's lock. `task` is the task graph's: a send or a receive.
class MessageObserver {
 public:
  virtual ~MessageObserver() = default;
  virtual void posted(std::uint32_t task) noexcept = 0;
  virtual void completed(std::uint32_t task) noexcept = 0;
};

/// One call under way. start(), then advance() after each Transport::progress() until finished() or failed().
/// All members are to be called under the transport's lock.
///
/// What comes through memory of the host to be reduced is reduced piece by piece out of the transport's memory, while
/// the sender copies the next piece there.
class Execution final : public transport::Waiter, public transport::Pieces {
 public:
  /// `peers[k·N + v]` is the transport's peer for node v by route class k; entries this rank never uses are not read.
  Execution(const TaskGraph& task_graph, topology::NodeId node, const Buffers& buffers, const Reducer& reducer,
            transport::Transport& transport, std::span<const transport::PeerId> peers, transport::TagSpace tags,
            const Tuning& tuning, Workspace& workspace, Pace pace = {});

  /// Before start().
  void observe(std::unique_ptr<MessageObserver> observer) { observer_ = std::move(observer); }
  void start();
  void advance();
  [[nodiscard]] bool finished() const { return remaining_ == 0; }
  [[nodiscard]] bool failed() const { return failed_; }
  /// Messages had other lengths than this rank's counts say, and what they brought is lost. The call goes on to its
  /// end.
  [[nodiscard]] bool lengths_differ() const { return lengths_differ_; }
  [[nodiscard]] std::int64_t largest_message_bytes() const { return task_graph_.largest_message_bytes; }
  /// When pacing holds a send back: how soon advance() should be called again.
  [[nodiscard]] int milliseconds_to_next_send() const;

  /// Nodes whose messages are not there yet, each once.
  void add_awaited(std::vector<topology::NodeId>& senders) const;

  void completed(std::uint32_t index, bool ok) noexcept override;
  /// Not called: sends have memory of their own.
  void give(std::uint32_t index, std::size_t offset, std::span<std::byte> piece) noexcept override;
  void take(std::uint32_t index, std::size_t offset, std::span<const std::byte> piece) noexcept override;

 private:
  /// Sends to one peer by one route class that could go out, earliest first, and how many are out.
  struct Lane {
    std::vector<std::uint32_t> ready;  ///< min-heap of send tasks
    std::int64_t in_flight = 0;
    std::int64_t awaited = 0;  ///< messages that the peer has yet to send
    std::int64_t bytes = 0;    ///< of all its sends
    std::int64_t sent_bytes = 0;
  };

  [[nodiscard]] std::byte* at(Span span) const;
  void run(const Copy& copy) const;
  void run(IndexRange copies) const;
  void make_ready(std::uint32_t task);
  void finish(std::uint32_t task);
  void post_receive(std::uint32_t task);
  void post_send(std::uint32_t task, Lane& lane);
  void reduce(std::uint32_t task);
  [[nodiscard]] bool is_reduced_in_pieces(const Message& message) const;
  [[nodiscard]] std::span<const std::uint32_t> successors(std::uint32_t task) const;
  /// Bytes [offset, offset + piece.size()) of the message, as far as they are the reduction's.
  void reduce_piece(std::uint32_t receive, std::uint32_t task, std::int64_t offset, std::span<const std::byte> piece);
  /// After the last piece.
  void finish_reduced(std::uint32_t receive);
  void pump(Lane& lane);
  /// Nanoseconds after the start when the lane's next send may leave.
  [[nodiscard]] std::int64_t release_time(const Lane& lane) const;

  const TaskGraph& task_graph_;
  topology::NodeId node_;
  Buffers buffers_;
  Reducer reducer_;
  transport::Transport& transport_;
  std::span<const transport::PeerId> peers_;
  transport::TagSpace tags_;
  const Tuning& tuning_;
  Workspace& workspace_;
  Pace pace_;
  std::unique_ptr<MessageObserver> observer_;  ///< as a rule null
  std::int64_t started_at_ = 0;                ///< these two in nanoseconds of the pace's clock, while paced
  std::int64_t now_ = 0;
  std::vector<Lane> lanes_;  ///< as `peers`
  std::vector<std::uint32_t> ready_reductions_;
  std::uint32_t remaining_ = 0;
  bool stirred_ = true;  ///< something has happened since advance() last looked
  bool failed_ = false;
  bool lengths_differ_ = false;
};

}  // namespace libcoll::execute

// What happened when: calls, and every message of theirs, as Chrome trace events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/execute/execution.h"
#include "libcoll/observe/statistics.h"
#include "planner/base/result.h"

namespace libcoll::observe {

enum class TraceKind : std::uint8_t { served, fallen_through, send, receive };

/// Times in nanoseconds of the steady clock. What a kind does not mention has no meaning there.
struct TraceEvent {
  TraceKind kind = TraceKind::served;
  CallKind call = CallKind::allreduce;  ///< of calls
  Reason reason{};                      ///< of calls that fell through
  std::int32_t communicator = 0;        ///< CommunicatorRecord::number()
  std::int64_t begin = 0;               ///< receives: when the one before on this link was there, or it was posted
  std::int64_t end = 0;
  std::int64_t posted = 0;  ///< receives
  std::int64_t bytes = 0;   ///< of calls: unknown_bytes when not known
  std::uint64_t tag = 0;    ///< this and the rest: of messages
  topology::NodeId from = 0;
  topology::NodeId to = 0;
  std::int32_t step = 0;
  std::int32_t route_class = 0;
};

/// Events of one process, up to a number. Members may be called by several threads.
class Trace {
 public:
  explicit Trace(std::int64_t most_events);

  /// Drops the event when there is no room.
  void add(const TraceEvent& event) noexcept;
  [[nodiscard]] std::int64_t dropped() const;

  /// A JSON array, one event per line: the process is the rank, threads are communicators (`names` by number) and, per
  /// link and direction, as many as messages overlap on it. Microseconds since the begin of a week, on the wall clock
  /// when the trace began: files of several hosts fit together as well as their clocks do.
  [[nodiscard]] std::string to_json(int rank, const std::vector<std::string>& names) const;

 private:
  const std::size_t most_events_;
  const std::int64_t week_begin_;  ///< in seconds of the wall clock …
  const std::int64_t offset_;  ///< … and what the steady clock shows less than the time since then, in nanoseconds
  mutable std::mutex lock_;
  std::vector<TraceEvent> events_;
  std::int64_t dropped_ = 0;
};

/// The file of one rank: `setting` with every %r replaced by the rank, or followed by a dot and the rank.
std::string trace_file(std::string_view setting, int rank);

/// Writes `text` into the file, replacing what was there.
Status write_trace(const std::string& file, const std::string& text);

/// Traces the messages of one execution.
class MessageTrace final : public execute::MessageObserver {
 public:
  /// `trace` and `task_graph` must outlive it.
  MessageTrace(Trace& trace, const execute::TaskGraph& task_graph, topology::NodeId node, transport::TagSpace tags,
               std::int32_t communicator);
  void posted(std::uint32_t task) noexcept override;
  void completed(std::uint32_t task) noexcept override;

 private:
  Trace& trace_;
  const execute::TaskGraph& task_graph_;
  const topology::NodeId node_;
  const transport::TagSpace tags_;
  const std::int32_t communicator_;
  std::vector<std::int64_t> posted_;             ///< by task: sends and receives
  std::map<std::size_t, std::int64_t> arrived_;  ///< by lane: when the last message was there
};

}  // namespace libcoll::observe

#include "libcoll/observe/trace.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <tuple>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/json_text.h"
#include "libcoll/observe/histogram.h"

namespace libcoll::observe {

using namespace execute;
using namespace topology;
using namespace transport;

namespace {

constexpr std::int64_t seconds_per_week = 7 * 24 * 3600;
constexpr std::int64_t nanoseconds_per_microsecond = 1000;

std::int64_t wall_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// "12.345"; what is before the week begins is negative.
std::string microseconds(std::int64_t nanoseconds) {
  const long long magnitude = std::abs(static_cast<long long>(nanoseconds));
  char text[32];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", nanoseconds < 0 ? "-" : "", magnitude / nanoseconds_per_microsecond,
                magnitude % nanoseconds_per_microsecond);
  return text;
}

bool is_message(const TraceEvent& event) { return event.kind == TraceKind::send || event.kind == TraceKind::receive; }

/// Where an event is shown: calls by communicator, messages by link.
using Track = std::tuple<bool, TraceKind, std::int32_t, NodeId, NodeId>;

Track track_of(const TraceEvent& event) {
  if (is_message(event)) return {true, event.kind, 0, event.from, event.to};
  return {false, TraceKind::served, event.communicator, 0, 0};
}

/// Gives every track a thread, and further ones for events that overlap on it: a thread's events must not.
class Threads {
 public:
  explicit Threads(const std::vector<std::string>& names) : names_(names) {}

  /// Events are to be asked for in the order in which they begin.
  int of(const TraceEvent& event) {
    std::vector<Thread>& threads = tracks_[track_of(event)];
    const auto idle = std::find_if(threads.begin(), threads.end(),
                                   [&](const Thread& thread) { return thread.busy_until <= event.begin; });
    if (idle != threads.end()) {
      idle->busy_until = event.end;
      return idle->number;
    }
    const int number = ++last_;
    threads.push_back({number, event.end});
    labels_.emplace_back(number, label(event, threads.size()));
    return number;
  }

  [[nodiscard]] const std::vector<std::pair<int, std::string>>& labels() const { return labels_; }

 private:
  struct Thread {
    int number;
    std::int64_t busy_until;
  };

  [[nodiscard]] std::string label(const TraceEvent& event, std::size_t count) const {
    std::string text;
    if (is_message(event)) {
      text = event.kind == TraceKind::send ? "send " : "receive ";
      text += std::to_string(event.from) + "→" + std::to_string(event.to);
    } else {
      const auto number = static_cast<std::size_t>(event.communicator);
      text = number < names_.size() ? names_[number] : "communicator";
    }
    return count == 1 ? text : text + " #" + std::to_string(count);
  }

  const std::vector<std::string>& names_;
  std::map<Track, std::vector<Thread>> tracks_;
  std::vector<std::pair<int, std::string>> labels_;
  int last_ = 0;
};

std::string arguments_of(const TraceEvent& event) {
  JsonObject arguments;
  if (event.bytes != unknown_bytes) arguments.number("bytes", event.bytes);
  if (!is_message(event)) {
    arguments.raw("served", event.kind == TraceKind::served ? "true" : "false");
    if (event.kind == TraceKind::fallen_through) arguments.text("reason", to_string(event.reason));
    return arguments.take();
  }
  char tag[32];
  std::snprintf(tag, sizeof tag, "0x%016llx", static_cast<unsigned long long>(event.tag));
  arguments.number("step", event.step).number("route_class", event.route_class).text("tag", tag);
  arguments.number("communicator", event.communicator);
  if (event.kind == TraceKind::receive) {
    arguments.raw("waited_microseconds", microseconds(event.end - event.posted));
  }
  return arguments.take();
}

std::string name_of(const TraceEvent& event) {
  if (!is_message(event)) return std::string(to_string(event.call));
  return "step " + std::to_string(event.step);
}

std::string_view category_of(const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::served:
    case TraceKind::fallen_through:
      return "call";
    case TraceKind::send:
      return "send";
    case TraceKind::receive:
      return "receive";
  }
  return "";
}

std::string metadata(std::string_view name, int rank, int thread, JsonObject arguments) {
  return JsonObject()
      .text("name", name)
      .text("ph", "M")
      .number("pid", rank)
      .number("tid", thread)
      .raw("args", arguments.take())
      .take();
}

}  // namespace

Trace::Trace(std::int64_t most_events)
    : most_events_(static_cast<std::size_t>(most_events)),
      week_begin_(wall_nanoseconds() / nanoseconds_per_second / seconds_per_week * seconds_per_week),
      offset_(wall_nanoseconds() - week_begin_ * nanoseconds_per_second - steady_nanoseconds()) {}

void Trace::add(const TraceEvent& event) noexcept {
  const std::lock_guard guard(lock_);
  if (events_.size() < most_events_) {
    try {
      events_.push_back(event);
      return;
    } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory is no room
    }
  }
  ++dropped_;
}

std::int64_t Trace::dropped() const {
  const std::lock_guard guard(lock_);
  return dropped_;
}

std::string Trace::to_json(int rank, const std::vector<std::string>& names) const {
  const std::lock_guard guard(lock_);
  std::vector<TraceEvent> events = events_;
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.begin < b.begin; });
  Threads threads(names);
  std::string text;
  for (const TraceEvent& event : events) {
    text += JsonObject()
                .text("name", name_of(event))
                .text("cat", category_of(event))
                .text("ph", "X")
                .number("pid", rank)
                .number("tid", threads.of(event))
                .raw("ts", microseconds(event.begin + offset_))
                .raw("dur", microseconds(event.end - event.begin))
                .raw("args", arguments_of(event))
                .take();
    text += ",\n";
  }
  for (const auto& [number, label] : threads.labels()) {
    text += metadata("thread_name", rank, number, JsonObject().text("name", label)) + ",\n";
  }
  text += metadata("process_name", rank, 0, JsonObject().text("name", "rank " + std::to_string(rank))) + ",\n";
  const std::string summary =
      metadata("libcoll", rank, 0,
               JsonObject().number("events_dropped", dropped_).number("clock_base_unix_seconds", week_begin_));
  return "[\n" + text + summary + "\n]\n";
}

std::string trace_file(std::string_view setting, int rank) {
  constexpr std::string_view place = "%r";
  std::string file(setting);
  if (file.find(place) == std::string::npos) return file + "." + std::to_string(rank);
  const std::string number = std::to_string(rank);
  for (std::size_t at = 0; (at = file.find(place, at)) != std::string::npos; at += number.size()) {
    file.replace(at, place.size(), number);
  }
  return file;
}

Status write_trace(const std::string& file, const std::string& text) {
  std::ofstream stream(file, std::ios::trunc | std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) return Error{"cannot write the trace to " + file};
  return {};
}

MessageTrace::MessageTrace(Trace& trace, const TaskGraph& task_graph, NodeId node, TagSpace tags,
                           std::int32_t communicator)
    : trace_(trace),
      task_graph_(task_graph),
      node_(node),
      tags_(tags),
      communicator_(communicator),
      posted_(task_graph.first_reduction(), 0) {}

void MessageTrace::posted(std::uint32_t task) noexcept { posted_[task] = steady_nanoseconds(); }

void MessageTrace::completed(std::uint32_t task) noexcept try {
  const bool sends = task < task_graph_.first_receive();
  const Message& message = sends ? task_graph_.sends[task] : task_graph_.receives[task - task_graph_.first_receive()];
  TraceEvent event;
  event.kind = sends ? TraceKind::send : TraceKind::receive;
  event.communicator = communicator_;
  event.begin = event.posted = posted_[task];
  event.end = steady_nanoseconds();
  event.bytes = message.data.bytes;
  event.from = sends ? node_ : message.peer;
  event.to = sends ? message.peer : node_;
  event.tag = tags_.tag(event.from, message.index);
  event.step = message.step;
  event.route_class = message.route_class;
  if (!sends) {
    std::int64_t& last = arrived_[task_graph_.lane(message)];
    event.begin = std::max(event.begin, last);
    last = event.end;
  }
  trace_.add(event);
} catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the event is lost, the call goes on
}

}  // namespace libcoll::observe

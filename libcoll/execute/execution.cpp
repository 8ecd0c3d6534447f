#include "libcoll/execute/execution.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

namespace libcoll {

Execution::Execution(const TaskGraph& task_graph, NodeId node, const Buffers& buffers, const Reducer& reducer,
                     Transport& transport, std::span<const PeerId> peers, TagSpace tags, const Tuning& tuning,
                     Workspace& workspace, Pace pace)
    : task_graph_(task_graph),
      node_(node),
      buffers_(buffers),
      reducer_(reducer),
      transport_(transport),
      peers_(peers),
      tags_(tags),
      tuning_(tuning),
      workspace_(workspace),
      pace_(pace),
      lanes_(peers.size()),
      remaining_(task_graph.task_count()) {
  workspace_.waits = task_graph.waits;
  workspace_.completions.resize(task_graph.task_count());
  workspace_.scratch.make_room(static_cast<std::size_t>(task_graph.scratch_bytes));
}

void Execution::start() {
  if (pace_.duration_nanoseconds > 0) {
    for (const Message& message : task_graph_.sends) lanes_[task_graph_.lane(message)].bytes += message.data.bytes;
    started_at_ = pace_.now_nanoseconds();
  }
  const std::uint32_t first_receive = task_graph_.first_receive();
  const std::uint32_t first_reduction = task_graph_.first_reduction();
  for (std::uint32_t task = 0; task < task_graph_.task_count(); ++task) workspace_.completions[task] = {this, task, 0};
  // Receives first: data that is here already then lands where it belongs.
  for (std::uint32_t task = first_receive; task < first_reduction; ++task) post_receive(task);
  for (std::uint32_t task = 0; task < first_receive; ++task) {
    if (task_graph_.waits[task] == 0) make_ready(task);
  }
  advance();
  for (const Copy& copy : task_graph_.initial_copies) run(copy);
}

void Execution::advance() {
  if (!stirred_ && pace_.duration_nanoseconds <= 0) return;
  // Before the rest: what is posted may be done at once, and make more ready.
  stirred_ = false;
  while (!ready_reductions_.empty()) {
    const std::uint32_t task = ready_reductions_.back();
    ready_reductions_.pop_back();
    reduce(task);
  }
  if (pace_.duration_nanoseconds > 0) now_ = pace_.now_nanoseconds();
  for (Lane& lane : lanes_) pump(lane);
}

void Execution::completed(std::uint32_t index, bool ok) noexcept {
  stirred_ = true;
  if (!ok) {
    failed_ = true;
    return;
  }
  if (observer_ != nullptr) observer_->completed(index);
  if (index < task_graph_.first_receive()) {
    --lanes_[task_graph_.lane(task_graph_.sends[index])].in_flight;
  } else {
    const Message& message = task_graph_.receives[index - task_graph_.first_receive()];
    --lanes_[task_graph_.lane(message)].awaited;
    run(message.copies);
  }
  finish(index);
}

void Execution::add_awaited(std::vector<NodeId>& senders) const {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const auto sender = static_cast<NodeId>(lane % static_cast<std::size_t>(task_graph_.nodes));
    const bool is_known = std::find(senders.begin(), senders.end(), sender) != senders.end();
    if (lanes_[lane].awaited > 0 && !is_known) senders.push_back(sender);
  }
}

std::byte* Execution::at(Span span) const {
  switch (span.space) {
    case Space::input:
      // Only ever read: sources of sends, copies and reductions.
      return const_cast<std::byte*>(buffers_.input) + span.offset;
    case Space::output:
      return buffers_.output + span.offset;
    case Space::scratch:
      return workspace_.scratch.data() + span.offset;
  }
  return nullptr;
}

void Execution::run(const Copy& copy) const {
  std::byte* to = at(copy.to);
  const std::byte* from = at(copy.from);
  if (to != from && copy.from.bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(copy.from.bytes));
}

void Execution::run(IndexRange copies) const {
  for (std::uint32_t i = copies.first; i < copies.last; ++i) run(task_graph_.copies[i]);
}

void Execution::make_ready(std::uint32_t task) {
  if (task >= task_graph_.first_reduction()) {
    ready_reductions_.push_back(task);
    return;
  }
  std::vector<std::uint32_t>& ready = lanes_[task_graph_.lane(task_graph_.sends[task])].ready;
  ready.push_back(task);
  std::push_heap(ready.begin(), ready.end(), std::greater<>());
}

void Execution::finish(std::uint32_t task) {
  --remaining_;
  for (std::uint32_t i = task_graph_.successors_begin[task]; i < task_graph_.successors_begin[task + 1]; ++i) {
    const std::uint32_t successor = task_graph_.successors[i];
    if (--workspace_.waits[successor] == 0) make_ready(successor);
  }
}

void Execution::post_receive(std::uint32_t task) {
  const Message& message = task_graph_.receives[task - task_graph_.first_receive()];
  ++lanes_[task_graph_.lane(message)].awaited;
  if (observer_ != nullptr) observer_->posted(task);
  const Posted posted =
      transport_.receive(message.route_class, tags_.tag(message.peer, message.index), at(message.data),
                         static_cast<std::size_t>(message.data.bytes), &workspace_.completions[task]);
  if (posted != Posted::pending) completed(task, posted == Posted::done);
}

void Execution::post_send(std::uint32_t task, Lane& lane) {
  const Message& message = task_graph_.sends[task];
  run(message.copies);
  ++lane.in_flight;
  lane.sent_bytes += message.data.bytes;
  if (observer_ != nullptr) observer_->posted(task);
  const Posted posted =
      transport_.send(peers_[task_graph_.lane(message)], tags_.tag(node_, message.index), at(message.data),
                      static_cast<std::size_t>(message.data.bytes), &workspace_.completions[task]);
  if (posted != Posted::pending) completed(task, posted == Posted::done);
}

void Execution::reduce(std::uint32_t task) {
  const Reduction& reduction = task_graph_.reductions[task - task_graph_.first_reduction()];
  reducer_.apply(reducer_.context, at(reduction.destination), at(reduction.left), at(reduction.right),
                 reduction.elements);
  finish(task);
}

void Execution::pump(Lane& lane) {
  while (!lane.ready.empty() && lane.in_flight < tuning_.in_flight && !failed_) {
    if (pace_.duration_nanoseconds > 0 && release_time(lane) > now_ - started_at_) return;
    std::pop_heap(lane.ready.begin(), lane.ready.end(), std::greater<>());
    const std::uint32_t task = lane.ready.back();
    lane.ready.pop_back();
    post_send(task, lane);
  }
}

std::int64_t Execution::release_time(const Lane& lane) const {
  const std::int64_t ahead = lane.sent_bytes - pace_.window_bytes;
  if (ahead <= 0 || lane.bytes == 0) return 0;
  // The product may pass 63 bits.
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(Wide{pace_.duration_nanoseconds} * ahead / lane.bytes);
}

int Execution::milliseconds_to_next_send() const {
  constexpr std::int64_t nanoseconds_per_millisecond = 1'000'000;
  std::int64_t wait = std::numeric_limits<int>::max() * nanoseconds_per_millisecond;
  if (pace_.duration_nanoseconds > 0) {
    for (const Lane& lane : lanes_) {
      if (!lane.ready.empty() && lane.in_flight < tuning_.in_flight) {
        wait = std::min(wait, release_time(lane) - (now_ - started_at_));
      }
    }
  }
  return static_cast<int>(std::max<std::int64_t>(0, wait + nanoseconds_per_millisecond - 1) /
                          nanoseconds_per_millisecond);
}

}  // namespace libcoll

#include "libcoll/execute/execution.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

namespace libcoll::execute {

using namespace topology;
using namespace transport;

namespace {

/// Up to this length, what follows a sum by memory of the host is copied as its summands are: a rank that is in the
/// system's copy would keep the other from its sum.
constexpr std::size_t most_copied_after_sum = 128 * std::size_t{1024};

/// All lines of the piece at a time: they come from another processor's cache, and the processor's own guesses keep too
/// few of them under way.
void fetch(std::span<const std::byte> piece) {
  constexpr std::size_t cache_line_bytes = 64;
  for (std::size_t i = 0; i < piece.size(); i += cache_line_bytes) __builtin_prefetch(piece.data() + i);
}

}  // namespace

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
  workspace_.arrivals.assign(task_graph.receives.size(), Arrival::whole);
  workspace_.split_elements.clear();
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
  const bool other_length = !ok && workspace_.completions[index].other_length;
  if (!ok && !other_length) {
    failed_ = true;
    return;
  }
  // The others wait for what this rank sends, whatever it is worth.
  lengths_differ_ = lengths_differ_ || other_length;
  if (observer_ != nullptr) observer_->completed(index);
  if (index < task_graph_.first_receive()) {
    --lanes_[task_graph_.lane(task_graph_.sends[index])].in_flight;
  } else {
    const Message& message = task_graph_.receives[index - task_graph_.first_receive()];
    --lanes_[task_graph_.lane(message)].awaited;
    if (workspace_.arrivals[index - task_graph_.first_receive()] == Arrival::reduced) {
      finish_reduced(index);
      // At once: what the transport finds next may keep the processor for long, a copy from the peer's memory.
      for (Lane& lane : lanes_) pump(lane);
      return;
    }
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
  const auto bytes = static_cast<std::size_t>(message.data.bytes);
  if (is_reduced_in_pieces(message)) {
    workspace_.arrivals[task - task_graph_.first_receive()] = Arrival::awaited;
    const Posted posted = transport_.receive_pieces(message.route_class, tags_.tag(message.peer, message.index), *this,
                                                    bytes, &workspace_.completions[task]);
    if (posted != Posted::pending) completed(task, posted == Posted::done);
    return;
  }
  const Posted posted = transport_.receive(message.route_class, tags_.tag(message.peer, message.index),
                                           at(message.data), bytes, &workspace_.completions[task]);
  if (posted != Posted::pending) completed(task, posted == Posted::done);
}

void Execution::post_send(std::uint32_t task, Lane& lane) {
  const Message& message = task_graph_.sends[task];
  run(message.copies);
  ++lane.in_flight;
  lane.sent_bytes += message.data.bytes;
  if (observer_ != nullptr) observer_->posted(task);
  const PeerId peer = peers_[task_graph_.lane(message)];
  const std::uint64_t tag = tags_.tag(node_, message.index);
  const auto bytes = static_cast<std::size_t>(message.data.bytes);
  Completion* const completion = &workspace_.completions[task];
  const bool is_copied = message.is_summand || (!task_graph_.reductions.empty() && bytes <= most_copied_after_sum);
  const Posted posted = is_copied ? transport_.send_by_copy(peer, tag, at(message.data), bytes, completion)
                                  : transport_.send(peer, tag, at(message.data), bytes, completion);
  if (posted != Posted::pending) completed(task, posted == Posted::done);
}

void Execution::reduce(std::uint32_t task) {
  const Reduction& reduction = task_graph_.reductions[task - task_graph_.first_reduction()];
  reducer_.apply(reducer_.context, at(reduction.destination), at(reduction.left), at(reduction.right),
                 reduction.elements);
  finish(task);
}

bool Execution::is_reduced_in_pieces(const Message& message) const {
  if (!message.is_summand || message.data.bytes == 0 || reducer_.calls_mpi || !transport_.takes_pieces()) return false;
  const PeerId peer = peers_[task_graph_.lane(message)];
  return peer >= 0 && transport_.is_by_memory(peer);
}

std::span<const std::uint32_t> Execution::successors(std::uint32_t task) const {
  return std::span(task_graph_.successors)
      .subspan(task_graph_.successors_begin[task],
               task_graph_.successors_begin[task + 1] - task_graph_.successors_begin[task]);
}

void Execution::give(std::uint32_t, std::size_t, std::span<std::byte>) noexcept {}

void Execution::take(std::uint32_t index, std::size_t offset, std::span<const std::byte> piece) noexcept {
  stirred_ = true;
  fetch(piece);
  const std::uint32_t receive = index - task_graph_.first_receive();
  Arrival& arrival = workspace_.arrivals[receive];
  if (arrival == Arrival::awaited) {
    const std::span<const std::uint32_t> reductions = successors(index);
    const bool may_run = std::all_of(reductions.begin(), reductions.end(),
                                     [this](std::uint32_t task) { return workspace_.waits[task] == 1; });
    arrival = may_run ? Arrival::reduced : Arrival::staged;
  }
  if (arrival == Arrival::staged) {
    std::memcpy(at(task_graph_.receives[receive].data) + offset, piece.data(), piece.size());
    return;
  }
  for (const std::uint32_t task : successors(index)) {
    reduce_piece(index, task, static_cast<std::int64_t>(offset), piece);
  }
}

void Execution::reduce_piece(std::uint32_t receive, std::uint32_t task, std::int64_t offset,
                             std::span<const std::byte> piece) {
  const Reduction& reduction = task_graph_.reductions[task - task_graph_.first_reduction()];
  const Span message = task_graph_.receives[receive - task_graph_.first_receive()].data;
  // All in bytes of the reduction from here on.
  const std::int64_t shift = reduction.right.offset - message.offset - offset;
  const std::int64_t begin = std::max<std::int64_t>(0, -shift);
  const std::int64_t end = std::min(reduction.right.bytes, std::ssize(piece) - shift);
  if (begin >= end) return;
  const auto received = [&](std::int64_t at_byte) { return piece.data() + (at_byte + shift); };
  const std::int64_t element_bytes = reduction.right.bytes / reduction.elements;
  const std::int64_t first = (begin + element_bytes - 1) / element_bytes;
  const std::int64_t last = end / element_bytes;
  const std::int64_t whole_begin = std::min(end, first * element_bytes);
  const std::int64_t whole_end = std::max(whole_begin, last * element_bytes);
  std::byte* const staged = at(reduction.right);
  std::memcpy(staged + begin, received(begin), static_cast<std::size_t>(whole_begin - begin));
  std::memcpy(staged + whole_end, received(whole_end), static_cast<std::size_t>(end - whole_end));
  if (first < last) {
    reducer_.apply(reducer_.context, at(reduction.destination) + whole_begin, at(reduction.left) + whole_begin,
                   received(whole_begin), last - first);
  }
  if (first <= last && last * element_bytes < end) workspace_.split_elements.push_back({receive, task, last});
}

void Execution::finish_reduced(std::uint32_t receive) {
  std::erase_if(workspace_.split_elements, [&](const SplitElement& split) {
    if (split.receive != receive) return false;
    const Reduction& reduction = task_graph_.reductions[split.reduction - task_graph_.first_reduction()];
    const std::int64_t offset = split.element * (reduction.right.bytes / reduction.elements);
    reducer_.apply(reducer_.context, at(reduction.destination) + offset, at(reduction.left) + offset,
                   at(reduction.right) + offset, 1);
    return true;
  });
  --remaining_;
  for (const std::uint32_t reduction : successors(receive)) {
    workspace_.waits[reduction] = 0;
    finish(reduction);
  }
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

}  // namespace libcoll::execute

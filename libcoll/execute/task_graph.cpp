#include "libcoll/execute/task_graph.h"

#include <algorithm>
#include <map>

namespace libcoll::execute {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t scratch_alignment_bytes = 64;
constexpr std::int64_t bundle_capacity_factor = 4;  ///< a bundle grows to this many times coalesce_max
/// What goes between two nodes in a step takes one route where it is no more than this part of coalesce_max.
constexpr std::int64_t lone_route_part = 2;

/// Elements [begin, end): of the vector for allreduce, of the shard for the other collectives.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

bool overlap(Interval a, Interval b) { return a.begin < b.end && b.begin < a.end; }

/// The piece of an operation that travels in one message.
struct Part {
  Interval interval;
  IndexRange producers;            ///< tasks after which a received part is in place
  std::uint32_t receive = 0;       ///< of a part to reduce: the message that brings it …
  std::int64_t staged_offset = 0;  ///< … and where in scratch it arrives
};

/// Parts of one operation, ascending.
struct OperationParts {
  std::vector<Part> parts;
};

/// A part on its way into a message.
struct PendingPart {
  std::size_t operation = 0;
  std::size_t part = 0;
  std::int64_t bytes = 0;
};

/// A message while it grows.
struct Bundle {
  std::vector<PendingPart> parts;
  std::int64_t bytes = 0;
  std::int32_t step = 0;
  std::int32_t route = direct;
  std::int32_t route_class = 0;
};

class Builder {
 public:
  Builder(const Program& program, const std::vector<std::int32_t>& rank_of_node, const Shape& shape,
          const Tuning& tuning)
      : program_(program), rank_of_node_(rank_of_node), shape_(shape), tuning_(tuning) {}

  TaskGraph build() {
    task_graph_.nodes = program_.nodes;
    cut_into_parts();
    place_passing_shards();
    form_messages();
    add_initial_copies();
    link();
    return std::move(task_graph_);
  }

 private:
  /// Tasks are numbered within their kind until the number of sends and receives is known.
  enum class TaskKind : std::uint8_t { send, receive, reduction };
  struct TaskRef {
    TaskKind kind;
    std::uint32_t index;
  };

  [[nodiscard]] bool is_send(const Operation& operation) const { return operation.kind == OperationKind::send; }

  /// Of a shard; not for allreduce.
  [[nodiscard]] std::int64_t elements_of(ShardId shard) const {
    if (shape_.counts.empty()) return shape_.elements;
    if (program_.collective != Collective::alltoall) return shape_.counts[static_cast<std::size_t>(rank_of(shard))];
    const std::int64_t block = rank_of(shard / program_.nodes) * program_.nodes + rank_of(shard % program_.nodes);
    return shape_.counts[static_cast<std::size_t>(block)];
  }

  [[nodiscard]] std::int64_t input_offset(NodeId node) const {
    const std::int64_t rank = rank_of(node);
    return shape_.counts.empty() ? rank * shape_.input_stride_bytes
                                 : shape_.input_offsets[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] std::int64_t output_offset(NodeId node) const {
    const std::int64_t rank = rank_of(node);
    return shape_.counts.empty() ? rank * shape_.output_stride_bytes
                                 : shape_.output_offsets[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] std::int64_t chunk_boundary(ShardId shard, std::int64_t chunk) const {
    const std::int64_t chunks = program_.chunks_per_shard;
    // 128 bits: chunk index times element count may pass 63.
    __extension__ using Wide = __int128;
    if (program_.collective != Collective::allreduce) {
      return static_cast<std::int64_t>(Wide{chunk} * elements_of(shard) / chunks);
    }
    return static_cast<std::int64_t>(Wide{shard * chunks + chunk} * shape_.elements / (program_.nodes * chunks));
  }

  [[nodiscard]] Interval interval_of(const Operation& operation) const {
    return {chunk_boundary(operation.shard, operation.chunk_begin),
            chunk_boundary(operation.shard, std::int64_t{operation.chunk_begin} + operation.chunk_count)};
  }

  [[nodiscard]] std::int64_t bytes_of(Interval interval) const {
    return (interval.end - interval.begin) * shape_.element_bytes;
  }

  [[nodiscard]] std::int64_t rank_of(NodeId node) const { return rank_of_node_[static_cast<std::size_t>(node)]; }

  /// Cuts on a grid that is the same for every hop of a shard, so that a segment moves on when it has arrived.
  void cut_into_parts() {
    const std::int64_t grid = std::max<std::int64_t>(1, tuning_.segment_bytes / shape_.element_bytes);
    parts_.resize(program_.operations.size());
    for (std::size_t index = 0; index < program_.operations.size(); ++index) {
      const Interval whole = interval_of(program_.operations[index]);
      for (std::int64_t begin = whole.begin; begin < whole.end;) {
        const std::int64_t end = std::min(whole.end, (begin / grid + 1) * grid);
        parts_[index].parts.push_back({{begin, end}, {}});
        begin = end;
      }
    }
  }

  /// Data that is not for us, blocks between two hops or sums that others still add to, waits in scratch.
  void place_passing_shards() {
    const bool reduces = program_.collective == Collective::reduce_scatter;
    if (!reduces && program_.collective != Collective::alltoall) return;
    std::map<ShardId, Interval> extents;
    for (const Operation& operation : program_.operations) {
      if (is_send(operation) || operation.shard % program_.nodes == program_.node) continue;
      // Our own contribution joins a sum, also where nothing was received.
      const Interval interval = reduces ? Interval{0, elements_of(operation.shard)} : interval_of(operation);
      const auto [extent, added] = extents.try_emplace(operation.shard, interval);
      if (added) continue;
      extent->second.begin = std::min(extent->second.begin, interval.begin);
      extent->second.end = std::max(extent->second.end, interval.end);
    }
    for (const auto& [shard, extent] : extents) {
      passing_[shard] = allocate(bytes_of(extent)) - extent.begin * shape_.element_bytes;
    }
  }

  std::int64_t allocate(std::int64_t bytes) {
    const std::int64_t offset = task_graph_.scratch_bytes;
    task_graph_.scratch_bytes +=
        (bytes + scratch_alignment_bytes - 1) / scratch_alignment_bytes * scratch_alignment_bytes;
    return offset;
  }

  [[nodiscard]] Span span(Space space, std::int64_t base, Interval interval) const {
    return {space, base + interval.begin * shape_.element_bytes, bytes_of(interval)};
  }

  /// Where this rank's own, untouched contribution lies.
  [[nodiscard]] Span in_input(ShardId shard, Interval interval) const {
    switch (program_.collective) {
      case Collective::allgather:
      case Collective::allreduce:
        return span(Space::input, 0, interval);
      case Collective::reduce_scatter:
      case Collective::alltoall:
        return span(Space::input, input_offset(shard % program_.nodes), interval);
      case Collective::broadcast:
      case Collective::reduce:
        break;
    }
    return {};
  }

  /// Where received or accumulated data of a shard lies.
  [[nodiscard]] Span in_place(ShardId shard, Interval interval) const {
    switch (program_.collective) {
      case Collective::allgather:
        return span(Space::output, output_offset(shard), interval);
      case Collective::allreduce:
        return span(Space::output, 0, interval);
      case Collective::reduce_scatter:
        if (shard == program_.node) return span(Space::output, 0, interval);
        return span(Space::scratch, passing_.at(shard), interval);
      case Collective::alltoall:
        if (shard % program_.nodes == program_.node) {
          return span(Space::output, output_offset(shard / program_.nodes), interval);
        }
        return span(Space::scratch, passing_.at(shard), interval);
      case Collective::broadcast:
      case Collective::reduce:
        break;
    }
    return {};
  }

  /// Walks the operations in canonical order. Both ends of a pair see the same parts in the same order and so
  /// form the same messages.
  void form_messages() {
    const std::vector<Operation>& operations = program_.operations;
    std::map<End, Bundle> bundles;
    std::map<End, std::int64_t> bytes_of_step;
    std::size_t step_begin = 0;
    for (std::size_t index = 0; index < operations.size(); ++index) {
      const Operation& operation = operations[index];
      const End end{is_send(operation), operation.peer};
      if (index == step_begin) bytes_of_step = bytes_by_end(step_begin);
      const LoneRoute route = route_of(operation, bytes_of_step[end]);
      Bundle& bundle = bundles[end];
      for (std::size_t part = 0; part < parts_[index].parts.size(); ++part) {
        const std::int64_t bytes = bytes_of(parts_[index].parts[part].interval);
        const bool joins = !bundle.parts.empty() && bundle.step == operation.step && bundle.route == route.route &&
                           bytes < tuning_.coalesce_max &&
                           bundle.bytes + bytes <= largest_bundle_bytes(tuning_.coalesce_max);
        if (!joins) flush(bundle, is_send(operation));
        bundle.step = operation.step;
        bundle.route = route.route;
        bundle.route_class = route.route_class;
        bundle.bytes += bytes;
        bundle.parts.push_back({index, part, bytes});
        if (bytes >= tuning_.coalesce_max) flush(bundle, is_send(operation));
      }
      if (index + 1 == operations.size() || operations[index + 1].step != operation.step) {
        for (auto& [key, open] : bundles) flush(open, key.first);
        add_reductions_of_step(step_begin, index + 1);
        step_begin = index + 1;
      }
    }
  }

  /// What is sent (true) to a node or received from it.
  using End = std::pair<bool, NodeId>;

  /// Of the step that begins there. Empty where it does not matter.
  [[nodiscard]] std::map<End, std::int64_t> bytes_by_end(std::size_t first) const {
    std::map<End, std::int64_t> bytes;
    if (program_.lone_sends.empty()) return bytes;
    const std::vector<Operation>& operations = program_.operations;
    for (std::size_t index = first; index < operations.size() && operations[index].step == operations[first].step;
         ++index) {
      bytes[{is_send(operations[index]), operations[index].peer}] += bytes_of(interval_of(operations[index]));
    }
    return bytes;
  }

  /// Its own, or with little to carry between the two nodes in this step the one for all of that.
  [[nodiscard]] LoneRoute route_of(const Operation& operation, std::int64_t bytes_of_step) const {
    const bool lone = operation.route != direct && !program_.lone_sends.empty() &&
                      bytes_of_step <= tuning_.coalesce_max / lone_route_part;
    if (!lone) return {operation.route, operation.route_class};
    const std::vector<LoneRoute>& by_peer = is_send(operation) ? program_.lone_sends : program_.lone_receives;
    return by_peer[static_cast<std::size_t>(operation.peer)];
  }

  /// In canonical order, whatever order the messages were formed in: it is the order of reduction.
  void add_reductions_of_step(std::size_t first, std::size_t last) {
    for (std::size_t index = first; index < last; ++index) {
      const Operation& operation = program_.operations[index];
      if (operation.kind != OperationKind::receive_reduce) continue;
      for (Part& part : parts_[index].parts) add_reductions(operation, part);
    }
  }

  void flush(Bundle& bundle, bool sending) {
    if (bundle.parts.empty()) return;
    if (sending) {
      add_send(bundle);
    } else {
      add_receive(bundle);
    }
    bundle = {};
  }

  void add_send(const Bundle& bundle) {
    const auto task = static_cast<std::uint32_t>(task_graph_.sends.size());
    Message message = new_message(bundle, send_indices_);
    for (const PendingPart& pending : bundle.parts) {
      const Operation& operation = program_.operations[pending.operation];
      const Interval interval = parts_[pending.operation].parts[pending.part].interval;
      const Span source = source_of_send(operation, interval, {TaskKind::send, task});
      if (bundle.parts.size() == 1) {
        message.data = source;
      } else {
        task_graph_.copies.push_back({source, extend_packed(message, pending.bytes)});
      }
    }
    complete(message);
    task_graph_.sends.push_back(message);
  }

  /// Where a part to send lies; adds what it waits for. A part that was only partly reduced so far is completed
  /// from the input first.
  Span source_of_send(const Operation& operation, Interval interval, TaskRef task) {
    std::vector<Interval> covered;
    for_each_producer(operation, interval, [&](const Part& part) {
      covered.push_back(part.interval);
      for (std::uint32_t i = part.producers.first; i < part.producers.last; ++i) depend(producers_[i], task);
    });
    if (covered.empty()) return in_input(operation.shard, interval);
    for (const Interval gap : gaps(interval, covered)) {
      task_graph_.copies.push_back({in_input(operation.shard, gap), in_place(operation.shard, gap)});
    }
    return in_place(operation.shard, interval);
  }

  void add_receive(const Bundle& bundle) {
    const auto task = static_cast<std::uint32_t>(task_graph_.receives.size());
    Message message = new_message(bundle, receive_indices_);
    const auto own_producer = static_cast<std::uint32_t>(producers_.size());
    producers_.push_back({TaskKind::receive, task});
    for (const PendingPart& pending : bundle.parts) {
      const Operation& operation = program_.operations[pending.operation];
      Part& part = parts_[pending.operation].parts[pending.part];
      const bool alone = bundle.parts.size() == 1;
      if (operation.kind == OperationKind::receive_reduce) {
        if (alone) message.data = {Space::scratch, allocate(pending.bytes), 0};
        part.receive = task;
        part.staged_offset = extend_packed(message, pending.bytes).offset;
        continue;
      }
      part.producers = {own_producer, own_producer + 1};
      const Span place = in_place(operation.shard, part.interval);
      if (alone) {
        message.data = place;
      } else {
        task_graph_.copies.push_back({extend_packed(message, pending.bytes), place});
      }
    }
    complete(message);
    task_graph_.receives.push_back(message);
  }

  /// One reduction per stretch of the part that has the same history: first contribution or a later one.
  void add_reductions(const Operation& operation, Part& part) {
    std::vector<Interval> covered;
    for_each_producer(operation, part.interval, [&](const Part& earlier) { covered.push_back(earlier.interval); });
    const auto first_producer = static_cast<std::uint32_t>(producers_.size());
    std::vector<TaskRef> made;
    for (const Interval stretch : stretches(part.interval, covered)) {
      const bool first =
          std::none_of(covered.begin(), covered.end(), [&](Interval earlier) { return overlap(earlier, stretch); });
      const Span accumulated = in_place(operation.shard, stretch);
      const std::int64_t skipped_bytes = (stretch.begin - part.interval.begin) * shape_.element_bytes;
      const TaskRef task{TaskKind::reduction, static_cast<std::uint32_t>(task_graph_.reductions.size())};
      task_graph_.reductions.push_back({accumulated,
                                        first ? in_input(operation.shard, stretch) : accumulated,
                                        {Space::scratch, part.staged_offset + skipped_bytes, accumulated.bytes},
                                        stretch.end - stretch.begin});
      depend({TaskKind::receive, part.receive}, task);
      for_each_producer(operation, stretch, [&](const Part& earlier) {
        for (std::uint32_t i = earlier.producers.first; i < earlier.producers.last; ++i) depend(producers_[i], task);
      });
      made.push_back(task);
    }
    producers_.insert(producers_.end(), made.begin(), made.end());
    part.producers = {first_producer, static_cast<std::uint32_t>(producers_.size())};
  }

  Message new_message(const Bundle& bundle, std::map<NodeId, std::uint32_t>& indices) {
    Message message;
    const Operation& operation = program_.operations[bundle.parts.front().operation];
    message.peer = operation.peer;
    message.route_class = bundle.route_class;
    message.step = operation.step;
    message.route = bundle.route;
    message.is_summand =
        bundle.parts.size() == 1 && (operation.is_summand || operation.kind == OperationKind::receive_reduce);
    message.index = indices[message.peer]++;
    message.copies.first = static_cast<std::uint32_t>(task_graph_.copies.size());
    if (bundle.parts.size() > 1) message.data = {Space::scratch, allocate(bundle.bytes), 0};
    return message;
  }

  void complete(Message& message) {
    message.copies.last = static_cast<std::uint32_t>(task_graph_.copies.size());
    task_graph_.largest_message_bytes = std::max(task_graph_.largest_message_bytes, message.data.bytes);
  }

  /// The next `bytes` bytes of a packed message.
  static Span extend_packed(Message& message, std::int64_t bytes) {
    const Span packed{Space::scratch, message.data.offset + message.data.bytes, bytes};
    message.data.bytes += bytes;
    return packed;
  }

  /// Calls `visit` for every received part of an earlier operation that this interval of `operation` waits for.
  template <class Visit>
  void for_each_producer(const Operation& operation, Interval interval, Visit visit) const {
    for (const std::int32_t earlier : operation.after) {
      const std::vector<Part>& parts = parts_[static_cast<std::size_t>(earlier)].parts;
      auto part = std::partition_point(parts.begin(), parts.end(),
                                       [&](const Part& candidate) { return candidate.interval.end <= interval.begin; });
      for (; part != parts.end() && overlap(part->interval, interval); ++part) visit(*part);
    }
  }

  /// The stretches of `whole` that no interval covers.
  static std::vector<Interval> gaps(Interval whole, const std::vector<Interval>& covered) {
    std::vector<Interval> result;
    for (const Interval stretch : stretches(whole, covered)) {
      if (std::none_of(covered.begin(), covered.end(), [&](Interval c) { return overlap(c, stretch); })) {
        result.push_back(stretch);
      }
    }
    return result;
  }

  /// `whole` cut at every end of `cuts` inside it.
  static std::vector<Interval> stretches(Interval whole, const std::vector<Interval>& cuts) {
    std::vector<std::int64_t> boundaries{whole.begin, whole.end};
    for (const Interval cut : cuts) {
      if (cut.begin > whole.begin && cut.begin < whole.end) boundaries.push_back(cut.begin);
      if (cut.end > whole.begin && cut.end < whole.end) boundaries.push_back(cut.end);
    }
    std::sort(boundaries.begin(), boundaries.end());
    boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
    std::vector<Interval> result;
    for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) result.push_back({boundaries[i], boundaries[i + 1]});
    return result;
  }

  void add_initial_copies() {
    const NodeId me = program_.node;
    if (program_.collective == Collective::allgather) {
      add_initial_copy(me);
    } else if (program_.collective == Collective::alltoall && shape_.keeps_own) {
      add_initial_copy(me * program_.nodes + me);
    }
  }

  void add_initial_copy(ShardId own) {
    const Interval whole{0, elements_of(own)};
    if (whole.end > 0) task_graph_.initial_copies.push_back({in_input(own, whole), in_place(own, whole)});
  }

  void depend(TaskRef from, TaskRef to) { edges_.emplace_back(from, to); }

  [[nodiscard]] std::uint32_t task_id(TaskRef task) const {
    switch (task.kind) {
      case TaskKind::send:
        return task.index;
      case TaskKind::receive:
        return task_graph_.first_receive() + task.index;
      case TaskKind::reduction:
        return task_graph_.first_reduction() + task.index;
    }
    return 0;
  }

  void link() {
    const std::size_t tasks = task_graph_.sends.size() + task_graph_.receives.size() + task_graph_.reductions.size();
    task_graph_.waits.assign(tasks, 0);
    task_graph_.successors_begin.assign(tasks + 1, 0);
    task_graph_.successors.resize(edges_.size());
    for (const auto& [from, to] : edges_) {
      ++task_graph_.waits[task_id(to)];
      ++task_graph_.successors_begin[task_id(from) + 1];
    }
    for (std::size_t task = 0; task < tasks; ++task) {
      task_graph_.successors_begin[task + 1] += task_graph_.successors_begin[task];
    }
    std::vector<std::uint32_t> next(task_graph_.successors_begin.begin(), task_graph_.successors_begin.end() - 1);
    for (const auto& [from, to] : edges_) task_graph_.successors[next[task_id(from)]++] = task_id(to);
  }

  const Program& program_;
  const std::vector<std::int32_t>& rank_of_node_;
  const Shape& shape_;
  const Tuning& tuning_;
  TaskGraph task_graph_;
  std::vector<OperationParts> parts_;
  std::vector<TaskRef> producers_;
  std::vector<std::pair<TaskRef, TaskRef>> edges_;
  std::map<ShardId, std::int64_t> passing_;  ///< scratch offset of element 0 of a shard that is not for us
  std::map<NodeId, std::uint32_t> send_indices_;
  std::map<NodeId, std::uint32_t> receive_indices_;
};

}  // namespace

std::int64_t largest_bundle_bytes(std::int64_t coalesce_max) { return bundle_capacity_factor * coalesce_max; }

TaskGraph make_task_graph(const Program& program, const std::vector<std::int32_t>& rank_of_node, const Shape& shape,
                          const Tuning& tuning) {
  return Builder(program, rank_of_node, shape, tuning).build();
}

}  // namespace libcoll::execute

// Runs every rank of a schedule inside one process, over memory, and knows what each should end with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "libcoll/execute/execution.h"
#include "libcoll/execute/task_graph.h"
#include "planner/schedule/program.h"
#include "planner/schedule/verify.h"
#include "tests/unit/support/memory_transport.h"

namespace libcoll::test {

inline constexpr std::int64_t guard_bytes = 64;
inline constexpr std::byte guard_byte{0xa5};

/// Keeps every message back for a random number of progress() calls and reads its data only when it goes out, as a
/// zero-copy network does: a sender that writes into a buffer under way is found out. Patience 0 keeps nothing back.
class LateTransport final : public transport::Transport {
 public:
  /// `by_memory`: its peers are said to be reached through memory, so that the executor may take pieces.
  LateTransport(std::unique_ptr<transport::Transport> inner, unsigned patience, std::uint32_t seed,
                bool by_memory = false)
      : inner_(std::move(inner)), patience_(patience), by_memory_(by_memory), random_(seed) {}

  std::string name() const override { return "late " + inner_->name(); }
  const std::string& address() const override { return inner_->address(); }
  Result<transport::PeerId> connect(const std::string& address, std::int32_t route_class) override {
    return inner_->connect(address, route_class);
  }

  transport::Posted send(transport::PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
                         transport::Completion* completion) noexcept override {
    if (patience_ == 0) return inner_->send(peer, tag, data, bytes, completion);
    held_.push_back({peer, tag, data, bytes, completion});
    const auto same = [&](const Held& held) { return held.peer == peer; };
    peak_ = std::max(peak_, static_cast<std::int64_t>(std::count_if(held_.begin(), held_.end(), same)));
    return transport::Posted::pending;
  }

  transport::Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                            transport::Completion* completion) noexcept override {
    return inner_->receive(route_class, tag, data, bytes, completion);
  }

  bool takes_pieces() const override { return by_memory_; }
  bool is_by_memory(transport::PeerId) const noexcept override { return by_memory_; }
  transport::Posted receive_pieces(std::int32_t route_class, std::uint64_t tag, transport::Pieces& pieces,
                                   std::size_t bytes, transport::Completion* completion) noexcept override {
    ++received_in_pieces_;
    return inner_->receive_pieces(route_class, tag, pieces, bytes, completion);
  }

  bool progress() noexcept override {
    const bool waited = !held_.empty();
    for (std::size_t left = held_.size(); left > 0; --left) {
      const Held held = held_.front();
      held_.pop_front();
      if (random_() % (patience_ + 1) != 0) {
        held_.push_back(held);
        continue;
      }
      const transport::Posted posted = inner_->send(held.peer, held.tag, held.data, held.bytes, held.completion);
      held.completion->waiter->completed(held.completion->index, posted == transport::Posted::done);
    }
    return inner_->progress() || waited;
  }

  bool flushed(transport::Flush& flush, std::span<const transport::PeerId> peers) noexcept override {
    return held_.empty() && inner_->flushed(flush, peers);
  }
  bool arm() noexcept override { return inner_->arm(); }
  void block(int timeout_milliseconds) noexcept override { inner_->block(timeout_milliseconds); }

  /// Most messages to one peer that were under way at once.
  [[nodiscard]] std::int64_t peak() const { return peak_; }
  [[nodiscard]] std::int64_t received_in_pieces() const { return received_in_pieces_; }

 private:
  struct Held {
    transport::PeerId peer;
    std::uint64_t tag;
    const void* data;
    std::size_t bytes;
    transport::Completion* completion;
  };

  std::unique_ptr<transport::Transport> inner_;
  unsigned patience_;
  bool by_memory_;
  std::int64_t received_in_pieces_ = 0;
  std::mt19937 random_;
  std::deque<Held> held_;
  std::int64_t peak_ = 0;
};

/// A verified schedule lowered for all its nodes, which are put on ranks of another order. The workspaces stay
/// from call to call, as a communicator's do.
struct Plan {
  schedule::Collective collective = schedule::Collective::allgather;
  std::string algorithm;
  std::int64_t ranks = 0;
  std::vector<schedule::Program> programs;     ///< by node
  std::vector<std::int32_t> rank_of_node;      ///< never the identity
  std::vector<execute::Workspace> workspaces;  ///< by node
};

inline std::vector<std::int32_t> shuffled_ranks(std::int32_t ranks, std::mt19937& random) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  while (std::is_sorted(order.begin(), order.end())) std::shuffle(order.begin(), order.end(), random);
  return order;
}

inline Plan make_plan(const schedule::Schedule& schedule, std::uint32_t seed) {
  EXPECT_EQ(verify(schedule), std::vector<std::string>{});
  std::mt19937 random(seed);
  Plan plan;
  plan.collective = schedule.collective;
  plan.algorithm = schedule.algorithm;
  plan.ranks = schedule.topology.host_count();
  for (topology::NodeId node = 0; node < plan.ranks; ++node) plan.programs.push_back(schedule::lower(schedule, node));
  plan.rank_of_node = shuffled_ranks(schedule.topology.host_count(), random);
  plan.workspaces.resize(plan.programs.size());
  return plan;
}

enum class Numbers : std::uint8_t { integers, doubles };

/// One call, the same on all ranks.
struct Job {
  std::int64_t elements = 0;       ///< Shape::elements
  std::int64_t element_bytes = 8;  ///< 8 where something is reduced
  std::int64_t gap_bytes = 0;      ///< left between two blocks that have a stride
  execute::Tuning tuning;
  Numbers numbers = Numbers::integers;
  bool in_place = false;   ///< allreduce and allgather only
  unsigned patience = 0;   ///< LateTransport's
  std::uint32_t seed = 0;  ///< of the order of arrivals; the data does not depend on it
  /// Not for allreduce. Above 0: shards of unequal length, from 0 to twice `elements`, drawn by this seed.
  std::uint32_t unequal = 0;
  std::int64_t root =
      -1;  ///< from 0 on: the shard of this rank (alltoall: the blocks from it) has `elements`, others none
  bool by_memory = false;  ///< LateTransport's
};

/// 64 well-mixed bits (the finaliser of splitmix64), so that no wrong choice or sum of them looks right.
inline std::uint64_t mix(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

/// Elements of a shard by its owner's rank; alltoall: of the block from source to destination.
inline std::int64_t elements_of(const Plan& plan, const Job& job, std::int64_t source, std::int64_t destination = 0) {
  if (job.root >= 0) return source == job.root ? job.elements : 0;
  if (job.unequal == 0) return job.elements;
  const std::uint64_t block = static_cast<std::uint64_t>(source * plan.ranks + destination);
  const std::uint64_t bits = mix((std::uint64_t{job.unequal} << 32U) + block);
  if (bits % 4 == 0) return 0;
  return static_cast<std::int64_t>(bits / 4 % (2 * static_cast<std::uint64_t>(job.elements) + 1));
}

inline bool is_unequal(const Job& job) { return job.unequal != 0 || job.root >= 0; }

/// How one buffer of a call is laid out.
struct Layout {
  std::vector<std::int64_t> elements;  ///< of each block
  std::vector<std::int64_t> offsets;   ///< bytes, of each block
  std::int64_t bytes = 0;
};

/// Equal blocks lie one after the other, unequal ones the other way round; gaps between them.
inline Layout lay_out(std::vector<std::int64_t> elements, const Job& job) {
  Layout layout{std::move(elements), {}, 0};
  const std::size_t blocks = layout.elements.size();
  layout.offsets.resize(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t block = is_unequal(job) ? blocks - 1 - i : i;
    layout.offsets[block] = layout.bytes;
    layout.bytes += layout.elements[block] * job.element_bytes + job.gap_bytes;
  }
  return layout;
}

inline Layout input_layout(const Plan& plan, const Job& job, std::int64_t rank) {
  if (plan.collective == schedule::Collective::allreduce) return lay_out({job.elements}, job);
  if (plan.collective == schedule::Collective::allgather) return lay_out({elements_of(plan, job, rank)}, job);
  std::vector<std::int64_t> elements;
  for (std::int64_t other = 0; other < plan.ranks; ++other) {
    elements.push_back(plan.collective == schedule::Collective::alltoall ? elements_of(plan, job, rank, other)
                                                                         : elements_of(plan, job, other));
  }
  return lay_out(std::move(elements), job);
}

inline Layout output_layout(const Plan& plan, const Job& job, std::int64_t rank) {
  if (plan.collective == schedule::Collective::allreduce) return lay_out({job.elements}, job);
  if (plan.collective == schedule::Collective::reduce_scatter) return lay_out({elements_of(plan, job, rank)}, job);
  std::vector<std::int64_t> elements;
  for (std::int64_t other = 0; other < plan.ranks; ++other) {
    elements.push_back(plan.collective == schedule::Collective::alltoall ? elements_of(plan, job, other, rank)
                                                                         : elements_of(plan, job, other));
  }
  return lay_out(std::move(elements), job);
}

/// Of equal shards.
inline execute::Shape shape_of(const Job& job) {
  const std::int64_t stride = job.elements * job.element_bytes + job.gap_bytes;
  return {job.elements, job.element_bytes, stride, stride, {}, {}, {}};
}

/// What `rank` knows of a call. Of an all-to-all, ranks that do not forward know their own row and column only.
inline execute::Shape shape_of(const Plan& plan, const Job& job, std::int64_t rank, bool forwards) {
  if (!is_unequal(job)) return shape_of(job);
  execute::Shape shape{0, job.element_bytes, 0, 0, {}, {}, {}};
  const bool matrix = plan.collective == schedule::Collective::alltoall;
  for (std::int64_t source = 0; source < plan.ranks; ++source) {
    if (!matrix) shape.counts.push_back(elements_of(plan, job, source));
    for (std::int64_t destination = 0; matrix && destination < plan.ranks; ++destination) {
      const bool known = forwards || source == rank || destination == rank;
      shape.counts.push_back(known ? elements_of(plan, job, source, destination) : -1);
    }
  }
  if (plan.collective != schedule::Collective::allgather) shape.input_offsets = input_layout(plan, job, rank).offsets;
  if (plan.collective != schedule::Collective::reduce_scatter)
    shape.output_offsets = output_layout(plan, job, rank).offsets;
  return shape;
}

/// Element `index` of block `block` in the input of `rank`.
inline std::uint64_t integer_at(std::int64_t rank, std::int64_t block, std::int64_t index) {
  return mix(static_cast<std::uint64_t>((rank << 52) | (block << 40) | index));
}

/// In [1, 2) times 1, 10, …, 10^6 with either sign: sums of these are rounded, and differently in different orders.
inline double double_at(std::int64_t rank, std::int64_t block, std::int64_t index) {
  const std::uint64_t bits = integer_at(rank, block, index);
  double value = 1 + static_cast<double>(bits >> 11U) * 0x1p-53;
  for (std::uint64_t power = bits % 7; power > 0; --power) value *= 10;
  return (bits & 8U) != 0 ? -value : value;
}

inline std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline double double_of(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline std::uint64_t load(const std::byte* from) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

using Bytes = std::vector<std::byte>;

/// A buffer full of guard bytes, with guards before and behind it.
inline Bytes blank(const Layout& layout) {
  return Bytes(static_cast<std::size_t>(2 * guard_bytes + layout.bytes), guard_byte);
}

/// Writes elements value(0), value(1), … of block `block`; of each the first element_bytes bytes.
template <class Value>
void fill_block(Bytes& buffer, const Layout& layout, const Job& job, std::int64_t block, Value value) {
  std::byte* to = buffer.data() + guard_bytes + layout.offsets[static_cast<std::size_t>(block)];
  const std::int64_t elements = layout.elements[static_cast<std::size_t>(block)];
  for (std::int64_t index = 0; index < elements; ++index, to += job.element_bytes) {
    const std::uint64_t bits = value(index);
    std::memcpy(to, &bits, static_cast<std::size_t>(job.element_bytes));
  }
}

inline Bytes input_of(const Plan& plan, const Job& job, std::int64_t rank) {
  const Layout layout = input_layout(plan, job, rank);
  Bytes buffer = blank(layout);
  for (std::int64_t block = 0; block < std::ssize(layout.offsets); ++block) {
    fill_block(buffer, layout, job, block, [&](std::int64_t index) {
      return job.numbers == Numbers::doubles ? bits_of(double_at(rank, block, index)) : integer_at(rank, block, index);
    });
  }
  return buffer;
}

inline std::uint64_t integer_sum(const Plan& plan, std::int64_t block, std::int64_t index) {
  std::uint64_t sum = 0;  // modulo 2^64, as two's complement adds
  for (std::int64_t rank = 0; rank < plan.ranks; ++rank) sum += integer_at(rank, block, index);
  return sum;
}

/// What MPI says `rank` ends with (integers), guards and gaps included.
inline Bytes expected_output(const Plan& plan, const Job& job, std::int64_t rank) {
  const Layout layout = output_layout(plan, job, rank);
  Bytes buffer = blank(layout);
  for (std::int64_t block = 0; block < std::ssize(layout.offsets); ++block) {
    fill_block(buffer, layout, job, block, [&](std::int64_t index) {
      switch (plan.collective) {
        case schedule::Collective::allgather:
          return integer_at(block, 0, index);
        case schedule::Collective::alltoall:
          return integer_at(block, rank, index);
        case schedule::Collective::reduce_scatter:
          return integer_sum(plan, rank, index);
        case schedule::Collective::allreduce:
          return integer_sum(plan, 0, index);
        case schedule::Collective::broadcast:
        case schedule::Collective::reduce:
          break;  // programs' broadcasts and reductions run the plans of the others
      }
      return std::uint64_t{0};
    });
  }
  return buffer;
}

/// Applies combine(left, right) → bits to every element.
template <class Combine>
void reduce_elements(void* destination, const void* left, const void* right, std::int64_t elements, Combine combine) {
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t bits =
        combine(load(static_cast<const std::byte*>(left) + 8 * i), load(static_cast<const std::byte*>(right) + 8 * i));
    std::memcpy(static_cast<std::byte*>(destination) + 8 * i, &bits, sizeof bits);
  }
}

inline void add_integers(const void*, void* destination, const void* left, const void* right,
                         std::int64_t elements) noexcept {
  reduce_elements(destination, left, right, elements, [](std::uint64_t a, std::uint64_t b) { return a + b; });
}

inline void add_doubles(const void*, void* destination, const void* left, const void* right,
                        std::int64_t elements) noexcept {
  reduce_elements(destination, left, right, elements,
                  [](std::uint64_t a, std::uint64_t b) { return bits_of(double_of(a) + double_of(b)); });
}

inline execute::Reducer reducer_of(Numbers numbers) {
  return {numbers == Numbers::doubles ? add_doubles : add_integers};
}

/// The memory of one rank in one call.
struct Memory {
  Bytes input;  ///< untouched, and without meaning when in place
  Bytes output;
};

/// Where the data of a call in place lies in its output.
inline std::int64_t own_offset(const Plan& plan, const Job& job, std::int64_t rank) {
  const std::int64_t block = plan.collective == schedule::Collective::allgather ? rank : 0;
  return output_layout(plan, job, rank).offsets[static_cast<std::size_t>(block)];
}

inline Memory make_memory(const Plan& plan, const Job& job, std::int64_t rank) {
  Memory memory{input_of(plan, job, rank), blank(output_layout(plan, job, rank))};
  if (!job.in_place) return memory;
  const std::int64_t bytes = input_layout(plan, job, rank).elements.front() * job.element_bytes;
  std::copy_n(memory.input.begin() + guard_bytes, bytes,
              memory.output.begin() + guard_bytes + own_offset(plan, job, rank));
  return memory;
}

inline execute::Buffers buffers_of(const Plan& plan, const Job& job, std::int64_t rank, Memory& memory) {
  std::byte* output = memory.output.data() + guard_bytes;
  if (!job.in_place) return {memory.input.data() + guard_bytes, output};
  return {output + own_offset(plan, job, rank), output};
}

/// Whether blocks of an all-to-all pass through nodes that are neither source nor destination.
inline bool forwards_blocks(const Plan& plan) {
  if (plan.collective != schedule::Collective::alltoall) return false;
  for (const schedule::Program& program : plan.programs) {
    for (const schedule::Operation& operation : program.operations) {
      const bool sends = operation.kind == schedule::OperationKind::send;
      const topology::NodeId end = sends ? operation.shard / program.nodes : operation.shard % program.nodes;
      if (end != program.node) return true;
    }
  }
  return false;
}

inline std::vector<execute::TaskGraph> make_task_graphs(const Plan& plan, const Job& job) {
  std::vector<execute::TaskGraph> task_graphs;
  const bool forwards = forwards_blocks(plan);
  for (const schedule::Program& program : plan.programs) {
    const std::int64_t rank = plan.rank_of_node[static_cast<std::size_t>(program.node)];
    task_graphs.push_back(
        execute::make_task_graph(program, plan.rank_of_node, shape_of(plan, job, rank, forwards), job.tuning));
  }
  return task_graphs;
}

/// All ranks of one call; indexed by node throughout.
class RoundRobin {
 public:
  RoundRobin(Plan& plan, const Job& job) : RoundRobin(plan, job, make_task_graphs(plan, job)) {}
  RoundRobin(Plan& plan, const Job& job, std::vector<execute::TaskGraph> task_graphs)
      : tuning_(job.tuning), random_(job.seed), task_graphs_(std::move(task_graphs)), memories_(task_graphs_.size()) {
    open_transports(plan, job);
    for (std::size_t node = 0; node < task_graphs_.size(); ++node) {
      const std::int64_t rank = plan.rank_of_node[node];
      memories_[node] = make_memory(plan, job, rank);
      executions_.push_back(std::make_unique<execute::Execution>(
          task_graphs_[node], static_cast<topology::NodeId>(node), buffers_of(plan, job, rank, memories_[node]),
          reducer_of(job.numbers), *transports_[node], peers_, transport::TagSpace(1, 0), tuning_,
          plan.workspaces[node]));
    }
  }

  /// Round robin in a new random order each round, ranks starting at different times. False when a rank failed or
  /// nothing moves any more before all have finished.
  bool finish() {
    constexpr int most_idle_rounds = 100;
    started_.assign(executions_.size(), false);
    std::vector<std::size_t> order(executions_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int idle_rounds = 0; idle_rounds < most_idle_rounds;) {
      std::shuffle(order.begin(), order.end(), random_);
      bool moved = false;
      for (const std::size_t node : order) moved |= step(node);
      if (done()) return true;
      idle_rounds = moved ? 0 : idle_rounds + 1;
    }
    return false;
  }

  [[nodiscard]] const Memory& memory(std::size_t node) const { return memories_[node]; }

  /// Ranks to which messages of other lengths came than they expected.
  [[nodiscard]] std::int64_t surprised() const {
    return std::count_if(executions_.begin(), executions_.end(),
                         [](const auto& execution) { return execution->lengths_differ(); });
  }

  /// Most messages between one pair of ranks that were under way at once.
  [[nodiscard]] std::int64_t peak() const {
    std::int64_t peak = 0;
    for (const auto& transport : transports_) peak = std::max(peak, transport->peak());
    return peak;
  }

  /// Messages that were received in pieces.
  [[nodiscard]] std::int64_t received_in_pieces() const {
    return std::accumulate(
        transports_.begin(), transports_.end(), std::int64_t{0},
        [](std::int64_t sum, const auto& transport) { return sum + transport->received_in_pieces(); });
  }

 private:
  void open_transports(const Plan& plan, const Job& job) {
    std::int32_t classes = 1;
    for (const schedule::Program& program : plan.programs)
      classes = std::max(classes, schedule::route_classes(program));
    auto by_rank = make_memory_transports(static_cast<int>(plan.ranks), classes);
    for (std::int32_t route_class = 0; route_class < classes; ++route_class) {
      for (const std::int32_t rank : plan.rank_of_node) {
        peers_.push_back(by_rank.front()->connect(std::to_string(rank), route_class).value());
      }
    }
    for (const std::int32_t rank : plan.rank_of_node) {
      transports_.push_back(std::make_unique<LateTransport>(std::move(by_rank[static_cast<std::size_t>(rank)]),
                                                            job.patience, random_(), job.by_memory));
    }
  }

  bool step(std::size_t node) {
    if (started_[node]) {
      const bool moved = transports_[node]->progress();
      executions_[node]->advance();
      return moved;
    }
    if (random_() % 2 == 0) return false;
    started_[node] = true;
    executions_[node]->start();
    return true;
  }

  [[nodiscard]] bool done() const {
    return std::all_of(executions_.begin(), executions_.end(),
                       [](const auto& execution) { return execution->finished() && !execution->failed(); }) &&
           std::all_of(started_.begin(), started_.end(), [](bool started) { return started; });
  }

  execute::Tuning tuning_;
  std::mt19937 random_;
  std::vector<execute::TaskGraph> task_graphs_;
  std::vector<Memory> memories_;
  std::vector<std::unique_ptr<LateTransport>> transports_;
  std::vector<transport::PeerId> peers_;
  std::vector<bool> started_;
  std::vector<std::unique_ptr<execute::Execution>> executions_;
};

}  // namespace libcoll::test

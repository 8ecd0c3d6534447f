// A communicator in one process whose network loses what a test wants lost, in a time of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libcoll/transport/resilient_transport.h"
#include "planner/broadcast/planners.h"
#include "planner/flow/planners.h"
#include "planner/registry/planner.h"
#include "planner/topology/generators.h"
#include "tests/unit/execution_harness.h"

namespace libcoll::test {

// One unit of time passes in every round in which all ranks look after their messages.
inline constexpr std::int64_t patience = 64;
inline std::int64_t clock_now = 0;
inline std::int64_t read_clock() noexcept { return clock_now; }

/// A message on its way between two ranks.
struct Passing {
  int from = 0;
  int to = 0;
  std::int32_t route_class = 0;
  bool packet = false;      ///< of the resilient transport's own
  std::int64_t number = 0;  ///< of all messages of this kind so far
};

/// What becomes of messages; shared by all ranks.
struct Weather {
  enum class Fate { arrives, lost, stuck, halved };  ///< halved: where it is received in pieces, half of it arrives
  std::function<Fate(const Passing&)> fate = [](const Passing&) { return Fate::arrives; };
  std::int64_t messages = 0;
  std::int64_t packets = 0;
  bool takes_pieces = false;
  bool receives_at_once = false;  ///< what lies there when it is received in pieces ends within that call
  bool restless = false;          ///< something happens all the time that is no message: connections break
  std::vector<std::function<void()>> swallowed;  ///< lets what was lost arrive after all
  /// By rank, route class and tag, what goes on with the first so many bytes of a message.
  std::map<std::tuple<int, std::int32_t, std::uint64_t>, std::function<void(std::span<const std::byte>)>> receives;
  /// Whom which rank has given up by which route class, once the ranks have ended.
  std::set<std::tuple<int, int, std::int32_t>> forsaken;
};

using Fate = Weather::Fate;

/// Loses messages: they seem to be sent, or stay on the way for ever.
class LossyTransport final : public transport::Transport {
 public:
  LossyTransport(std::unique_ptr<transport::Transport> inner, int rank, std::shared_ptr<Weather> weather)
      : inner_(std::move(inner)), rank_(rank), weather_(std::move(weather)) {}

  std::string name() const override { return "lossy"; }
  const std::string& address() const override { return inner_->address(); }
  std::int32_t route_classes() const override { return inner_->route_classes(); }
  Result<transport::PeerId> connect(const std::string& address, std::int32_t route_class) override {
    return inner_->connect(address, route_class);
  }
  transport::Posted send(transport::PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
                         transport::Completion* completion) noexcept override {
    Passing passing{rank_, peer / route_classes(), peer % route_classes(),
                    transport::TagSpace::communicator_of(tag) == 0, 0};
    passing.number = passing.packet ? weather_->packets++ : weather_->messages++;
    const Fate fate = weather_->fate(passing);
    if (fate == Fate::arrives) return inner_->send(peer, tag, data, bytes, completion);
    const auto* first = static_cast<const std::byte*>(data);
    if (fate == Fate::halved) {
      const auto found = weather_->receives.find({passing.to, passing.route_class, tag});
      if (found != weather_->receives.end()) found->second({first, bytes / 2});
    }
    weather_->swallowed.emplace_back([this, peer, tag, copy = Bytes(first, first + bytes)] {
      transport::Completion unused;
      inner_->send(peer, tag, copy.data(), copy.size(), &unused);
    });
    return fate == Fate::lost ? transport::Posted::done : transport::Posted::pending;
  }
  transport::Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                            transport::Completion* completion) noexcept override {
    return inner_->receive(route_class, tag, data, bytes, completion);
  }
  bool takes_pieces() const override { return weather_->takes_pieces; }
  transport::Posted send_pieces(transport::PeerId peer, std::uint64_t tag, transport::Pieces& pieces, std::size_t bytes,
                                transport::Completion* completion) noexcept override {
    Bytes message(bytes);
    pieces.give(completion->index, 0, message);
    return send(peer, tag, message.data(), message.size(), completion);
  }
  transport::Posted receive_pieces(std::int32_t route_class, std::uint64_t tag, transport::Pieces& pieces,
                                   std::size_t bytes, transport::Completion* completion) noexcept override {
    weather_->receives[{rank_, route_class, tag}] = [&pieces, completion](std::span<const std::byte> piece) {
      pieces.take(completion->index, 0, piece);
    };
    const transport::Posted posted = inner_->receive_pieces(route_class, tag, pieces, bytes, completion);
    if (weather_->receives_at_once && posted == transport::Posted::pending) inner_->progress();
    return posted;
  }
  bool progress() noexcept override { return inner_->progress() || weather_->restless; }
  bool flushed(transport::Flush&, std::span<const transport::PeerId>) noexcept override { return true; }
  void forsake(transport::PeerId peer) noexcept override {
    weather_->forsaken.emplace(rank_, peer / route_classes(), peer % route_classes());
  }
  void block(int) noexcept override {}

 private:
  std::unique_ptr<transport::Transport> inner_;
  int rank_;
  std::shared_ptr<Weather> weather_;
};

/// What a rank hears of its recovery group.
class Listener final : public transport::RecoveryGroupObserver {
 public:
  void lane_died(topology::NodeId from, std::int32_t route_class) noexcept override {
    died.emplace_back(from, route_class);
  }
  void noted(topology::NodeId from, std::span<const std::byte> note) noexcept override {
    notes.emplace_back(from, Bytes(note.begin(), note.end()));
  }
  void neighbours_checked(std::span<const topology::NodeId> nodes) noexcept override {
    checked = true;
    unreachable.assign(nodes.begin(), nodes.end());
  }
  void tick() noexcept override {}

  std::vector<std::pair<topology::NodeId, std::int32_t>> died;
  std::vector<std::pair<topology::NodeId, Bytes>> notes;
  bool checked = false;
  std::vector<topology::NodeId> unreachable;
};

inline constexpr std::uint32_t communicator = 1;

/// All ranks of a communicator, over one network. Ranks are nodes in another order.
class LossyWorld {
 public:
  LossyWorld(Plan plan, const topology::Topology& topology, transport::ResendOptions options = {patience, &read_clock},
             bool takes_pieces = false)
      : plan_(std::move(plan)), random_(17) {
    weather->takes_pieces = takes_pieces;
    std::int32_t classes = 1;
    for (const schedule::Program& program : plan_.programs)
      classes = std::max(classes, schedule::route_classes(program));
    classes_ = classes;
    auto by_rank = make_memory_transports(static_cast<int>(plan_.ranks), classes);
    for (const std::int32_t rank : plan_.rank_of_node) {
      transports_.push_back(transport::make_resilient_transport(
          std::make_unique<LossyTransport>(std::move(by_rank[static_cast<std::size_t>(rank)]), rank, weather),
          options));
    }
    std::vector<std::string> addresses;
    for (const auto& transport : transports_) addresses.push_back(transport->address());
    for (std::size_t node = 0; node < transports_.size(); ++node) {
      auto& transport = transports_[node];
      for (std::int32_t route_class = 0; route_class < classes; ++route_class) {
        for (const std::string& address : addresses) {
          const transport::PeerId peer = transport->connect(address, route_class).value();
          if (node == 0) peers_.push_back(peer);
        }
      }
      transport->enrol({communicator, static_cast<topology::NodeId>(node), addresses,
                        transport::neighbouring_hosts(topology), transport::linked_hosts(topology)});
      transport->observe(communicator, &listeners.emplace_back());
    }
    rank_lives.assign(transports_.size(), true);
  }

  [[nodiscard]] int rank_of(topology::NodeId node) const { return plan_.rank_of_node[static_cast<std::size_t>(node)]; }
  [[nodiscard]] std::int32_t classes() const { return classes_; }
  transport::ResilientTransport& transport(topology::NodeId node) {
    return *transports_[static_cast<std::size_t>(node)];
  }

  /// One call from beginning to end, with every rank starting when it pleases. False when it does not end.
  bool run(const Job& job) {
    std::vector<execute::TaskGraph> task_graphs = make_task_graphs(plan_, job);
    const execute::Tuning tuning = job.tuning;
    const std::uint32_t call = calls_++;
    std::vector<Memory> memories;
    std::vector<std::unique_ptr<execute::Execution>> executions;
    memories.reserve(task_graphs.size());
    for (std::size_t node = 0; node < task_graphs.size(); ++node) {
      const std::int64_t rank = plan_.rank_of_node[node];
      memories.push_back(make_memory(plan_, job, rank));
      executions.push_back(std::make_unique<execute::Execution>(
          task_graphs[node], static_cast<topology::NodeId>(node), buffers_of(plan_, job, rank, memories.back()),
          reducer_of(job.numbers), *transports_[node], peers_, transport::TagSpace(tags, call), tuning,
          plan_.workspaces[node]));
    }
    std::vector<bool> started(task_graphs.size(), false);
    const auto step = [&](std::size_t node) {
      if (!rank_lives[node]) return;
      if (!started[node]) {
        started[node] = random_() % 4 == 0;
        if (started[node]) executions[node]->start();
      }
      if (!started[node]) return;
      moved = transports_[node]->progress() || moved;
      executions[node]->advance();
    };
    const auto all_done = [&] {
      for (std::size_t node = 0; node < task_graphs.size(); ++node) {
        if (!started[node] || !executions[node]->finished()) return false;
      }
      return true;
    };
    const bool ended = rounds(step, all_done);
    for (const auto& execution : executions) EXPECT_FALSE(execution->failed());
    if (!ended) {
      // Messages under way still have their memory's addresses.
      for (auto& execution : executions) abandoned_.push_back(std::move(execution));
      abandoned_memories_.push_back(std::move(memories));
      abandoned_scripts_.push_back(std::move(task_graphs));
      return false;
    }
    executions.clear();
    for (std::size_t node = 0; node < task_graphs.size(); ++node) {
      const std::int64_t rank = plan_.rank_of_node[node];
      EXPECT_TRUE(memories[node].output == expected_output(plan_, job, rank)) << "output of rank " << rank;
    }
    // What was swallowed comes to light: nobody's memory changes any more.
    for (Memory& memory : memories) std::fill(memory.output.begin(), memory.output.end(), std::byte{0xa5});
    const std::vector<Memory> after = memories;
    if (lets_go_after_calls) release();
    for (std::size_t node = 0; node < task_graphs.size(); ++node) {
      EXPECT_TRUE(memories[node].output == after[node].output) << "memory of node " << node << " changed afterwards";
    }
    return true;
  }

  /// All ranks look after their messages until the condition holds; false when it never does.
  bool idle_until(const std::function<bool()>& condition) {
    return rounds(
        [&](std::size_t node) {
          if (rank_lives[node]) moved = transports_[node]->progress() || moved;
        },
        condition);
  }

  void release() {
    auto arriving = std::exchange(weather->swallowed, {});
    for (const auto& each : arriving) each();
    std::int64_t left = 5;
    idle_until([&] { return --left == 0; });
  }

  /// Of calls that did not end, by node.
  [[nodiscard]] const std::vector<std::vector<Memory>>& abandoned_memories() const { return abandoned_memories_; }

  [[nodiscard]] transport::ResendCounts counts() const {
    transport::ResendCounts sum;
    for (const auto& transport : transports_) {
      const transport::ResendCounts each = transport->counts();
      sum.messages_sent_again += each.messages_sent_again;
      sum.messages_sent_around += each.messages_sent_around;
      sum.packets_passed_on += each.packets_passed_on;
      sum.duplicates_dropped += each.duplicates_dropped;
    }
    return sum;
  }

  std::shared_ptr<Weather> weather = std::make_shared<Weather>();
  std::deque<Listener> listeners;     ///< by node
  std::vector<bool> rank_lives;       ///< by node
  std::uint32_t tags = communicator;  ///< of calls from now on: this communicator's
  bool lets_go_after_calls = false;
  bool moved = false;  ///< by any progress() since it was set to false

 private:
  bool rounds(const std::function<void(std::size_t)>& step, const std::function<bool()>& done) {
    std::vector<std::size_t> order(transports_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::int64_t round = 0; round < 100 * patience; ++round) {
      ++clock_now;
      std::shuffle(order.begin(), order.end(), random_);
      for (const std::size_t node : order) step(node);
      if (done()) return true;
    }
    return false;
  }

  Plan plan_;
  std::mt19937 random_;
  std::int32_t classes_ = 1;
  std::vector<std::unique_ptr<transport::ResilientTransport>> transports_;  ///< by node
  std::vector<transport::PeerId> peers_;
  std::uint32_t calls_ = 0;
  std::vector<std::vector<Memory>> abandoned_memories_;
  std::vector<std::vector<execute::TaskGraph>> abandoned_scripts_;
  std::vector<std::unique_ptr<execute::Execution>> abandoned_;
};

inline Plan planned(const std::string& specification, schedule::Collective collective, std::string_view algorithm) {
  const topology::Topology topology = topology::generate(specification).value();
  const auto table =
      collective == schedule::Collective::alltoall ? flow::flow_planners() : broadcast::broadcast_planners();
  Result<schedule::Schedule> schedule = registry::find_planner(table, collective, algorithm)->plan(topology, {});
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().message);
  return make_plan(*schedule, 3);
}

inline Job small_job(schedule::Collective collective) {
  Job job;
  job.elements = collective == schedule::Collective::allreduce ? 41 : 11;
  job.tuning = {64, 0, 2};
  return job;
}

}  // namespace libcoll::test

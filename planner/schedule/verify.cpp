#include "planner/schedule/verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "planner/base/index.h"
#include "planner/base/work_sharing.h"
#include "planner/schedule/channel_dependency.h"
#include "planner/schedule/cost.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

// Beyond these a file is absurd or a proof would not fit in memory (about 1 GiB).
constexpr std::int32_t max_hosts = 32768;
constexpr std::int64_t max_state_words = std::int64_t{1} << 27;
// Shards are followed together as long as their state fits into a cache, roughly (16 MiB).
constexpr std::int64_t block_state_words = std::int64_t{1} << 21;
constexpr std::int64_t max_shards = std::int64_t{1} << 24;

/// The faults found so far, at most `limit`.
class Faults {
 public:
  explicit Faults(std::size_t limit) : limit_(std::max<std::size_t>(limit, 1)) {}
  void add(std::string message) {
    if (!full()) messages_.push_back(std::move(message));
  }
  [[nodiscard]] bool full() const { return messages_.size() >= limit_; }
  [[nodiscard]] bool none() const { return messages_.empty(); }
  [[nodiscard]] std::size_t limit() const { return limit_; }
  std::vector<std::string> take() { return std::move(messages_); }

 private:
  std::size_t limit_;
  std::vector<std::string> messages_;
};

bool reduces(const Schedule& schedule) {
  return schedule.collective == Collective::reduce_scatter || schedule.collective == Collective::allreduce ||
         schedule.collective == Collective::reduce;
}

/// Beyond the last shard id.
std::int64_t shard_count(const Schedule& schedule) {
  const std::int64_t hosts = schedule.topology.host_count();
  return schedule.collective == Collective::alltoall ? hosts * hosts : hosts;
}

std::string between(std::int64_t low, std::int64_t high) { return std::to_string(low) + ".." + std::to_string(high); }

std::string where(const Transfer& transfer) {
  return "step " + std::to_string(transfer.step) + ", " + std::to_string(transfer.from) + "->" +
         std::to_string(transfer.to) + ", shard " + std::to_string(transfer.shard);
}

std::string where_with_chunks(const Transfer& transfer) {
  const std::int64_t last = std::int64_t{transfer.chunk_begin} + transfer.chunk_count - 1;
  return where(transfer) + ", chunks " + between(transfer.chunk_begin, last) + ": ";
}

// --- Shape: every id in range, so that what follows may index freely. ---

std::optional<std::string> head_fault(const Schedule& schedule) {
  const std::int32_t hosts = schedule.topology.host_count();
  if (hosts < 1 || hosts > max_hosts) {
    return "the topology has " + std::to_string(hosts) + " hosts, expected " + between(1, max_hosts);
  }
  if (is_rooted(schedule.collective) && (schedule.root < 0 || schedule.root >= hosts)) {
    return "the root is " + std::to_string(schedule.root) + ", expected a host, " + between(0, hosts - 1);
  }
  if (!is_rooted(schedule.collective) && schedule.root != 0) {
    return std::string(to_string(schedule.collective)) + " has no root, found " + std::to_string(schedule.root);
  }
  if (schedule.chunks_per_shard < 1) return "chunks_per_shard is " + std::to_string(schedule.chunks_per_shard);
  if (schedule.steps < 0 || schedule.steps > max_steps) {
    return "the schedule has " + std::to_string(schedule.steps) + " steps, expected " + between(0, max_steps);
  }
  return std::nullopt;
}

std::optional<std::string> path_fault(const Topology& topology, const Route& route) {
  std::vector<NodeId> visited{route.source};
  for (const LinkId id : route.links) {
    if (id < 0 || id >= topology.link_count()) return "link " + std::to_string(id) + " does not exist";
    const Link& link = topology.link(id);
    if (link.from != visited.back()) {
      return "link " + std::to_string(id) + " leaves node " + std::to_string(link.from) + ", not node " +
             std::to_string(visited.back());
    }
    if (std::find(visited.begin(), visited.end(), link.to) != visited.end()) {
      return "it passes twice through node " + std::to_string(link.to);
    }
    visited.push_back(link.to);
  }
  if (visited.back() != route.destination) return "it ends at node " + std::to_string(visited.back());
  return std::nullopt;
}

std::optional<std::string> route_fault(const Topology& topology, const Route& route) {
  const std::int32_t hosts = topology.host_count();
  if (route.source < 0 || route.source >= hosts || route.destination < 0 || route.destination >= hosts) {
    return "its ends are not hosts 0.." + std::to_string(hosts - 1);
  }
  if (route.source == route.destination) return "it starts where it ends";
  if (route.layer < 0 || route.layer >= max_layers) {
    return "layer " + std::to_string(route.layer) + ", expected " + between(0, max_layers - 1);
  }
  if (route.route_class < 0 || route.route_class >= max_classes) {
    return "class " + std::to_string(route.route_class) + ", expected " + between(0, max_classes - 1);
  }
  return path_fault(topology, route);
}

void check_routes(const Schedule& schedule, Faults& faults) {
  for (std::size_t i = 0; i < schedule.routes.size() && !faults.full(); ++i) {
    const Route& route = schedule.routes[i];
    if (const auto fault = route_fault(schedule.topology, route)) {
      faults.add("route " + std::to_string(i) + " (" + std::to_string(route.source) + "->" +
                 std::to_string(route.destination) + "): " + *fault);
    }
  }
}

/// A class and a pair must name one path, or the fabric could follow only one of them.
void check_classes(const Schedule& schedule, Faults& faults) {
  const auto key = [&](std::size_t i) {
    const Route& route = schedule.routes[i];
    return std::tuple(route.source, route.destination, route.route_class);
  };
  const auto before = [&](std::size_t a, std::size_t b) { return key(a) < key(b); };
  std::vector<std::size_t> order;
  order.reserve(schedule.routes.size());
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) {
    if (schedule.routes[i].route_class > 0) order.push_back(i);
  }
  // As planners write them, mostly.
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  std::size_t first = 0;
  for (std::size_t i = 1; i < order.size() && !faults.full(); ++i) {
    if (key(order[i]) != key(order[first])) first = i;
    const Route& known = schedule.routes[order[first]];
    const Route& route = schedule.routes[order[i]];
    if (known.links == route.links) continue;
    faults.add("routes " + std::to_string(order[first]) + " and " + std::to_string(order[i]) + " (" +
               std::to_string(route.source) + "->" + std::to_string(route.destination) +
               ") go different ways in class " + std::to_string(route.route_class));
  }
}

std::optional<std::string> ends_fault(const Topology& topology, const Transfer& transfer) {
  for (const NodeId node : {transfer.from, transfer.to}) {
    if (node >= topology.host_count() && node < topology.node_count()) {
      return "node " + std::to_string(node) + " is a switch and neither sends nor receives";
    }
    if (node < 0 || node >= topology.host_count()) return "node " + std::to_string(node) + " does not exist";
  }
  if (transfer.from == transfer.to) return "a node sends to itself";
  return std::nullopt;
}

std::optional<std::string> way_fault(const Schedule& schedule, const Transfer& transfer) {
  if (transfer.route == direct) {
    if (schedule.topology.find_link(transfer.from, transfer.to) >= 0) return std::nullopt;
    return "there is no link " + std::to_string(transfer.from) + "->" + std::to_string(transfer.to);
  }
  if (transfer.route < 0 || at(transfer.route) >= schedule.routes.size()) {
    return "route " + std::to_string(transfer.route) + " does not exist";
  }
  const Route& route = schedule.routes[at(transfer.route)];
  if (route.source == transfer.from && route.destination == transfer.to) return std::nullopt;
  return "route " + std::to_string(transfer.route) + " goes " + std::to_string(route.source) + "->" +
         std::to_string(route.destination);
}

std::optional<std::string> data_fault(const Schedule& schedule, const Transfer& transfer) {
  if (transfer.shard < 0 || transfer.shard >= shard_count(schedule)) return "the shard does not exist";
  const std::int32_t hosts = schedule.topology.host_count();
  if (schedule.collective == Collective::alltoall && transfer.shard / hosts == transfer.shard % hosts) {
    return "a block from a node to itself does not travel";
  }
  if (is_rooted(schedule.collective) && transfer.shard != schedule.root) return "the shard is not the root's";
  const std::int64_t end = std::int64_t{transfer.chunk_begin} + transfer.chunk_count;
  if (transfer.chunk_begin < 0 || transfer.chunk_count < 1 || end > schedule.chunks_per_shard) {
    return "chunks outside " + between(0, schedule.chunks_per_shard - 1);
  }
  if (transfer.step < 1 || transfer.step > schedule.steps) {
    return "step outside " + between(1, schedule.steps);
  }
  if (transfer.kind == TransferKind::reduce && !reduces(schedule)) {
    return std::string(to_string(schedule.collective)) + " does not reduce";
  }
  return std::nullopt;
}

void check_transfers(const Schedule& schedule, Faults& faults) {
  for (const Transfer& transfer : schedule.transfers) {
    if (faults.full()) return;
    auto fault = ends_fault(schedule.topology, transfer);
    if (!fault) fault = way_fault(schedule, transfer);
    if (!fault) fault = data_fault(schedule, transfer);
    if (fault) faults.add(where_with_chunks(transfer) + *fault);
  }
}

// --- Wirings. ---

/// Whose links exist, whose steps ascend from the first one.
void check_wirings(const Schedule& schedule, Faults& faults) {
  std::int32_t after = 0;
  for (const Wiring& wiring : schedule.wirings) {
    const std::string what = "the wiring of step " + std::to_string(wiring.step);
    if (wiring.step <= after || wiring.step > std::max(schedule.steps, 1) || (after == 0 && wiring.step != 1)) {
      faults.add(what + " is out of order: the first is there from step 1 on, their steps ascend");
    }
    after = std::max(after, wiring.step);
    if (!std::isfinite(wiring.seconds) || wiring.seconds < 0) faults.add(what + " takes no time >= 0");
    LinkId last = -1;
    for (const LiveLink& live : wiring.links) {
      if (live.link <= last || live.link >= schedule.topology.link_count()) {
        faults.add(what + " has link " + std::to_string(live.link) + " twice, out of order or from nowhere");
      }
      if (live.bandwidth_bytes_per_second < 1) {
        faults.add(what + " has link " + std::to_string(live.link) + " without bandwidth");
      }
      last = std::max(last, live.link);
    }
  }
  if (!schedule.wirings.empty() && schedule.pipelined) faults.add("the fabric is rewired under a pipelined schedule");
}

/// Expects transfers that are right but for their wirings.
void check_live_links(const Schedule& schedule, Faults& faults) {
  std::map<const Wiring*, std::vector<bool>> live;
  for (const Wiring& wiring : schedule.wirings) {
    std::vector<bool>& links = live[&wiring];
    links.resize(at(schedule.topology.link_count()));
    for (const LiveLink& link : wiring.links) links[at(link.link)] = true;
  }
  for (const Transfer& transfer : schedule.transfers) {
    if (faults.full()) return;
    const std::vector<bool>& there = live[wiring_in(schedule, transfer.step)];
    const auto check = [&](LinkId link) {
      if (there[at(link)]) return;
      faults.add(where_with_chunks(transfer) + "link " + std::to_string(link) + " is not there in this step's wiring");
    };
    if (transfer.route == direct) {
      check(schedule.topology.find_link(transfer.from, transfer.to));
    } else {
      for (const LinkId link : schedule.routes[at(transfer.route)].links) check(link);
    }
  }
}

// --- Symbolic execution. ---

/// Chunks of a shard that no transfer tells apart are one piece; pieces are numbered through all shards.
class Pieces {
 public:
  explicit Pieces(const Schedule& schedule) : cuts_(at(shard_count(schedule)), {0, schedule.chunks_per_shard}) {
    for (const Transfer& transfer : schedule.transfers) {
      cuts_[at(transfer.shard)].push_back(transfer.chunk_begin);
      cuts_[at(transfer.shard)].push_back(transfer.chunk_begin + transfer.chunk_count);
    }
    first_.reserve(cuts_.size() + 1);
    first_.push_back(0);
    for (std::vector<std::int32_t>& cuts : cuts_) {
      std::sort(cuts.begin(), cuts.end());
      cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
      first_.push_back(first_.back() + static_cast<std::int64_t>(cuts.size()) - 1);
    }
  }

  [[nodiscard]] std::int64_t count() const { return first_.back(); }
  [[nodiscard]] std::int64_t first(ShardId shard) const { return first_[at(shard)]; }
  [[nodiscard]] std::int64_t last(ShardId shard) const { return first_[at(shard) + 1]; }
  /// The piece that starts with this chunk (or, for the chunk after the last, the end of the shard).
  [[nodiscard]] std::int64_t piece_at(ShardId shard, std::int32_t chunk) const {
    const std::vector<std::int32_t>& cuts = cuts_[at(shard)];
    return first(shard) + (std::lower_bound(cuts.begin(), cuts.end(), chunk) - cuts.begin());
  }
  [[nodiscard]] std::string chunks_of(ShardId shard, std::int64_t piece) const {
    const std::vector<std::int32_t>& cuts = cuts_[at(shard)];
    const std::size_t cut = at(piece - first(shard));
    const std::int32_t end = cuts[cut + 1] - 1;
    return cuts[cut] == end ? "chunk " + std::to_string(end) : "chunks " + between(cuts[cut], end);
  }

 private:
  std::vector<std::vector<std::int32_t>> cuts_;
  std::vector<std::int64_t> first_;
};

/// Shards [first, last), looked at by themselves.
struct Shards {
  ShardId first = 0;
  ShardId last = 0;
};

/// What the nodes' copies of the pieces of some shards hold. A value that is only moved has one contribution, its
/// source's; a value that is reduced has one of each of the N hosts. `written` and `spent` hold the step of the last
/// write and of the pass-on by reduction (0: never): with them a step need not be seen as a snapshot. In lockstep
/// `spent` is the step of the last copy.
class State {
 public:
  State(const Schedule& schedule, const Pieces& pieces, Shards shards)
      : first_(pieces.first(shards.first)),
        pieces_(pieces.first(shards.last) - first_),
        contributions_(reduces(schedule) ? schedule.topology.host_count() : 1),
        words_((contributions_ + 63) / 64),
        held_(at(schedule.topology.host_count() * pieces_ * words_)),
        written_(at(schedule.topology.host_count() * pieces_)),
        spent_(reduces(schedule) ? written_.size() : 0) {}

  /// Words of 64 bits that a State takes, before it is made.
  static std::int64_t size(const Schedule& schedule, const Pieces& pieces, Shards shards) {
    const std::int64_t words = reduces(schedule) ? (schedule.topology.host_count() + 63) / 64 + 1 : 2;
    return schedule.topology.host_count() * (pieces.first(shards.last) - pieces.first(shards.first)) * words;
  }

  void contribute(NodeId node, std::int64_t piece, std::int32_t contribution) {
    held(cell(node, piece))[at(contribution / 64)] |= std::uint64_t{1} << (contribution % 64);
  }
  [[nodiscard]] std::int64_t contributions() const { return contributions_; }
  [[nodiscard]] std::int64_t held_count(NodeId node, std::int64_t piece) const { return count(cell(node, piece)); }
  [[nodiscard]] bool complete(NodeId node, std::int64_t piece) const {
    return held_count(node, piece) == contributions_;
  }

  /// Both return what is wrong, or "".
  std::string copy(const Transfer& transfer, std::int64_t piece) {
    const std::size_t from = cell(transfer.from, piece);
    const std::size_t to = cell(transfer.to, piece);
    if (count(from) == 0) return "sent before it arrived at the sender";
    if (count(from) < contributions_) return "copied with " + tally(from) + " contributions";
    if (written_[from] == transfer.step) return "sent in the step in which it arrives at the sender";
    if (count(to) == contributions_) return "delivered twice to node " + std::to_string(transfer.to);
    std::ranges::copy(held(from), held(to).begin());
    written_[to] = transfer.step;
    return "";
  }

  std::string reduce(const Transfer& transfer, std::int64_t piece) {
    const std::size_t from = cell(transfer.from, piece);
    const std::size_t to = cell(transfer.to, piece);
    if (overlap(from, to)) return "a contribution would be counted twice";
    if (spent_[from] != 0) return "the sender passed its value on already in step " + std::to_string(spent_[from]);
    if (written_[from] == transfer.step) return "sent in the step in which a contribution arrives at the sender";
    spent_[from] = transfer.step;
    if (spent_[to] != 0) return "the receiver passed its value on already in step " + std::to_string(spent_[to]);
    for (std::size_t word = 0; word < at(words_); ++word) held(to)[word] |= held(from)[word];
    written_[to] = transfer.step;
    return "";
  }

  /// What a node's copy holds, for arrive().
  [[nodiscard]] std::vector<std::uint64_t> value(NodeId node, std::int64_t piece) const {
    const auto words = held(cell(node, piece));
    return {words.begin(), words.end()};
  }

  /// In lockstep: the value, taken before the step, arrives at the end of it.
  std::string arrive(const Transfer& transfer, std::int64_t piece, const std::vector<std::uint64_t>& value) {
    const std::size_t to = cell(transfer.to, piece);
    const bool copies = transfer.kind == TransferKind::copy;
    const auto meets = [&](auto condition) {
      for (std::size_t word = 0; word < value.size(); ++word) {
        if (condition(value[word], held(to)[word])) return true;
      }
      return false;
    };
    if (!meets([](std::uint64_t mine, std::uint64_t) { return mine != 0; })) {
      return "sent before it arrived at the sender";
    }
    // With a copy among them the order of arrivals within a step would matter.
    if (written_[to] == transfer.step && (copies || spent_[to] == transfer.step)) {
      return "a copy and another value arrive in one step";
    }
    written_[to] = transfer.step;
    if (!copies) {
      if (meets([](std::uint64_t mine, std::uint64_t theirs) { return (mine & theirs) != 0; })) {
        return "a contribution would be counted twice";
      }
      for (std::size_t word = 0; word < value.size(); ++word) held(to)[word] |= value[word];
      return "";
    }
    if (!spent_.empty()) spent_[to] = transfer.step;
    if (meets([](std::uint64_t mine, std::uint64_t theirs) { return (theirs & ~mine) != 0; })) {
      return "a contribution would be lost";
    }
    if (!meets([](std::uint64_t mine, std::uint64_t theirs) { return mine != theirs; })) {
      return "delivered twice to node " + std::to_string(transfer.to);
    }
    std::ranges::copy(value, held(to).begin());
    return "";
  }

  [[nodiscard]] std::string tally(NodeId node, std::int64_t piece) const { return tally(cell(node, piece)); }

 private:
  [[nodiscard]] std::size_t cell(NodeId node, std::int64_t piece) const { return at(node * pieces_ + piece - first_); }
  std::span<std::uint64_t> held(std::size_t cell) { return {held_.data() + cell * at(words_), at(words_)}; }
  [[nodiscard]] std::span<const std::uint64_t> held(std::size_t cell) const {
    return {held_.data() + cell * at(words_), at(words_)};
  }
  [[nodiscard]] std::int64_t count(std::size_t cell) const {
    std::int64_t total = 0;
    for (const std::uint64_t word : held(cell)) total += std::popcount(word);
    return total;
  }
  [[nodiscard]] std::string tally(std::size_t cell) const {
    return std::to_string(count(cell)) + " of " + std::to_string(contributions_);
  }
  [[nodiscard]] bool overlap(std::size_t a, std::size_t b) const {
    for (std::size_t word = 0; word < at(words_); ++word) {
      if ((held(a)[word] & held(b)[word]) != 0) return true;
    }
    return false;
  }

  std::int64_t first_;  ///< of the pieces
  std::int64_t pieces_;
  std::int64_t contributions_;
  std::int64_t words_;
  std::vector<std::uint64_t> held_;
  std::vector<std::int32_t> written_;
  std::vector<std::int32_t> spent_;
};

void set_initial(const Schedule& schedule, const Pieces& pieces, Shards shards, State& state) {
  const std::int32_t hosts = schedule.topology.host_count();
  for (ShardId shard = shards.first; shard < shards.last; ++shard) {
    const NodeId source = schedule.collective == Collective::alltoall ? shard / hosts : shard;
    for (std::int64_t piece = pieces.first(shard); piece < pieces.last(shard); ++piece) {
      if (!reduces(schedule)) {
        state.contribute(source, piece, 0);
        continue;
      }
      for (NodeId node = 0; node < hosts; ++node) state.contribute(node, piece, node);
    }
  }
}

void run_transfer(const Transfer& transfer, const Pieces& pieces, State& state, Faults& faults) {
  const std::int64_t end = pieces.piece_at(transfer.shard, transfer.chunk_begin + transfer.chunk_count);
  bool reported = false;  // one fault of a transfer says enough
  for (std::int64_t piece = pieces.piece_at(transfer.shard, transfer.chunk_begin); piece < end; ++piece) {
    const std::string fault =
        transfer.kind == TransferKind::copy ? state.copy(transfer, piece) : state.reduce(transfer, piece);
    if (fault.empty() || reported) continue;
    faults.add(where(transfer) + ", " + pieces.chunks_of(transfer.shard, piece) + ": " + fault);
    reported = true;
  }
}

/// By shard, and by step within a shard.
std::vector<std::size_t> order_by_shard(const Schedule& schedule) {
  std::vector<std::size_t> order = order_by_step(schedule);
  std::stable_sort(order.begin(), order.end(), [&schedule](std::size_t a, std::size_t b) {
    return schedule.transfers[a].shard < schedule.transfers[b].shard;
  });
  return order;
}

/// All transfers of one step, the values taken before any of them arrives.
void run_lockstep(const Schedule& schedule, std::span<const std::size_t> step, const Pieces& pieces, State& state,
                  Faults& faults) {
  const auto for_each_piece = [&](const Transfer& transfer, auto visit) {
    const std::int64_t end = pieces.piece_at(transfer.shard, transfer.chunk_begin + transfer.chunk_count);
    for (std::int64_t piece = pieces.piece_at(transfer.shard, transfer.chunk_begin); piece < end; ++piece) visit(piece);
  };
  std::vector<std::vector<std::uint64_t>> values;
  for (const std::size_t i : step) {
    const Transfer& transfer = schedule.transfers[i];
    for_each_piece(transfer, [&](std::int64_t piece) { values.push_back(state.value(transfer.from, piece)); });
  }
  std::size_t next = 0;
  for (const std::size_t i : step) {
    const Transfer& transfer = schedule.transfers[i];
    for_each_piece(transfer, [&](std::int64_t piece) {
      const std::string fault = state.arrive(transfer, piece, values[next++]);
      if (!fault.empty()) faults.add(where(transfer) + ", " + pieces.chunks_of(transfer.shard, piece) + ": " + fault);
    });
  }
}

/// `order`: the transfers to run, by step.
void run_steps_in_lockstep(const Schedule& schedule, std::span<const std::size_t> order, const Pieces& pieces,
                           State& state, Faults& faults) {
  for (std::size_t first = 0; first < order.size() && !faults.full();) {
    std::size_t last = first;
    while (last < order.size() && schedule.transfers[order[last]].step == schedule.transfers[order[first]].step) ++last;
    run_lockstep(schedule, order.subspan(first, last - first), pieces, state, faults);
    first = last;
  }
}

void run_steps(const Schedule& schedule, std::span<const std::size_t> order, const Pieces& pieces, State& state,
               Faults& faults) {
  for (const std::size_t i : order) {
    if (faults.full()) return;
    run_transfer(schedule.transfers[i], pieces, state, faults);
  }
}

void check_result_at(NodeId node, ShardId shard, const Pieces& pieces, const State& state, Faults& faults) {
  for (std::int64_t piece = pieces.first(shard); piece < pieces.last(shard); ++piece) {
    if (state.complete(node, piece)) continue;
    faults.add("at the end node " + std::to_string(node) + " holds " + state.tally(node, piece) +
               " contributions of shard " + std::to_string(shard) + ", " + pieces.chunks_of(shard, piece));
    return;
  }
}

void check_result(const Schedule& schedule, const Pieces& pieces, Shards shards, const State& state, Faults& faults) {
  const std::int32_t hosts = schedule.topology.host_count();
  for (ShardId shard = shards.first; shard < shards.last && !faults.full(); ++shard) {
    if (schedule.collective == Collective::alltoall) {
      check_result_at(shard % hosts, shard, pieces, state, faults);
    } else if (schedule.collective == Collective::reduce_scatter || schedule.collective == Collective::reduce) {
      check_result_at(shard, shard, pieces, state, faults);
    } else {
      for (NodeId node = 0; node < hosts; ++node) check_result_at(node, shard, pieces, state, faults);
    }
  }
}

enum class Timing : std::uint8_t { data_flow, lockstep };

void check_shards(const Schedule& schedule, const Pieces& pieces, Shards shards, std::span<const std::size_t> order,
                  Timing timing, Faults& faults) {
  if (State::size(schedule, pieces, shards) > max_state_words) {
    faults.add("too large to verify: " + std::to_string(schedule.topology.host_count()) + " hosts times " +
               std::to_string(pieces.first(shards.last) - pieces.first(shards.first)) + " pieces of shards");
    return;
  }
  State state(schedule, pieces, shards);
  set_initial(schedule, pieces, shards, state);
  if (timing == Timing::lockstep) {
    run_steps_in_lockstep(schedule, order, pieces, state, faults);
  } else {
    run_steps(schedule, order, pieces, state, faults);
  }
  check_result(schedule, pieces, shards, state, faults);
}

/// All shards, in ranges whose states are small, or of one shard.
std::vector<Shards> blocks_of(const Schedule& schedule, const Pieces& pieces) {
  const auto shards = static_cast<ShardId>(shard_count(schedule));
  std::vector<Shards> blocks;
  for (ShardId first = 0; first < shards;) {
    ShardId last = first + 1;
    while (last < shards && State::size(schedule, pieces, {first, last + 1}) <= block_state_words) ++last;
    blocks.push_back({first, last});
    first = last;
  }
  return blocks;
}

/// No shard meets another: each block of them is followed by itself.
void check_blocks(const Schedule& schedule, const Pieces& pieces, Timing timing, std::int32_t threads, Faults& faults) {
  const std::vector<Shards> blocks = blocks_of(schedule, pieces);
  std::vector<std::size_t> block_of(at(shard_count(schedule)));
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    for (ShardId shard = blocks[block].first; shard < blocks[block].last; ++shard) block_of[at(shard)] = block;
  }
  std::vector<std::vector<std::size_t>> orders(blocks.size());
  for (const std::size_t i : order_by_step(schedule)) orders[block_of[at(schedule.transfers[i].shard)]].push_back(i);
  std::vector<Faults> found(blocks.size(), Faults(faults.limit()));
  share_work(threads, blocks.size(), [&](std::int32_t, std::size_t block) {
    check_shards(schedule, pieces, blocks[block], orders[block], timing, found[block]);
  });
  for (Faults& of_block : found) {
    for (std::string& message : of_block.take()) faults.add(std::move(message));
  }
}

void check_data(const Schedule& schedule, Timing timing, std::int32_t threads, Faults& faults) {
  const std::int64_t shards = shard_count(schedule);
  if (shards > max_shards) {
    faults.add("too large to verify: " + std::to_string(shards) + " shards");
    return;
  }
  const Pieces pieces(schedule);
  const auto all = static_cast<ShardId>(shards);
  if (is_rooted(schedule.collective)) {
    check_shards(schedule, pieces, {schedule.root, schedule.root + 1}, order_by_step(schedule), timing, faults);
    return;
  }
  if (schedule.collective != Collective::alltoall) {
    check_blocks(schedule, pieces, timing, threads, faults);
    return;
  }
  // Of an all-to-all there are so many blocks that one at a time is better.
  const std::vector<std::size_t> order = order_by_shard(schedule);
  std::size_t first = 0;
  for (ShardId shard = 0; shard < all && !faults.full(); ++shard) {
    std::size_t last = first;
    while (last < order.size() && schedule.transfers[order[last]].shard == shard) ++last;
    check_shards(schedule, pieces, {shard, shard + 1}, std::span(order).subspan(first, last - first), timing, faults);
    first = last;
  }
}

// --- Claims. ---

void check_claim(const char* name, const Rational& actual, const Rational& claimed, Faults& faults) {
  if (actual <= claimed) return;
  faults.add(std::string(name) + " of the transfers is " + actual.to_string() + ", the proof claims " +
             claimed.to_string());
}

void check_layers(const Schedule& schedule, Faults& faults) {
  std::map<std::int32_t, std::vector<Route>> layers;
  for (const Route& route : schedule.routes) layers[route.layer].push_back(route);
  for (const auto& [layer, routes] : layers) {
    if (channel_dependencies_acyclic(schedule.topology, routes)) continue;
    faults.add("the channel dependencies of layer " + std::to_string(layer) + " form a cycle: its " +
               std::to_string(routes.size()) + " routes can deadlock");
  }
}

std::vector<std::string> verify(const Schedule& schedule, std::size_t limit, std::int32_t threads, Timing timing) {
  Faults faults(limit);
  if (const auto fault = head_fault(schedule)) {
    faults.add(*fault);
    return faults.take();
  }
  check_routes(schedule, faults);
  check_classes(schedule, faults);
  check_transfers(schedule, faults);
  check_wirings(schedule, faults);
  if (!faults.none()) return faults.take();
  if (!schedule.wirings.empty()) check_live_links(schedule, faults);
  check_data(schedule, timing, std::max(threads, 1), faults);
  check_claim("bandwidth_time", bandwidth_time(schedule), schedule.proof.bandwidth_time, faults);
  check_claim("max_link_load", max_link_load(schedule), schedule.proof.max_link_load, faults);
  check_layers(schedule, faults);
  return faults.take();
}

}  // namespace

std::vector<std::string> verify(const Schedule& schedule, std::size_t limit, std::int32_t threads) {
  return verify(schedule, limit, threads, Timing::data_flow);
}

std::vector<std::string> verify_lockstep(const Schedule& schedule, std::size_t limit, std::int32_t threads) {
  return verify(schedule, limit, threads, Timing::lockstep);
}

}  // namespace libcoll::schedule

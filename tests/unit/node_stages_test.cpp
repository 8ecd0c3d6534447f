// Rounds of a node's ranks in stages: whatever order the ranks go on in, nobody reads too early, overwrites too early,
// or waits for ever. Ranks are played by one thread that picks them at random.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "libcoll/node/node_memory.h"
#include "libcoll/node/node_rounds.h"
#include "libcoll/node/stages.h"

namespace libcoll::node_stages_test {

using namespace execute;
using namespace node;
using namespace schedule;

namespace {

// ---- the stages themselves, on several nodes whose leaders move together

constexpr std::int64_t rounds = 7;

/// What a rank has done: the number of rounds in which it has come past each kind of work.
struct Done {
  std::int64_t copy_in = 0;
  std::int64_t reduce_domain = 0;
  std::int64_t reduce_node = 0;
  std::int64_t move = 0;
  std::int64_t read = 0;
  std::int64_t copy_out = 0;
};

struct alignas(128) Lines {
  std::byte bytes[4 * 128];  // phases of four ranks at most
};

struct Node {
  std::int32_t locals = 1;
  std::unique_ptr<Lines> memory = std::make_unique<Lines>();
  std::vector<Done> done;
};

struct Rank {
  Node* node = nullptr;
  RoundOutline outline;
  std::unique_ptr<Phases> phases;
  std::int64_t round = 0;
  bool moving = false;
  std::vector<Stage> stages;
  std::size_t stage = 0;

  [[nodiscard]] Done& done() const { return node->done[static_cast<std::size_t>(outline.local)]; }
};

/// In what rounds ranks read each other's memory: in the first of a call, which has so many.
enum class Reading : std::uint8_t { never, calls_of_one_round, one_call };

class World {
 public:
  World(const std::vector<std::int32_t>& locals, std::int32_t leaders, bool reduces, bool has_domains, bool alone,
        bool adds_up_own = false, Reading reading = Reading::never)
      : reading_(reading) {
    nodes_.resize(locals.size());
    for (std::size_t n = 0; n < locals.size(); ++n) {
      Node& node = nodes_[n];
      node.locals = locals[n];
      node.done.resize(static_cast<std::size_t>(locals[n]));
      for (std::int32_t local = 0; local < node.locals; ++local) {
        Rank rank;
        rank.node = &node;
        rank.outline = {reduces, has_domains, node.locals, local, leaders, reduces && leaders == node.locals,
                        alone,   adds_up_own};
        rank.outline.copies_own_sum = reduces && !alone && !adds_up_own && leaders == 0;
        rank.phases = std::make_unique<Phases>(node.memory->bytes, node.locals, local);
        ranks_.push_back(std::move(rank));
      }
    }
  }

  /// Runs all ranks to their end; what went wrong, as a rule nothing.
  std::string run(std::mt19937& random) {
    while (true) {
      std::vector<Rank*> left;
      for (Rank& rank : ranks_) {
        if (rank.round < rounds) left.push_back(&rank);
      }
      if (left.empty()) return "";
      std::shuffle(left.begin(), left.end(), random);
      const auto went_on = std::find_if(left.begin(), left.end(), [this](Rank* rank) { return go_on(*rank); });
      if (went_on == left.end()) return "all wait for each other";
      if (!wrong_.empty()) return wrong_;
    }
  }

 private:
  bool go_on(Rank& rank) {
    if (rank.stages.empty()) {
      rank.outline.reads_neighbours = reads(rank.round);
      rank.outline.is_last = reading_ != Reading::one_call || rank.round + 1 == rounds;
      list_stages(rank.outline, static_cast<std::uint32_t>(rank.round + 1), rank.stages);
    }
    const Stage& stage = rank.stages[rank.stage];
    if (!rank.moving) {
      if (!rank.phases->have_come(stage.awaited)) return false;
      check(rank, stage.work);
      if (stage.work == Work::move) {
        rank.moving = true;
        return true;
      }
    } else if (!all_move(rank)) {
      return false;
    }
    rank.moving = false;
    count(rank.done(), stage.work);
    if (stage.published != 0) rank.phases->post(stage.published);
    if (++rank.stage == rank.stages.size()) {
      rank.stages.clear();
      rank.stage = 0;
      ++rank.round;
      check_end(rank);
    }
    return true;
  }

  [[nodiscard]] bool reads(std::int64_t round) const {
    return reading_ == Reading::calls_of_one_round || (reading_ == Reading::one_call && round == 0);
  }

  /// When a call is over, the program may write to what others read.
  void check_end(const Rank& rank) {
    if (reading_ == Reading::never || !rank.outline.is_last) return;
    const std::int64_t readings = reading_ == Reading::one_call ? 1 : rank.round;
    for (const Done& done : rank.node->done) {
      if (done.read < readings) wrong_ = "the call ended too early";
    }
  }

  /// The leaders of a slice move together.
  [[nodiscard]] bool all_move(const Rank& mine) const {
    return std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
      const bool there = rank.done().move > mine.round || (rank.round == mine.round && rank.moving);
      return rank.outline.local != mine.outline.local || there;
    });
  }

  static void count(Done& done, Work work) {
    if (work == Work::copy_in) ++done.copy_in;
    if (work == Work::reduce_domain) ++done.reduce_domain;
    if (work == Work::reduce_node || work == Work::reduce_alone) ++done.reduce_node;
    if (work == Work::move) ++done.move;
    if (work == Work::read_neighbours) ++done.read;
    if (work == Work::copy_out) ++done.copy_out;
  }

  /// Before the work: everybody on the node has done what it builds on.
  void check(const Rank& rank, Work work) {
    const RoundOutline& outline = rank.outline;
    const std::int64_t now = rank.round + 1;
    const auto all = [&](std::int64_t Done::*what, std::int64_t least) {
      const std::vector<Done>& done = rank.node->done;
      return std::all_of(done.begin(), done.end(), [&](const Done& each) { return each.*what >= least; });
    };
    const auto leaders_moved = [&] {
      const std::vector<Done>& done = rank.node->done;
      return std::all_of(done.begin(), done.begin() + outline.leaders,
                         [&](const Done& each) { return each.move >= now; });
    };
    const bool input = all(&Done::copy_in, now);
    std::int64_t Done::*const last = outline.adds_up_own ? &Done::reduce_domain : &Done::reduce_node;
    const bool sum = outline.reduces_alone ? rank.node->done.front().reduce_node >= now : all(last, now);
    const bool reduced = outline.reduces ? sum : input;
    bool right = true;
    if (work == Work::copy_in) right = all(&Done::copy_out, now - 2);  // the half is free
    if (work == Work::reduce_domain) right = outline.has_domains && input;
    if (work == Work::reduce_node) right = outline.has_domains ? all(&Done::reduce_domain, now) : input;
    if (work == Work::reduce_alone) right = outline.local == 0 && input;
    if (work == Work::move) {
      right = outline.local < outline.leaders && (outline.leaders_move_own ? rank.done().reduce_node == now : reduced);
    }
    if (work == Work::copy_own_sum) right = rank.done().reduce_node == now;
    if (work == Work::read_neighbours) right = reads(rank.round) && input;
    if (work == Work::copy_out) right = outline.leaders > 0 ? leaders_moved() && reduced : reduced;
    if (!right) wrong_ = "work " + std::to_string(static_cast<int>(work)) + " came too early";
  }

  const Reading reading_;
  std::vector<Node> nodes_;
  std::vector<Rank> ranks_;
  std::string wrong_;
};

TEST(Stages, AnyOrderOfTheRanksIsSafeAndComesToAnEnd) {
  std::mt19937 random(5);
  const std::vector<std::vector<std::int32_t>> shapes = {{1}, {3}, {2, 2}, {1, 3}, {4, 2, 3}};
  for (const std::vector<std::int32_t>& locals : shapes) {
    const std::int32_t fewest = *std::min_element(locals.begin(), locals.end());
    for (std::int32_t leaders = locals.size() > 1 ? 1 : 0; leaders <= (locals.size() > 1 ? fewest : 0); ++leaders) {
      for (const unsigned traits : {0U, 1U, 3U, 5U, 7U, 11U}) {
        const bool alone = (traits & 4U) != 0;
        const bool adds_up_own = (traits & 8U) != 0;
        if ((alone && leaders > 1) || (adds_up_own && leaders > 0)) continue;
        for (int turn = 0; turn < 20; ++turn) {
          World world(locals, leaders, (traits & 1U) != 0, (traits & 2U) != 0, alone, adds_up_own);
          ASSERT_EQ(world.run(random), "") << locals.size() << " nodes, " << leaders << " leaders, traits " << traits;
        }
      }
    }
  }
}

TEST(Stages, NobodyEndsACallThatOthersStillReadFrom) {
  std::mt19937 random(7);
  for (const std::vector<std::int32_t>& locals : {std::vector<std::int32_t>{3}, {2, 2}, {4, 2, 3}}) {
    const std::int32_t fewest = *std::min_element(locals.begin(), locals.end());
    const std::int32_t most_leaders = locals.size() > 1 ? fewest : 0;
    for (std::int32_t leaders = std::min(1, most_leaders); leaders <= most_leaders; ++leaders) {
      for (const Reading reading : {Reading::calls_of_one_round, Reading::one_call}) {
        for (int turn = 0; turn < 40; ++turn) {
          World world(locals, leaders, false, false, false, false, reading);
          ASSERT_EQ(world.run(random), "") << locals.size() << " nodes, " << leaders << " leaders";
        }
      }
    }
  }
}

// ---- with data, on one node

constexpr std::int64_t little_memory = 8192;
using Words = std::vector<std::uint64_t>;

void add(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  for (std::int64_t i = 0; i < elements; ++i) {
    static_cast<std::uint64_t*>(destination)[i] =
        static_cast<const std::uint64_t*>(left)[i] + static_cast<const std::uint64_t*>(right)[i];
  }
}

std::uint64_t value(std::size_t call, std::size_t source, std::size_t place) {
  return call * 1'000'003 + source * 10'007 + place * 31 + 1;
}

/// One rank of the node with the buffers of all its calls.
struct Player {
  Player(const RankLayout& layout, std::int32_t rank, std::int64_t half_bytes) : memory(layout, rank, half_bytes) {}

  NodeMemory memory;
  std::vector<Words> inputs;
  std::vector<Words> outputs;
  std::deque<std::unique_ptr<NodeRounds>> calls;
  std::int64_t round = 0;
  std::vector<Stage> stages;
  std::size_t stage = 0;
  std::uint32_t number = 0;
  std::int64_t readings = 0;  ///< of other ranks' memory
  std::size_t calls_done = 0;

  bool go_on() {
    NodeRounds& call = *calls.front();
    if (stages.empty()) {
      number = memory.next_round();
      call.begin(round, memory.half(number));
      if (round == 0) call.show(memory.phases().note(memory.staging().local(), number));
      list_stages(call.outline(), number, stages);
    }
    const Stage& next = stages[stage];
    if (!memory.phases().have_come(next.awaited)) return false;
    if (next.work == Work::copy_in) call.copy_in();
    if (next.work == Work::reduce_domain) call.reduce_domain();
    if (next.work == Work::reduce_node) call.reduce_node();
    if (next.work == Work::reduce_alone) call.reduce_alone();
    if (next.work == Work::copy_own_sum) call.copy_own_sum();
    if (next.work == Work::read_neighbours && !read_neighbours(call)) return false;
    if (next.work == Work::copy_out) call.copy_out();
    if (next.published != 0) memory.phases().post(next.published);
    if (++stage < stages.size()) return true;
    stages.clear();
    stage = 0;
    if (++round == call.count()) {
      // What the others may write from now on.
      std::fill(inputs[calls_done].begin(), inputs[calls_done].end(), 0);
      ++calls_done;
      calls.pop_front();
      round = 0;
    }
    return true;
  }

  bool read_neighbours(NodeRounds& call) {
    std::vector<Phases::Note> shown;
    shown.reserve(static_cast<std::size_t>(memory.staging().locals()));
    for (std::int32_t local = 0; local < memory.staging().locals(); ++local) {
      shown.push_back(memory.phases().note(local, number));
    }
    ++readings;
    return call.read_neighbours(shown, memory.phases().signs_of_life()).has_value();
  }
};

struct Kind {
  Collective collective;
  bool equal;
  std::int64_t elements;
};

/// Elements of rank `rank`'s shard.
std::int64_t length(const Kind& kind, std::size_t rank) {
  return kind.equal ? kind.elements : kind.elements * static_cast<std::int64_t>(rank);
}

/// Elements of the block between two ranks of an all-to-all.
std::int64_t block(const Kind& kind, std::size_t source, std::size_t destination) {
  return kind.equal ? kind.elements : kind.elements * static_cast<std::int64_t>((3 * source + destination) % 4);
}

/// Of this rank's input, where its block for the destination begins.
std::size_t block_begin(const Kind& kind, std::size_t source, std::size_t destination) {
  std::int64_t begin = 0;
  for (std::size_t other = 0; other < destination; ++other) begin += block(kind, source, other);
  return static_cast<std::size_t>(begin);
}

std::size_t total(const Kind& kind, std::size_t ranks) {
  std::int64_t sum = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) sum += length(kind, rank);
  return static_cast<std::size_t>(sum);
}

/// Own row and column of an all-to-all's counts, and blocks one after the other.
void describe_exchange(const Kind& kind, std::size_t ranks, std::size_t rank, Call& call) {
  const auto word = static_cast<std::int64_t>(sizeof(std::uint64_t));
  call.counts.assign(ranks * ranks, 0);
  std::int64_t received = 0;
  for (std::size_t other = 0; other < ranks; ++other) {
    call.counts[rank * ranks + other] = block(kind, rank, other);
    call.counts[other * ranks + rank] = block(kind, other, rank);
    call.input_offsets.push_back(static_cast<std::int64_t>(block_begin(kind, rank, other)) * word);
    call.output_offsets.push_back(received);
    received += block(kind, other, rank) * word;
  }
}

/// Elements of a rank's input and output.
struct Sizes {
  std::size_t input = 0;
  std::size_t output = 0;
};

Sizes sizes_of(const Kind& kind, std::size_t ranks, std::size_t rank) {
  if (kind.collective == Collective::alltoall) {
    Sizes sizes{block_begin(kind, rank, ranks), 0};
    for (std::size_t other = 0; other < ranks; ++other) {
      sizes.output += static_cast<std::size_t>(block(kind, other, rank));
    }
    return sizes;
  }
  const auto own = static_cast<std::size_t>(length(kind, rank));
  const std::size_t all = kind.collective == Collective::allreduce ? own : total(kind, ranks);
  return {kind.collective == Collective::allgather ? own : all,
          kind.collective == Collective::reduce_scatter ? own : all};
}

void begin_call(Player& player, const RankLayout& layout, std::size_t rank, std::size_t number, const Kind& kind) {
  const std::size_t ranks = layout.node_of_rank.size();
  const bool gathers = kind.collective == Collective::allgather;
  const Sizes sizes = sizes_of(kind, ranks, rank);
  Words input(sizes.input);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = value(number, rank, i);
  player.inputs.push_back(std::move(input));
  player.outputs.emplace_back(sizes.output);
  Call call;
  call.collective = kind.collective;
  call.input = reinterpret_cast<const std::byte*>(player.inputs.back().data());
  call.output = reinterpret_cast<std::byte*>(player.outputs.back().data());
  call.elements = kind.elements;
  call.element_bytes = sizeof(std::uint64_t);
  call.reducer.apply = &add;
  const bool exchanges = kind.collective == Collective::alltoall;
  if (exchanges && !kind.equal) describe_exchange(kind, ranks, rank, call);
  std::int64_t offset = 0;
  for (std::size_t other = 0; other < ranks && !kind.equal && !exchanges; ++other) {
    call.counts.push_back(length(kind, other));
    (gathers ? call.output_offsets : call.input_offsets).push_back(offset);
    offset += length(kind, other) * call.element_bytes;
  }
  ASSERT_TRUE(fits_in_rounds(layout, player.memory.staging().bytes(), kind.collective, kind.equal));
  player.calls.push_back(make_node_rounds(layout, player.memory.staging(), player.memory.neighbours(),
                                          static_cast<std::int32_t>(rank), std::move(call)));
}

/// By the definitions of the MPI standard, chapter 5.
Words expected(const Kind& kind, std::size_t ranks, std::size_t rank, std::size_t number) {
  Words result;
  const auto sum = [&](std::size_t place) {
    std::uint64_t all = 0;
    for (std::size_t source = 0; source < ranks; ++source) all += value(number, source, place);
    return all;
  };
  std::size_t begin = 0;
  if (kind.collective == Collective::alltoall) {
    for (std::size_t other = 0; other < ranks; ++other) {
      const std::size_t place = block_begin(kind, other, rank);
      const auto elements = static_cast<std::size_t>(block(kind, other, rank));
      for (std::size_t i = 0; i < elements; ++i) result.push_back(value(number, other, place + i));
    }
    return result;
  }
  for (std::size_t other = 0; other < ranks; begin += static_cast<std::size_t>(length(kind, other++))) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(length(kind, other)); ++i) {
      if (kind.collective == Collective::allgather) result.push_back(value(number, other, i));
      if (kind.collective == Collective::reduce_scatter && other == rank) result.push_back(sum(begin + i));
      if (kind.collective == Collective::allreduce && other == 0) result.push_back(sum(i));
    }
  }
  return result;
}

/// All ranks of a node go through three times the kinds of calls, in any order. How often they read each other's
/// memory, if they can.
std::int64_t run_calls(const std::vector<Kind>& kinds, std::int32_t domains, bool can_read, std::mt19937& random,
                       std::int64_t half_bytes = little_memory) {
  const std::vector<RankPlace> places = {{0, 0, 0}, {0, 1, 1 % domains}, {0, 2, 0}, {0, 3, 3 % domains}};
  const RankLayout layout = arrange(places, 1, 0);
  const std::size_t ranks = places.size();
  std::deque<Player> players;
  for (std::int32_t rank = 0; rank < 4; ++rank) players.emplace_back(layout, rank, half_bytes);
  std::string name;
  for (Player& player : players) {
    if (player.memory.staging().local() != 0) continue;
    const Result<std::string> made = player.memory.create();
    EXPECT_TRUE(made.ok());
    if (made.ok()) name = *made;
  }
  for (Player& player : players) {
    EXPECT_TRUE(player.memory.staging().local() == 0 || player.memory.open(name).ok());
    EXPECT_TRUE(player.memory.reserve_own().ok());
  }
  for (Player& player : players) {
    EXPECT_TRUE(player.memory.settle().ok());
    if (!can_read) continue;
    player.memory.read_directly(std::make_unique<NeighbourMemory>(std::vector<pid_t>(ranks, getpid())));
  }
  const std::size_t calls = 3 * kinds.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    players[rank].inputs.reserve(calls);
    players[rank].outputs.reserve(calls);
    for (std::size_t call = 0; call < calls; ++call) {
      begin_call(players[rank], layout, rank, call, kinds[call % kinds.size()]);
    }
  }
  std::vector<std::size_t> order = {0, 1, 2, 3};
  for (bool moved = true; moved;) {
    std::shuffle(order.begin(), order.end(), random);
    moved = std::any_of(order.begin(), order.end(),
                        [&](std::size_t rank) { return !players[rank].calls.empty() && players[rank].go_on(); });
  }
  std::int64_t readings = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    EXPECT_TRUE(players[rank].calls.empty()) << "rank " << rank << " is stuck";
    for (std::size_t call = 0; call < calls; ++call) {
      EXPECT_EQ(players[rank].outputs[call], expected(kinds[call % kinds.size()], ranks, rank, call))
          << "rank " << rank << ", call " << call;
    }
    readings += players[rank].readings;
  }
  return readings;
}

TEST(NodeRounds, CallsOfAllKindsOneAfterTheOtherInAnyOrderOfTheRanks) {
  std::mt19937 random(11);
  const std::vector<Kind> kinds = {{Collective::allreduce, true, 1500},     {Collective::allgather, true, 700},
                                   {Collective::alltoall, true, 333},       {Collective::allgather, false, 500},
                                   {Collective::reduce_scatter, true, 400}, {Collective::reduce_scatter, false, 250},
                                   {Collective::allreduce, true, 1},        {Collective::alltoall, true, 2},
                                   {Collective::alltoall, false, 300},      {Collective::alltoall, false, 0},
                                   {Collective::reduce_scatter, true, 1}};
  for (const std::int32_t domains : {1, 2}) EXPECT_EQ(run_calls(kinds, domains, false, random), 0);
}

/// Of each kind some rounds lie beside the ones before them.
TEST(NodeRounds, RoundsTakeTurnsWithMuchMemory) {
  std::mt19937 random(17);
  const std::vector<Kind> kinds = {{Collective::allreduce, true, 3000},      {Collective::allreduce, true, 10'000},
                                   {Collective::allgather, true, 700},       {Collective::alltoall, true, 333},
                                   {Collective::allgather, false, 5000},     {Collective::alltoall, false, 2000},
                                   {Collective::reduce_scatter, true, 2000}, {Collective::reduce_scatter, false, 9000},
                                   {Collective::reduce_scatter, true, 1},    {Collective::allreduce, true, 40'000}};
  constexpr std::int64_t much_memory = 1024 * 1024;
  for (const std::int32_t domains : {1, 2}) EXPECT_EQ(run_calls(kinds, domains, false, random, much_memory), 0);
}

TEST(NodeRounds, TurnsStayInTheirRoom) {
  constexpr std::int64_t room = 1024 * 1024;
  for (const std::int64_t bytes :
       {std::int64_t{16 * 1024}, std::int64_t{100'001}, room / 2, room - 1, room, room + 1}) {
    std::set<std::int64_t> places;
    for (std::uint32_t turn = 0; turn < 200; ++turn) {
      const std::int64_t place = offset_in_turn(turn, bytes, room);
      EXPECT_EQ(place % alignment_bytes, 0);
      EXPECT_TRUE(place == 0 || place + bytes <= room) << bytes;
      places.insert(place);
    }
    const std::int64_t place_bytes = (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    EXPECT_EQ(places.size(), std::max<std::size_t>(1, static_cast<std::size_t>(room / place_bytes)));
    for (auto next = std::next(places.begin()); next != places.end(); ++next)
      EXPECT_GE(*next, *std::prev(next) + bytes);
  }
  for (std::uint32_t turn = 0; turn < 200; ++turn) EXPECT_EQ(offset_in_turn(turn, 8192, room), 0);
}

/// 16384 words are the shortest block that is read, in allgathers of four ranks three times as many; of unequal ones
/// the mean counts, here 1.5 times the number.
TEST(NodeRounds, NeighboursAreReadWhereBlocksAreLong) {
  std::mt19937 random(13);
  const std::vector<Kind> kinds = {{Collective::alltoall, true, 16'384},   {Collective::alltoall, true, 16'383},
                                   {Collective::alltoall, false, 10'923},  {Collective::alltoall, false, 10'922},
                                   {Collective::allgather, true, 49'152},  {Collective::allgather, true, 49'151},
                                   {Collective::allgather, false, 32'768}, {Collective::allgather, false, 32'767},
                                   {Collective::allgather, true, 50'000},  {Collective::alltoall, true, 17'000}};
  constexpr int read_kinds = 6;
  constexpr int times = 3;
  constexpr int ranks = 4;
  for (int turn = 0; turn < 5; ++turn) EXPECT_EQ(run_calls(kinds, 1, true, random), read_kinds * times * ranks);
}

}  // namespace
}  // namespace libcoll::node_stages_test

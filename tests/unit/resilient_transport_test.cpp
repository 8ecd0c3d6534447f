// Messages are lost in every way there is, and calls end as if they had not been.
#include "libcoll/transport/resilient_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/packet.h"
#include "planner/registry/planner.h"
#include "planner/topology/generators.h"
#include "tests/unit/lossy_world.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::resilient_transport_test {

using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

struct Kind {
  const char* name;
  Collective collective;
  const char* algorithm;
  bool takes_pieces = false;  ///< the transport underneath does, and every message is long enough to go so
};

ResendOptions options_for(bool takes_pieces, std::int64_t kept_bytes = std::int64_t{32} << 20) {
  return {patience, &read_clock, kept_bytes, takes_pieces ? std::size_t{1} : std::size_t{1} << 20};
}

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }  // NOLINT: GoogleTest's name

class Resilience : public testing::TestWithParam<Kind> {
 protected:
  /// `hops`: between whom packets go from host to host.
  static LossyWorld world(const std::string& specification, const std::string& hops) {
    return {planned(specification, GetParam().collective, GetParam().algorithm), generate(hops).value(),
            options_for(GetParam().takes_pieces), GetParam().takes_pieces};
  }
  static LossyWorld world(const std::string& specification) { return world(specification, specification); }
  static Job job() { return small_job(GetParam().collective); }
};

TEST_P(Resilience, NothingIsSentAgainWithoutNeed) {
  LossyWorld all = world("hypercube:3");
  for (int call = 0; call < 5; ++call) ASSERT_TRUE(all.run(job()));
  EXPECT_EQ(all.counts().messages_sent_again, 0);
  EXPECT_EQ(all.counts().messages_sent_around, 0);
  for (const Listener& listener : all.listeners) EXPECT_TRUE(listener.died.empty());
}

TEST_P(Resilience, EverySingleMessageMayBeLost) {
  std::int64_t messages = 1;
  for (std::int64_t lost = 0; lost < messages; ++lost) {
    SCOPED_TRACE(lost);
    LossyWorld all = world("hypercube:2");
    all.lets_go_after_calls = true;
    all.weather->fate = [lost](const Passing& passing) {
      return !passing.packet && passing.number == lost ? Fate::lost : Fate::arrives;
    };
    ASSERT_TRUE(all.run(job()));
    messages = all.weather->messages;
    ASSERT_TRUE(all.run(job()));
    EXPECT_GE(all.counts().messages_sent_again, 1);
  }
  EXPECT_GT(messages, 8);
}

/// Everything over the cable {0, 1} is lost from some message on, and later comes to light.
TEST_P(Resilience, ACableMayDieAtAnyTime) {
  for (const Fate fate : {Fate::lost, Fate::stuck, Fate::halved}) {
    for (const std::int64_t alive : {0, 3, 20, 50}) {
      SCOPED_TRACE(alive);
      LossyWorld all = world("hypercube:3");
      all.lets_go_after_calls = fate != Fate::stuck;
      const std::set<int> ends = {all.rank_of(0), all.rank_of(1)};
      all.weather->fate = [=, &all](const Passing& passing) {
        const bool over = ends.contains(passing.from) && ends.contains(passing.to);
        return over && all.weather->messages > alive ? fate : Fate::arrives;
      };
      for (int call = 0; call < 4; ++call) ASSERT_TRUE(all.run(job())) << call;
      if (GetParam().collective != Collective::alltoall) {
        EXPECT_GE(all.counts().messages_sent_again, 1);
        EXPECT_GE(all.counts().messages_sent_around, 1);
        EXPECT_GE(all.counts().packets_passed_on, 1);
      }
    }
  }
}

/// One direction of one route class of a pair. In the end its connection, and no other pair's, is not said goodbye to.
TEST_P(Resilience, ALaneMayDie) {
  LossyWorld sample = world("hypercube:3");
  for (std::int32_t route_class = 0; route_class < sample.classes(); ++route_class) {
    SCOPED_TRACE(route_class);
    std::optional<LossyWorld> all = world("hypercube:3");
    const int from = all->rank_of(5);
    const int to = all->rank_of(4);
    bool is_used = false;
    all->weather->fate = [&](const Passing& passing) {
      const bool dead = passing.from == from && passing.to == to && passing.route_class == route_class;
      is_used = is_used || (dead && !passing.packet);
      return dead ? Fate::lost : Fate::arrives;
    };
    for (int call = 0; call < 3; ++call) ASSERT_TRUE(all->run(job())) << call;
    const std::shared_ptr<const Weather> weather = all->weather;
    all.reset();
    EXPECT_EQ(weather->forsaken.contains({from, to, route_class}), is_used);
    for (const auto& [one, other, lane_class] : weather->forsaken) {
      EXPECT_EQ(std::minmax(one, other), std::minmax(from, to));
      EXPECT_EQ(lane_class, route_class);
    }
  }
}

/// Cables that leave the graph connected, one after the other.
TEST_P(Resilience, SeveralCablesMayDie) {
  LossyWorld all = world("hypercube:3");
  std::set<std::pair<int, int>> dead;
  all.weather->fate = [&](const Passing& passing) {
    return dead.contains({std::min(passing.from, passing.to), std::max(passing.from, passing.to)}) ? Fate::stuck
                                                                                                   : Fate::arrives;
  };
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(2, 3), std::pair(0, 4), std::pair(7, 5)}) {
    dead.emplace(std::min(all.rank_of(a), all.rank_of(b)), std::max(all.rank_of(a), all.rank_of(b)));
    for (int call = 0; call < 2; ++call) ASSERT_TRUE(all.run(job())) << a << "-" << b;
  }
}

/// As on a part of a torus: routes of the fabric lead from every node to every other, and three pairs' cross one cable.
/// What is left is one path, which shares a hop with every other that there was.
TEST_P(Resilience, RoutesOfTheFabricMayShareACable) {
  LossyWorld all = world("hypercube:2", "complete:4");
  std::set<std::pair<int, int>> dead;
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(1, 2), std::pair(0, 3)}) {
    dead.emplace(all.rank_of(a), all.rank_of(b));
    dead.emplace(all.rank_of(b), all.rank_of(a));
  }
  all.weather->fate = [&](const Passing& passing) {
    return dead.contains({passing.from, passing.to}) ? Fate::lost : Fate::arrives;
  };
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(all.run(job())) << call;
}

/// Every fifth message and packet is lost.
TEST_P(Resilience, MuchMayBeLost) {
  LossyWorld all = world("hypercube:3");
  std::mt19937 random(5);
  all.weather->fate = [&](const Passing&) { return random() % 5 == 0 ? Fate::lost : Fate::arrives; };
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(all.run(job())) << call;
}

TEST_P(Resilience, FewBytesMayBeKept) {
  const std::string specification = "hypercube:3";
  LossyWorld all(planned(specification, GetParam().collective, GetParam().algorithm), generate(specification).value(),
                 options_for(GetParam().takes_pieces, 100), GetParam().takes_pieces);
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(all.run(job())) << call;
}

TEST_P(Resilience, WaitingForTheDeadIsNoProgress) {
  LossyWorld all = world("hypercube:3");
  ASSERT_TRUE(all.run(job()));
  all.rank_lives[6] = false;
  EXPECT_FALSE(all.run(job()));
  // Whoever could finish has; the others ask in vain, and each other. What else happens must not restart their clocks.
  all.weather->restless = true;
  all.moved = false;
  std::int64_t left = 20 * patience;
  all.idle_until([&] { return --left == 0; });
  EXPECT_FALSE(all.moved);
}

INSTANTIATE_TEST_SUITE_P(All, Resilience,
                         testing::Values(Kind{"allgather", Collective::allgather, "bfb"},
                                         Kind{"reduce_scatter", Collective::reduce_scatter, "bfb"},
                                         Kind{"allreduce", Collective::allreduce, "bfb"},
                                         Kind{"alltoall_links", Collective::alltoall, "mcf-link"},
                                         Kind{"alltoall_routes", Collective::alltoall, "mcf-path"},
                                         Kind{"allgather_in_pieces", Collective::allgather, "bfb", true},
                                         Kind{"allreduce_in_pieces", Collective::allreduce, "bfb", true},
                                         Kind{"alltoall_in_pieces", Collective::alltoall, "mcf-path", true}),
                         [](const auto& information) { return std::string(information.param.name); });

LossyWorld allreduces(const std::string& specification, bool takes_pieces = false) {
  return {planned(specification, Collective::allreduce, "bfb"), generate(specification).value(),
          options_for(takes_pieces), takes_pieces};
}

TEST(ResilientTransport, NotesGoFromNodeToNode) {
  LossyWorld all = allreduces("hypercube:3");
  const Bytes note = {std::byte{1}, std::byte{2}};
  all.transport(0).post_note(communicator, 7, note, NoteWay::best);
  ASSERT_TRUE(all.idle_until([&] { return !all.listeners[7].notes.empty(); }));
  EXPECT_EQ(all.listeners[7].notes, (std::vector<std::pair<NodeId, Bytes>>{{0, note}}));
  EXPECT_EQ(all.counts().packets_passed_on, 2) << "three hops";
}

TEST(ResilientTransport, ChecksFindWhatIsCut) {
  LossyWorld all = allreduces("hypercube:3");
  std::set<int> ends = {all.rank_of(2), all.rank_of(6)};
  all.weather->fate = [ends](const Passing& passing) {
    return ends.contains(passing.from) && ends.contains(passing.to) ? Fate::stuck : Fate::arrives;
  };
  for (NodeId node = 0; node < 8; ++node) all.transport(node).check_neighbours(communicator);
  ASSERT_TRUE(all.idle_until([&] {
    return std::all_of(all.listeners.begin(), all.listeners.end(), [](const Listener& each) { return each.checked; });
  }));
  for (NodeId node = 0; node < 8; ++node) {
    const auto& found = all.listeners[static_cast<std::size_t>(node)].unreachable;
    EXPECT_EQ(found, node == 2   ? std::vector<NodeId>{6}
                     : node == 6 ? std::vector<NodeId>{2}
                                 : std::vector<NodeId>{})
        << node;
  }
}

/// A process that was busy elsewhere must not hold its own absence against others.
TEST(ResilientTransport, TimeSpentElsewhereDoesNotCount) {
  LossyWorld all = allreduces("hypercube:3");
  for (int call = 0; call < 10; ++call) {
    ASSERT_TRUE(all.run(small_job(Collective::allreduce)));
    clock_now += 50 * patience;
  }
  EXPECT_EQ(all.counts().messages_sent_again, 0);
}

/// What comes after a call has failed is nobody's any more.
TEST(ResilientTransport, FailedCallsAreForgotten) {
  LossyWorld all = allreduces("hypercube:3");
  const int mute = all.rank_of(6);
  all.weather->fate = [mute](const Passing& passing) { return passing.from == mute ? Fate::lost : Fate::arrives; };
  ASSERT_FALSE(all.run(small_job(Collective::allreduce)));
  for (NodeId node = 0; node < 8; ++node) all.transport(node).forget(communicator);
  const std::vector<Memory> before = all.abandoned_memories().front();
  all.weather->fate = [](const Passing&) { return Fate::arrives; };
  all.release();
  std::int64_t left = 10 * patience;
  all.idle_until([&] { return --left == 0; });
  for (std::size_t node = 0; node < before.size(); ++node) {
    EXPECT_TRUE(before[node].output == all.abandoned_memories().front()[node].output) << node;
  }
}

/// A message from one process to another, which may end or not.
class Letter final : public Waiter {
 public:
  Letter(ResilientTransport& from, ResilientTransport& to, std::uint64_t tag, std::uint64_t sent)
      : from_(from), to_(to), tag_(tag), sent_(sent) {}

  /// One after the other, for a receive may have to wait.
  void receive() {
    const Posted posted = to_.receive(0, tag_, &word, sizeof word, &completion_);
    received_ = received_ || posted == Posted::done;
  }
  void send() {
    const PeerId peer = from_.connect(to_.address(), 0).value();
    const Posted posted = from_.send(peer, tag_, &sent_, sizeof sent_, &sending_);
    EXPECT_NE(posted, Posted::failed);
    left_ = left_ || posted == Posted::done;
  }
  /// The sender's memory is its own again.
  [[nodiscard]] bool left() const { return left_; }
  [[nodiscard]] bool arrived() const { return received_ && word == sent_; }
  void completed(std::uint32_t index, bool ok) noexcept override {
    received_ = received_ || (index == 0 && ok);
    left_ = left_ || (index == 1 && ok);
  }

  std::uint64_t word = 0;

 private:
  ResilientTransport& from_;
  ResilientTransport& to_;
  std::uint64_t tag_;
  std::uint64_t sent_;
  bool received_ = false;
  Completion completion_{this, 0, 0};
  bool left_ = false;
  Completion sending_{this, 1, 0};
};

constexpr std::uint32_t annex = 2;

/// Calls of their own order (persistent ones) have their own tags, and what they lose is sent again all the same.
TEST(ResilientTransport, AnAnnexHasTheCrewsHelp) {
  LossyWorld all = allreduces("hypercube:3");
  for (NodeId node = 0; node < 8; ++node) all.transport(node).annex(annex, communicator);
  const std::set<int> ends = {all.rank_of(0), all.rank_of(1)};
  all.weather->fate = [ends](const Passing& passing) {
    return ends.contains(passing.from) && ends.contains(passing.to) ? Fate::stuck : Fate::arrives;
  };
  for (const std::uint32_t tags : {annex, communicator, annex, communicator}) {
    all.tags = tags;
    ASSERT_TRUE(all.run(small_job(Collective::allreduce))) << tags;
  }
  EXPECT_GE(all.counts().messages_sent_again, 1);
  EXPECT_GE(all.counts().packets_passed_on, 1);
}

/// Ranks on a part of the nodes number them by themselves. These two have no other way than through other nodes.
TEST(ResilientTransport, AnAnnexMayNumberItsProcessesOtherwise) {
  LossyWorld all = allreduces("hypercube:3");
  const std::vector<NodeId> places = {5, 4};
  for (const NodeId node : places) all.transport(node).annex(annex, communicator, places);
  const std::set<int> ends = {all.rank_of(4), all.rank_of(5)};
  all.weather->fate = [ends](const Passing& passing) {
    return ends.contains(passing.from) && ends.contains(passing.to) ? Fate::lost : Fate::arrives;
  };
  // And what they do in an order of its own.
  for (const NodeId node : places) all.transport(node).annex(annex + 1, annex);
  Letter letter(all.transport(5), all.transport(4), TagSpace(annex, 0).tag(0, 0), 77);
  Letter answer(all.transport(4), all.transport(5), TagSpace(annex, 0).tag(1, 0), 78);
  Letter apart(all.transport(4), all.transport(5), TagSpace(annex + 1, 0).tag(1, 0), 79);
  for (Letter* each : {&letter, &answer, &apart}) {
    each->receive();
    each->send();
  }
  EXPECT_TRUE(all.idle_until([&] { return letter.arrived() && answer.arrived() && apart.arrived(); }));
  EXPECT_EQ(all.counts().messages_sent_again, 3);
}

/// Ranks begin calls that wait for nobody long before others do. Nothing is lost then, and no lane is given up.
TEST(ResilientTransport, WhatIsNotAwaitedYetIsNotLost) {
  LossyWorld all = allreduces("hypercube:2");
  Letter early(all.transport(0), all.transport(1), TagSpace(communicator, 1).tag(0, 0), 77);
  Letter late(all.transport(0), all.transport(1), TagSpace(communicator, 0).tag(0, 0), 78);
  early.send();
  late.receive();
  std::int64_t left = 5 * patience;
  all.idle_until([&] { return --left == 0; });
  late.send();
  EXPECT_TRUE(all.idle_until([&] { return late.arrived(); }));
  early.receive();
  EXPECT_TRUE(all.idle_until([&] { return early.arrived(); }));
  EXPECT_EQ(all.counts().messages_sent_again, 0);
  EXPECT_TRUE(all.listeners[1].died.empty());
}

// ---- messages that are not copied -------------------------------------------------------------------------------

Letter letter_between(LossyWorld& all, std::uint32_t call, std::uint64_t word) {
  return {all.transport(0), all.transport(1), TagSpace(communicator, call).tag(0, 0), word};
}

void pass_time(LossyWorld& all, std::int64_t patiences) {
  std::int64_t left = patiences * patience;
  all.idle_until([&] { return --left == 0; });
}

/// The receiver may be computing for long. What it is asked meanwhile is bounded, and nothing is sent twice.
TEST(ResilientTransport, LongMessagesWaitForLateReceivers) {
  LossyWorld all = allreduces("hypercube:2", true);
  Letter letter = letter_between(all, 0, 77);
  letter.send();
  pass_time(all, 90);
  EXPECT_FALSE(letter.left());
  EXPECT_LT(all.weather->packets, 150) << "one in two patiences, there and back over three hops, would be 270";
  letter.receive();
  EXPECT_TRUE(all.idle_until([&] { return letter.arrived() && letter.left(); }));
  EXPECT_EQ(all.counts().messages_sent_again, 0);
  EXPECT_EQ(all.weather->messages, 1);
}

TEST(ResilientTransport, WhatConfirmsLongMessagesMayBeLost) {
  LossyWorld all = allreduces("hypercube:2", true);
  all.weather->fate = [](const Passing& passing) { return passing.packet ? Fate::lost : Fate::arrives; };
  Letter letter = letter_between(all, 0, 77);
  letter.receive();
  letter.send();
  pass_time(all, 6);
  EXPECT_TRUE(letter.arrived());
  EXPECT_FALSE(letter.left());
  all.weather->fate = [](const Passing&) { return Fate::arrives; };
  EXPECT_TRUE(all.idle_until([&] { return letter.left(); }));
  EXPECT_EQ(all.counts().messages_sent_again, 0);
}

TEST(ResilientTransport, LongMessagesMayOvertakeEachOther) {
  LossyWorld all = allreduces("hypercube:2", true);
  all.weather->fate = [](const Passing& passing) {
    return !passing.packet && passing.number == 0 ? Fate::lost : Fate::arrives;
  };
  std::deque<Letter> letters;
  for (std::uint32_t call = 0; call < 3; ++call) {
    letters.emplace_back(all.transport(0), all.transport(1), TagSpace(communicator, call).tag(0, 0), 77 + call);
  }
  for (Letter& letter : letters) letter.receive();
  for (Letter& letter : letters) letter.send();
  pass_time(all, 3);
  EXPECT_TRUE(letters[1].left() && letters[2].left()) << "whatever has become of the first";
  EXPECT_TRUE(all.idle_until([&] { return letters[0].arrived() && letters[0].left(); }));
  EXPECT_EQ(all.counts().messages_sent_again, 1);
  const std::uint64_t before = letters[0].word;
  letters[0].word = 1;
  all.release();
  EXPECT_EQ(letters[0].word, 1U) << "was " << before << "; what arrives at last is nobody's";
  EXPECT_EQ(all.counts().duplicates_dropped, 1);
}

/// The first of two letters arrives; that the other one is still expected puts off its confirmation.
void deliver_one(LossyWorld& all, Letter& letter, Letter& expected) {
  pass_time(all, 1);
  expected.receive();
  letter.receive();
  letter.send();
  all.transport(1).progress();
  ASSERT_TRUE(letter.arrived());
  EXPECT_FALSE(letter.left());
  EXPECT_EQ(all.weather->packets, 0);
}

/// A message goes the other way soon enough: nothing else says that one has arrived.
TEST(ResilientTransport, MessagesTheOtherWayConfirm) {
  LossyWorld all = allreduces("hypercube:2", true);
  Letter letter = letter_between(all, 0, 77);
  Letter expected = letter_between(all, 1, 78);
  Letter answer(all.transport(1), all.transport(0), TagSpace(communicator, 0).tag(1, 0), 79);
  deliver_one(all, letter, expected);
  answer.receive();
  answer.send();
  all.transport(0).progress();
  EXPECT_TRUE(letter.left());
  EXPECT_EQ(all.weather->packets, 1) << "for the answer, which was the last one";
}

/// Whoever falls asleep has nothing else to do.
TEST(ResilientTransport, NobodySleepsWithoutConfirming) {
  LossyWorld all = allreduces("hypercube:2", true);
  Letter letter = letter_between(all, 0, 77);
  Letter expected = letter_between(all, 1, 78);
  deliver_one(all, letter, expected);
  all.transport(1).arm();
  EXPECT_EQ(all.weather->packets, 1);
  all.transport(0).progress();
  EXPECT_TRUE(letter.left());
}

/// Before a flush is over, the peers have what they wait for.
TEST(ResilientTransport, AFlushConfirms) {
  LossyWorld all = allreduces("hypercube:2", true);
  Letter letter = letter_between(all, 0, 77);
  Letter expected = letter_between(all, 1, 78);
  deliver_one(all, letter, expected);
  Flush flush;
  EXPECT_TRUE(all.transport(1).flushed(flush, {}));
  EXPECT_EQ(all.weather->packets, 1);
  all.transport(0).progress();
  EXPECT_TRUE(letter.left());
}

/// A message that ends while it is asked for may be the receiver's last: nobody makes progress there afterwards.
TEST(ResilientTransport, WhatEndsAtOnceIsConfirmedAtOnce) {
  LossyWorld all = allreduces("hypercube:2", true);
  all.weather->receives_at_once = true;
  Letter letter = letter_between(all, 0, 77);
  letter.send();
  all.transport(1).progress();
  EXPECT_FALSE(letter.left());
  letter.receive();
  ASSERT_TRUE(letter.arrived());
  EXPECT_EQ(all.weather->packets, 1);
  all.transport(0).progress();
  EXPECT_TRUE(letter.left());
}

/// What fails on one communicator does not concern others that share its recovery group.
TEST(ResilientTransport, AnAnnexIsForgottenByItself) {
  LossyWorld all = allreduces("hypercube:2");
  for (NodeId node = 0; node < 4; ++node) all.transport(node).annex(annex, communicator);
  Letter forgotten(all.transport(0), all.transport(1), TagSpace(annex, 0).tag(0, 0), 77);
  Letter other(all.transport(0), all.transport(1), TagSpace(communicator, 0).tag(0, 0), 78);
  forgotten.receive();
  other.receive();
  all.transport(1).forget(annex);
  forgotten.send();
  other.send();
  EXPECT_TRUE(all.idle_until([&] { return other.arrived(); }));
  std::int64_t left = 4 * patience;
  all.idle_until([&] { return --left == 0; });
  EXPECT_EQ(forgotten.word, 0U);
  EXPECT_FALSE(forgotten.arrived());
}

TEST(ResilientTransport, StrangersMessagesPassThroughUnchanged) {
  auto both = make_memory_transports(2);
  auto left = make_resilient_transport(std::move(both[0]), {patience, &read_clock});
  const std::uint64_t word = 77;
  Completion completion;
  const PeerId peer = left->connect("1", 0).value();
  EXPECT_EQ(left->send(peer, TagSpace(9, 0).tag(0, 0), &word, sizeof word, &completion), Posted::done);
  std::uint64_t got = 0;
  class Once final : public Waiter {
   public:
    void completed(std::uint32_t, bool good) noexcept override { ok = good; }
    bool ok = false;
  } waiter;
  Completion received{&waiter, 0, 0};
  both[1]->receive(0, TagSpace(9, 0).tag(0, 0), &got, sizeof got, &received);
  both[1]->progress();
  EXPECT_TRUE(waiter.ok);
  EXPECT_EQ(got, word);
}

// --- detours -------------------------------------------------------------------------------------------------------

using Neighbours = std::vector<std::vector<NodeId>>;

TEST(Detours, NeighboursAreJoinedByLinksOrSwitches) {
  const auto ring = neighbouring_hosts(generate("uniring:4").value());
  EXPECT_EQ(ring, (std::vector<std::vector<NodeId>>{{1, 3}, {0, 2}, {1, 3}, {0, 2}}));
  const auto tree = neighbouring_hosts(generate("fat_tree:4,2").value());
  for (std::size_t host = 0; host < tree.size(); ++host) EXPECT_EQ(tree[host].size(), tree.size() - 1);
  EXPECT_EQ(linked_hosts(generate("uniring:4").value()), ring);
  for (const auto& hosts : linked_hosts(generate("fat_tree:4,2").value())) EXPECT_TRUE(hosts.empty());
}

const Neighbours all_of_four = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};

TEST(Detours, PreferLinksToRoutesOfTheFabric) {
  const Detours detours(all_of_four, Neighbours{{1, 2}, {0, 3}, {0, 3}, {1, 2}});
  EXPECT_EQ(detours.find(1, 0, false), (HostPath{1, 0}));
  EXPECT_EQ(detours.find(1, 0, true), (HostPath{1, 3, 2, 0}));
  EXPECT_EQ(detours.find(1, 2, false), (HostPath{1, 0, 2}));
}

/// It shares a hop with each of the two that are shorter.
TEST(Detours, GiveEveryPathItsTurn) {
  for (const HostPath& wanted : {HostPath{1, 3, 2, 0}, HostPath{1, 2, 3, 0}}) {
    Detours detours(all_of_four);
    int tries = 0;
    for (HostPath path; path != wanted && tries < 200; ++tries) {
      detours.blame(path);
      path = detours.search(1, 0, true, tries);
    }
    EXPECT_LT(tries, 60);
  }
}

/// Routes of the fabric are others in each direction.
TEST(Detours, TrustRoutesInOneDirection) {
  Detours detours(all_of_four, Neighbours{{1, 2}, {0, 3}, {0, 3}, {1, 2}});
  detours.exclude(0, 1);
  detours.exclude(1, 3);
  detours.blame({0, 3});
  detours.blame({0, 2});
  detours.trust({0, 3});
  EXPECT_EQ(detours.find(0, 3, false), (HostPath{0, 3}));
  EXPECT_EQ(detours.find(3, 0, false), (HostPath{3, 2, 0}));
  detours.trust({0, 2});
  EXPECT_EQ(detours.find(3, 0, false), (HostPath{3, 2, 0}));
}

TEST(Detours, ArePathsAroundWhatDisappointed) {
  Detours detours(neighbouring_hosts(generate("hypercube:3").value()));
  EXPECT_EQ(detours.find(0, 1, false), (HostPath{0, 1}));
  EXPECT_EQ(detours.find(0, 1, true), (HostPath{0, 2, 3, 1}));
  detours.blame({0, 2, 3, 1});
  EXPECT_EQ(detours.find(0, 1, true), (HostPath{0, 4, 5, 1}));
  detours.blame({0, 4, 5, 1});
  // Both ends have no third neighbour to come by, but all hops between can be others: 0 2 6 7 5 1 or its mirror image.
  EXPECT_EQ(detours.find(0, 1, true).size(), 6U);
  detours.trust({0, 4, 5, 1});
  EXPECT_EQ(detours.find(0, 1, true), (HostPath{0, 4, 5, 1}));
  detours.blame({0, 1});
  EXPECT_EQ(detours.find(0, 1, false), (HostPath{0, 4, 5, 1}));
}

TEST(Detours, DoWithoutWhatIsGone) {
  Detours detours(neighbouring_hosts(generate("hypercube:3").value()));
  detours.exclude(1, 0);
  EXPECT_EQ(detours.find(0, 1, false).size(), 4U);
  detours.exclude(0, 2);
  EXPECT_EQ(detours.find(1, 0, false), (HostPath{1, 5, 4, 0}));
  EXPECT_EQ(detours.find(2, 0, false), (HostPath{2, 6, 4, 0}));
  detours.exclude(4, 0);
  EXPECT_TRUE(detours.find(0, 7, false).empty());
  // Trust does not bring it back.
  detours.trust({0, 1});
  EXPECT_TRUE(detours.find(0, 1, false).empty());
}

TEST(Detours, DoNotExistEverywhere) {
  EXPECT_TRUE(Detours(Neighbours{{1}, {0}}).find(0, 1, true).empty());
  EXPECT_EQ(Detours(Neighbours{{1}, {0}}).find(0, 1, false), (HostPath{0, 1}));
  EXPECT_TRUE(Detours(Neighbours{{1}, {0}, {}}).find(0, 2, false).empty());
}

}  // namespace
}  // namespace libcoll::resilient_transport_test

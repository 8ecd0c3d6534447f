// Who sits where on the nodes of a communicator: layout and slices, and what hwloc says of a process's binding.
#include <gtest/gtest.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "libcoll/node/placement.h"
#include "libcoll/node/rank_layout.h"

namespace libcoll::node_rank_layout_test {

using namespace node;
using namespace topology;

namespace {

using Ranks = std::vector<std::int32_t>;

/// One rank per entry, on that node, bound to no domain.
std::vector<RankPlace> on_nodes(const std::vector<NodeId>& nodes) {
  std::vector<RankPlace> places;
  places.reserve(nodes.size());
  for (const NodeId node : nodes) places.push_back({node, static_cast<std::int32_t>(places.size()), -1});
  return places;
}

TEST(RankLayout, BySlot) {
  const RankLayout layout = arrange(on_nodes({0, 0, 1, 1, 2, 2, 3, 3}), 4, 0);
  EXPECT_EQ(layout.leaders, 2);
  EXPECT_EQ(layout.most_ranks, 2);
  EXPECT_EQ(layout.slice(0), (Ranks{0, 2, 4, 6}));
  EXPECT_EQ(layout.slice(1), (Ranks{1, 3, 5, 7}));
}

TEST(RankLayout, RoundRobin) {
  const RankLayout layout = arrange(on_nodes({2, 1, 0, 2, 1, 0}), 3, 0);
  EXPECT_EQ(layout.slice(0), (Ranks{2, 1, 0}));
  EXPECT_EQ(layout.slice(1), (Ranks{5, 4, 3}));
}

TEST(RankLayout, UnevenNodesHaveTheLeadersOfTheEmptiest) {
  const RankLayout layout = arrange(on_nodes({0, 0, 1, 1, 1, 2}), 3, 0);
  EXPECT_EQ(layout.leaders, 1);
  EXPECT_EQ(layout.most_ranks, 3);
  EXPECT_EQ(layout.nodes[1].ranks, (Ranks{2, 3, 4}));
  EXPECT_EQ(layout.slice(0), (Ranks{0, 2, 5}));
}

TEST(RankLayout, TheSettingBoundsTheLeaders) {
  EXPECT_EQ(arrange(on_nodes({0, 0, 0, 1, 1, 1}), 2, 2).leaders, 2);
  EXPECT_EQ(arrange(on_nodes({0, 0, 0, 1, 1, 1}), 2, 7).leaders, 3);
}

TEST(RankLayout, LeadersAreSpreadOverDomains) {
  std::vector<RankPlace> places = on_nodes({0, 0, 0, 0, 0});
  for (const std::size_t rank : {0U, 1U, 2U}) places[rank].domain = 0;
  for (const std::size_t rank : {3U, 4U}) places[rank].domain = 1;
  const RankLayout layout = arrange(places, 1, 0);
  EXPECT_EQ(layout.nodes[0].ranks, (Ranks{0, 3, 1, 4, 2}));
  EXPECT_EQ(layout.nodes[0].domains, (std::vector<Ranks>{{0, 2, 4}, {1, 3}}));
}

/// Communicators that number the same processes otherwise have the same processes in a slice.
TEST(RankLayout, LocalIndicesGoByTheWorld) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<RankPlace> places = on_nodes({0, 1, 1, 0, 2, 2, 0, 1, 2, 2});
    for (RankPlace& place : places) place.domain = static_cast<std::int32_t>(random() % 3) - 1;
    const RankLayout first = arrange(places, 3, 0);
    std::vector<RankPlace> shuffled = places;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const RankLayout second = arrange(shuffled, 3, 0);
    for (std::size_t rank = 0; rank < shuffled.size(); ++rank) {
      const auto world_rank = static_cast<std::size_t>(shuffled[rank].world_rank);
      EXPECT_EQ(second.local_of_rank[rank], first.local_of_rank[world_rank]);
      EXPECT_EQ(second.node_of_rank[rank], first.node_of_rank[world_rank]);
    }
  }
}

TEST(RankLayout, EveryRankHasOnePlace) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 100; ++trial) {
    const auto nodes = static_cast<NodeId>(1 + random() % 5);
    std::vector<NodeId> node_of_rank(static_cast<std::size_t>(nodes));
    std::iota(node_of_rank.begin(), node_of_rank.end(), 0);
    for (std::size_t more = random() % 12; more > 0; --more) {
      node_of_rank.push_back(static_cast<NodeId>(random() % static_cast<unsigned>(nodes)));
    }
    std::shuffle(node_of_rank.begin(), node_of_rank.end(), random);
    std::vector<RankPlace> places = on_nodes(node_of_rank);
    for (RankPlace& place : places) place.domain = static_cast<std::int32_t>(random() % 2);
    const RankLayout layout = arrange(places, nodes, 0);
    std::set<std::int32_t> seen;
    for (NodeId node = 0; node < nodes; ++node) {
      const NodeRanks& ranks = layout.nodes[static_cast<std::size_t>(node)];
      std::set<std::int32_t> locals;
      for (const Ranks& domain : ranks.domains) {
        EXPECT_FALSE(domain.empty());
        locals.insert(domain.begin(), domain.end());
      }
      EXPECT_EQ(locals.size(), ranks.ranks.size());
      for (std::size_t local = 0; local < ranks.ranks.size(); ++local) {
        const auto rank = static_cast<std::size_t>(ranks.ranks[local]);
        EXPECT_EQ(node_of_rank[rank], node);
        EXPECT_EQ(layout.node_of_rank[rank], node);
        EXPECT_EQ(layout.local_of_rank[rank], static_cast<std::int32_t>(local));
        EXPECT_TRUE(seen.insert(ranks.ranks[local]).second);
      }
    }
    EXPECT_EQ(seen.size(), places.size());
  }
}

TEST(StretchOf, StretchesFollowEachOtherAndDifferByOne) {
  for (const std::int64_t elements : {0, 1, 2, 7, 64, 1000003}) {
    for (const std::int64_t parts : {1, 2, 3, 8, 13}) {
      std::int64_t begin = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Stretch stretch = stretch_of(elements, parts, part);
        EXPECT_EQ(stretch.begin, begin);
        EXPECT_GE(stretch.end - stretch.begin, elements / parts);
        EXPECT_LE(stretch.end - stretch.begin, elements / parts + 1);
        begin = stretch.end;
      }
      EXPECT_EQ(begin, elements);
    }
  }
}

/// Files as Linux has them in /sys/devices/system/node, for as long as it lives.
class NodeFiles {
 public:
  NodeFiles() { mkdtemp(directory_.data()); }
  ~NodeFiles() { std::filesystem::remove_all(directory_); }
  NodeFiles(const NodeFiles&) = delete;
  NodeFiles& operator=(const NodeFiles&) = delete;

  [[nodiscard]] const std::string& directory() const { return directory_; }
  void set_online(const std::string& list) const { std::ofstream(directory_ + "/online") << list << "\n"; }
  void add(unsigned domain, const std::string& processors) const {
    const std::string node = directory_ + "/node" + std::to_string(domain);
    std::filesystem::create_directory(node);
    std::ofstream(node + "/cpulist") << processors << "\n";
  }
  /// Of a node that hwloc's synthetic description says.
  void add_all(const std::string& synthetic) const {
    hwloc_topology_t topology = nullptr;
    ASSERT_EQ(hwloc_topology_init(&topology), 0);
    EXPECT_EQ(hwloc_topology_set_synthetic(topology, synthetic.c_str()), 0);
    EXPECT_EQ(hwloc_topology_load(topology), 0);
    std::string online;
    for (hwloc_obj_t domain = nullptr;
         (domain = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, domain)) != nullptr;) {
      online += (online.empty() ? "" : ",") + std::to_string(domain->os_index);
      char* list = nullptr;
      EXPECT_GE(hwloc_bitmap_list_asprintf(&list, domain->cpuset), 0);
      add(domain->os_index, list);
      std::free(list);
    }
    set_online(online);
    hwloc_topology_destroy(topology);
  }

 private:
  std::string directory_ = "/tmp/libcoll-nodes-XXXXXX";
};

TEST(RankLayout, RanksAddUpByDomainUnlessEachHasOne) {
  const auto node_of = [](const std::vector<std::int32_t>& domains) {
    std::vector<RankPlace> ranks;
    for (std::size_t rank = 0; rank < domains.size(); ++rank) {
      ranks.push_back({0, static_cast<std::int32_t>(rank), domains[rank]});
    }
    return arrange(ranks, 1, 0).nodes.front();
  };
  EXPECT_FALSE(adds_up_by_domain(node_of({0, 0, 0})));
  EXPECT_FALSE(adds_up_by_domain(node_of({2, 0, 1})));
  EXPECT_TRUE(adds_up_by_domain(node_of({1, 0, 1})));
  const NodeRanks node = node_of({1, 0, 1, -1, 1});
  // Local 1 and its domain's others share 10 elements.
  std::int64_t end = 0;
  for (const std::int32_t local : domain_of(node, 1)) {
    const Stretch stretch = stretch_in_domain(node, local, 10);
    EXPECT_EQ(stretch.begin, end);
    end = stretch.end;
  }
  EXPECT_EQ(end, 10);
}

/// A description of a node, processors, and the domain they should be said to belong to.
using Binding = std::tuple<const char*, const char*, std::int32_t>;

class Placement : public testing::TestWithParam<Binding> {};

TEST_P(Placement, IsTheDomainOfAllItsProcessors) {
  const auto& [structure, cpus, expected] = GetParam();
  const Result<std::int32_t> domain = numa_domain(structure, cpus);
  ASSERT_TRUE(domain.ok()) << domain.error().message;
  EXPECT_EQ(*domain, expected);
  const NodeFiles files;
  files.add_all(structure);
  EXPECT_EQ(numa_domain_by_files(files.directory(), cpus).value(), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, Placement,
    testing::Values(Binding{"core:2 pu:1", "0-1", 0},                          // one socket, one memory
                    Binding{"core:2 pu:1", "1", 0},                            //
                    Binding{"numa:2 core:4 pu:1", "0-3", 0},                   // two sockets
                    Binding{"numa:2 core:4 pu:1", "4-7", 1},                   //
                    Binding{"numa:2 core:4 pu:1", "6", 1},                     //
                    Binding{"numa:2 core:4 pu:1", "3-4", -1},                  // across both
                    Binding{"numa:2 core:4 pu:1", "0-7", -1},                  // not bound at all
                    Binding{"package:2 numa:4 core:8 pu:2", "112-113", 7},     // four domains per socket
                    Binding{"package:2 numa:4 core:8 pu:2", "15,17", -1},      // neighbouring domains
                    Binding{"package:2 [numa] die:2 core:2 pu:2", "8-15", 1},  // memory on the package
                    Binding{"package:2 [numa] [numa] core:4 pu:1", "4-7", 2},  // two memories: the first of them
                    Binding{"numa:64 core:64 pu:2", "8064-8191", 63},          // more than a cpu_set_t's 1024
                    Binding{"numa:64 core:64 pu:2", "4100", 32},               // 128 processors a domain
                    Binding{"numa:64 core:64 pu:2", "127-128", -1},            //
                    Binding{"numa:2 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)", "1,3", 1}));  // numbered round robin

TEST(PlacementByFiles, MemoryWithoutProcessorsBelongsToNobody) {
  const NodeFiles files;
  files.set_online("0-1,4");
  files.add(0, "0-3,8");
  files.add(1, "");
  files.add(4, "4-7");
  EXPECT_EQ(numa_domain_by_files(files.directory(), "3,8").value(), 0);
  EXPECT_EQ(numa_domain_by_files(files.directory(), "5").value(), 2);
  EXPECT_EQ(numa_domain_by_files(files.directory(), "3-4").value(), -1);
  EXPECT_EQ(numa_domain_by_files(files.directory(), "").value(), -1);
}

TEST(PlacementErrors, AreSaid) {
  EXPECT_FALSE(numa_domain("numa:two", "0").ok());
  EXPECT_FALSE(numa_domain("core:2 pu:1", "none").ok());
  const NodeFiles files;
  EXPECT_FALSE(numa_domain_by_files(files.directory(), "0").ok());
  files.set_online("0-1");
  EXPECT_FALSE(numa_domain_by_files(files.directory(), "0").ok());
  files.add(0, "none");
  EXPECT_FALSE(numa_domain_by_files(files.directory(), "0").ok());
}

/// A description of a node, what its ranks are bound to, and the cores that they should get.
struct FreeCores {
  const char* structure;
  std::vector<std::string> bindings;
  std::vector<std::string> expected;
};

class FreeCore : public testing::TestWithParam<FreeCores> {};

TEST_P(FreeCore, IsNearAndNoRanks) {
  const FreeCores& node = GetParam();
  for (std::size_t rank = 0; rank < node.bindings.size(); ++rank) {
    const Result<std::string> core = free_core(node.structure, node.bindings, rank);
    ASSERT_TRUE(core.ok()) << core.error().message;
    EXPECT_EQ(*core, node.expected[rank]) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, FreeCore,
    testing::Values(FreeCores{"core:4 pu:1", {"0", "1"}, {"2", "3"}},
                    FreeCores{"core:4 pu:1", {"0", "1", "2"}, {"3", "3", "3"}},  // fewer than ranks
                    FreeCores{"core:2 pu:1", {"0", "1"}, {"", ""}},              // none
                    FreeCores{"core:4 pu:1", {"0", ""}, {"", ""}},               // a rank that may be anywhere
                    FreeCores{"core:4 pu:2", {"0-1", "2"}, {"4-5", "6-7"}},      // half a core is not free
                    FreeCores{
                        "numa:2 core:4 pu:1", {"0", "4", "1", "5"}, {"2", "6", "3", "7"}},     // each in its own domain
                    FreeCores{"numa:2 core:2 pu:1", {"0", "1", "2"}, {"3", "3", "3"}},         // a full domain
                    FreeCores{"numa:2 core:4 pu:1", {"2-5"}, {"0"}},                           // across both
                    FreeCores{"numa:2 core:2 pu:1(indexes=0,2,1,3)", {"0", "1"}, {"2", "3"}},  // numbered round robin
                    FreeCores{"numa:64 core:64 pu:2", {"8064-8189"}, {"8190-8191"}}));  // more than a cpu_set_t's 1024

TEST(FreeCoreErrors, AreSaid) {
  EXPECT_FALSE(free_core("numa:two", {"0"}, 0).ok());
  EXPECT_FALSE(free_core("core:2 pu:1", {"none"}, 0).ok());
}

TEST(BindThread, TakesWhatTheProcessHas) {
  const Result<std::string> all = bound_processors();
  ASSERT_TRUE(all.ok()) << all.error().message;
  std::thread thread([] {
    const std::string here = std::to_string(sched_getcpu());
    EXPECT_TRUE(bind_thread(pthread_self(), here).ok());
    cpu_set_t found;
    CPU_ZERO(&found);
    EXPECT_EQ(sched_getaffinity(0, sizeof found, &found), 0);
    EXPECT_EQ(CPU_COUNT(&found), 1);
    EXPECT_TRUE(CPU_ISSET(std::stoi(here), &found));
    EXPECT_FALSE(bind_thread(pthread_self(), "100000").ok());
    EXPECT_FALSE(bind_thread(pthread_self(), "").ok());
    EXPECT_FALSE(bind_thread(pthread_self(), "none").ok());
  });
  thread.join();
}

TEST(PlacementOfThisProcess, CanBeRead) {
  const Result<std::int32_t> domain = numa_domain();
  ASSERT_TRUE(domain.ok()) << domain.error().message;
  EXPECT_GE(*domain, -1);
}

}  // namespace
}  // namespace libcoll::node_rank_layout_test

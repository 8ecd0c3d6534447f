// MSCCL XML: an interpreter of our own runs the file symbolically, with thread blocks as streams in random
// order and little room on the connections, and looks at what every output chunk ends up as.
#include <algorithm>
#include <deque>
#include <map>
#include <pugixml.hpp>
#include <random>
#include <set>

#include "planner/schedule/reverse.h"
#include "planner/schedule/xml.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::msccl_test {

using namespace schedule;
using namespace test;
using namespace topology;

namespace {

/// The summands of a chunk: (rank, input chunk) of each; sorted, so that a double count shows.
using Value = std::vector<std::pair<int, int>>;

struct Address {
  std::string buffer;
  int offset = 0;
  friend bool operator==(const Address&, const Address&) = default;
};

struct Instruction {
  std::string type;
  Address source;
  Address destination;
  int count = 0;
  int depid = -1;
  int deps = -1;
  bool hasdep = false;
};

struct ThreadBlock {
  int send = -1;
  int receive = -1;
  int channel = 0;
  std::vector<Instruction> steps;
  std::size_t done = 0;
};

struct Gpu {
  std::map<std::string, int> sizes;  ///< of the buffers i, o, s
  std::vector<ThreadBlock> blocks;
  std::map<std::string, std::vector<Value>> memory;
};

struct Message {
  std::vector<Value> values;
  Address source;
  Address destination;
};

struct Algorithm {
  std::map<std::string, std::string> attributes;
  std::vector<Gpu> gpus;
};

Instruction read_instruction(const pugi::xml_node& node) {
  Instruction i;
  i.type = node.attribute("type").value();
  i.source = {node.attribute("srcbuf").value(), node.attribute("srcoff").as_int(-99)};
  i.destination = {node.attribute("dstbuf").value(), node.attribute("dstoff").as_int(-99)};
  i.count = node.attribute("cnt").as_int(-99);
  i.depid = node.attribute("depid").as_int(-99);
  i.deps = node.attribute("deps").as_int(-99);
  i.hasdep = node.attribute("hasdep").as_int(-99) == 1;
  return i;
}

Algorithm parse(const std::string& text) {
  Algorithm algorithm;
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(text.c_str()));
  const pugi::xml_node root = document.child("algo");
  for (const auto& a : root.attributes()) algorithm.attributes[a.name()] = a.value();
  for (const auto& gpu_node : root.children("gpu")) {
    EXPECT_EQ(gpu_node.attribute("id").as_int(-1), static_cast<int>(algorithm.gpus.size()));
    Gpu& gpu = algorithm.gpus.emplace_back();
    for (const char* buffer : {"i", "o", "s"}) {
      gpu.sizes[buffer] = gpu_node.attribute((std::string(buffer) + "_chunks").c_str()).as_int(-1);
      gpu.memory[buffer].resize(static_cast<std::size_t>(gpu.sizes[buffer]));
    }
    for (const auto& block_node : gpu_node.children("tb")) {
      EXPECT_EQ(block_node.attribute("id").as_int(-1), static_cast<int>(gpu.blocks.size()));
      ThreadBlock& block = gpu.blocks.emplace_back();
      block.send = block_node.attribute("send").as_int(-99);
      block.receive = block_node.attribute("recv").as_int(-99);
      block.channel = block_node.attribute("chan").as_int(-99);
      for (const auto& step_node : block_node.children("step")) {
        EXPECT_EQ(step_node.attribute("s").as_int(-1), static_cast<int>(block.steps.size()));
        block.steps.push_back(read_instruction(step_node));
      }
    }
  }
  return algorithm;
}

// --- The rules of the format that can be seen without running it (reference note, sections tb and step). ---

void check_block(const Gpu& gpu, const ThreadBlock& block, std::size_t max_steps) {
  EXPECT_LE(block.steps.size(), max_steps);
  EXPECT_LT(block.channel, 32);
  bool pending_nop = false;
  for (const Instruction& step : block.steps) {
    EXPECT_LE(step.count, 71);
    if (step.type == "nop") {
      EXPECT_EQ(step.count, 0);
      EXPECT_GE(step.depid, 0);
      pending_nop = true;
      continue;
    }
    EXPECT_GE(step.count, 1);
    EXPECT_TRUE(!pending_nop || step.depid >= 0);  // a nop chain ends in a step with a dependency of its own
    pending_nop = false;
    EXPECT_EQ(step.type == "s", block.send >= 0);
    EXPECT_EQ(step.type == "r" || step.type == "rrc", block.receive >= 0);
    EXPECT_EQ(step.depid >= 0, step.deps >= 0);
    if (step.depid < 0) continue;
    ASSERT_LT(static_cast<std::size_t>(step.depid), gpu.blocks.size());
    const ThreadBlock& other = gpu.blocks[static_cast<std::size_t>(step.depid)];
    EXPECT_NE(&other, &block);
    ASSERT_LT(static_cast<std::size_t>(step.deps), other.steps.size());
    EXPECT_TRUE(other.steps[static_cast<std::size_t>(step.deps)].hasdep);
  }
  EXPECT_FALSE(pending_nop);
}

void check_rules(const Algorithm& algorithm, std::size_t max_steps, std::size_t max_blocks) {
  const auto& a = algorithm.attributes;
  for (const char* name : {"name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace", "outofplace",
                           "minBytes", "maxBytes"}) {
    EXPECT_TRUE(a.contains(name)) << name;
  }
  EXPECT_LE(a.at("name").size(), 63U);
  const int ranks = static_cast<int>(algorithm.gpus.size());
  EXPECT_EQ(std::stoi(a.at("ngpus")), ranks);
  const bool rooted = a.at("coll") == "broadcast" || a.at("coll") == "reduce";
  EXPECT_TRUE(rooted || std::stoi(a.at("nchunksperloop")) % ranks == 0);
  std::map<std::tuple<int, int, int>, int> senders;
  std::map<std::tuple<int, int, int>, int> receivers;
  int max_channel = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Gpu& gpu = algorithm.gpus[static_cast<std::size_t>(rank)];
    EXPECT_LE(gpu.blocks.size(), max_blocks);
    std::size_t elements = 1 + algorithm.gpus.size() + gpu.blocks.size();
    std::map<int, std::set<int>> send_peers;
    std::map<int, std::set<int>> receive_peers;
    for (const ThreadBlock& block : gpu.blocks) {
      EXPECT_NE(block.send, rank);
      EXPECT_NE(block.receive, rank);
      EXPECT_LT(std::max(block.send, block.receive), ranks);
      max_channel = std::max(max_channel, block.channel);
      elements += block.steps.size();
      check_block(gpu, block, max_steps);
      if (block.send >= 0) ++senders[{rank, block.send, block.channel}];
      if (block.receive >= 0) ++receivers[{block.receive, rank, block.channel}];
      if (block.send >= 0) send_peers[block.channel].insert(block.send);
      if (block.receive >= 0) receive_peers[block.channel].insert(block.receive);
    }
    EXPECT_LE(elements, 4096U);
    for (const auto& [channel, peers] : send_peers) EXPECT_LE(peers.size(), 32U) << channel;
    for (const auto& [channel, peers] : receive_peers) EXPECT_LE(peers.size(), 32U) << channel;
  }
  EXPECT_EQ(std::stoi(a.at("nchannels")), max_channel + 1);
  EXPECT_EQ(senders, receivers);  // every connection has one of each …
  for (const auto& [connection, count] : senders) EXPECT_EQ(count, 1);
}

/// The NCCL-style reader: no declaration, one space between attributes, no tabs, no escapes.
void check_text(const std::string& text) {
  EXPECT_EQ(text.rfind("<algo name=\"", 0), 0U);
  EXPECT_EQ(text.find_first_of("\t&?'"), std::string::npos);
  std::size_t line_begin = 0;
  while (line_begin < text.size()) {
    const std::size_t line_end = text.find('\n', line_begin);
    const std::string line = text.substr(line_begin, line_end - line_begin);
    EXPECT_EQ(line.find("  ", line.find('<')), std::string::npos) << line;
    line_begin = line_end + 1;
  }
}

// --- Running it. ---

class Interpreter {
 public:
  Interpreter(Algorithm algorithm, unsigned seed, std::size_t room, bool in_place)
      : algorithm_(std::move(algorithm)), random_(seed), room_(room), in_place_(in_place) {
    for (std::size_t rank = 0; rank < algorithm_.gpus.size(); ++rank) {
      auto& input = memory(algorithm_.gpus[rank], "i");
      for (std::size_t c = 0; c < input.size(); ++c) input[c] = {{static_cast<int>(rank), static_cast<int>(c)}};
    }
  }

  /// False when it stops with work left: a deadlock.
  bool run() {
    std::vector<std::pair<std::size_t, std::size_t>> streams;
    for (std::size_t g = 0; g < algorithm_.gpus.size(); ++g) {
      for (std::size_t b = 0; b < algorithm_.gpus[g].blocks.size(); ++b) streams.emplace_back(g, b);
    }
    bool moved = true;
    while (moved) {
      moved = false;
      std::shuffle(streams.begin(), streams.end(), random_);
      for (const auto& [g, b] : streams) {
        // A random burst per turn, so that streams drift far apart.
        for (std::size_t burst = 1 + random_() % 4; burst > 0 && advance(g, b); --burst) moved = true;
      }
    }
    for (const Gpu& gpu : algorithm_.gpus) {
      for (const ThreadBlock& block : gpu.blocks) {
        if (block.done != block.steps.size()) return false;
      }
    }
    for (const auto& [connection, queue] : connections_) EXPECT_TRUE(queue.empty());
    return true;
  }

  std::vector<Value> output(std::size_t rank) { return memory(algorithm_.gpus[rank], "o"); }

 private:
  std::vector<Value>& memory(Gpu& gpu, const std::string& buffer) {
    return gpu.memory.at(in_place_ && buffer == "o" ? "i" : buffer);
  }
  Value& at(Gpu& gpu, const Address& address, int i) {
    auto& chunks = memory(gpu, address.buffer);
    EXPECT_GE(address.offset + i, 0);
    return chunks.at(static_cast<std::size_t>(address.offset) + static_cast<std::size_t>(i));
  }

  bool advance(std::size_t rank, std::size_t id) {
    Gpu& gpu = algorithm_.gpus[rank];
    ThreadBlock& block = gpu.blocks[id];
    if (block.done == block.steps.size()) return false;
    const Instruction& step = block.steps[block.done];
    if (step.depid >= 0 &&
        gpu.blocks[static_cast<std::size_t>(step.depid)].done <= static_cast<std::size_t>(step.deps)) {
      return false;
    }
    if (!execute(gpu, static_cast<int>(rank), block, step)) return false;
    ++block.done;
    return true;
  }

  bool execute(Gpu& gpu, int rank, const ThreadBlock& block, const Instruction& step) {
    if (step.type == "nop") return true;
    if (step.type == "cpy") {
      for (int i = 0; i < step.count; ++i) at(gpu, step.destination, i) = at(gpu, step.source, i);
      return true;
    }
    if (step.type == "s") {
      auto& queue = connections_[{rank, block.send, block.channel}];
      if (queue.size() >= room_) return false;
      Message message{{}, step.source, step.destination};
      for (int i = 0; i < step.count; ++i) {
        message.values.push_back(at(gpu, step.source, i));
        EXPECT_FALSE(message.values.back().empty()) << "sent before anything was there";
      }
      queue.push_back(std::move(message));
      return true;
    }
    auto& queue = connections_[{block.receive, rank, block.channel}];
    if (queue.empty()) return false;
    take(gpu, step, queue.front());
    queue.pop_front();
    return true;
  }

  void take(Gpu& gpu, const Instruction& step, const Message& message) {
    ASSERT_EQ(message.values.size(), static_cast<std::size_t>(step.count));
    ASSERT_TRUE(step.type == "r" || step.type == "rrc") << step.type;
    EXPECT_EQ(message.destination, step.destination);
    EXPECT_TRUE(step.type == "rrc" || message.source == step.source);  // what the verifier compares
    for (int i = 0; i < step.count; ++i) {
      Value value = message.values[static_cast<std::size_t>(i)];
      if (step.type == "rrc") {
        const Value& own = at(gpu, step.source, i);
        value.insert(value.end(), own.begin(), own.end());
        std::sort(value.begin(), value.end());
      }
      at(gpu, step.destination, i) = std::move(value);
    }
  }

  Algorithm algorithm_;
  std::mt19937 random_;
  std::size_t room_;
  bool in_place_;
  std::map<std::tuple<int, int, int>, std::deque<Message>> connections_;
};

/// What MPI says the output is, chunk by chunk.
std::vector<Value> expected_output(const Schedule& schedule, int rank) {
  const int n = schedule.topology.host_count();
  const int chunks = schedule.chunks_per_shard;
  std::vector<Value> output;
  const auto sum_of = [&](int input) {
    Value value;
    for (int r = 0; r < n; ++r) value.emplace_back(r, input);
    return value;
  };
  const bool one_part = schedule.collective == Collective::reduce_scatter || is_rooted(schedule.collective);
  const int parts = one_part ? 1 : n;
  for (int part = 0; part < parts; ++part) {
    for (int c = 0; c < chunks; ++c) {
      if (schedule.collective == Collective::allgather) output.push_back({{part, c}});
      if (schedule.collective == Collective::alltoall) output.push_back({{part, rank * chunks + c}});
      if (schedule.collective == Collective::reduce_scatter) output.push_back(sum_of(rank * chunks + c));
      if (schedule.collective == Collective::allreduce) output.push_back(sum_of(part * chunks + c));
      if (schedule.collective == Collective::broadcast) output.push_back({{schedule.root, c}});
      if (schedule.collective == Collective::reduce) output.push_back(sum_of(c));
    }
  }
  return output;
}

void expect_right(const Schedule& schedule, Dialect dialect, std::size_t max_steps, std::size_t max_blocks,
                  unsigned seeds = 4) {
  ASSERT_EQ(verify(schedule), std::vector<std::string>{});
  const auto text = write_msccl(schedule, dialect);
  ASSERT_TRUE(text.ok()) << text.error().message;
  check_text(*text);
  const Algorithm algorithm = parse(*text);
  check_rules(algorithm, max_steps, max_blocks);
  for (unsigned seed = 0; seed < seeds; ++seed) {
    for (const bool in_place : {false, true}) {
      if (in_place && algorithm.attributes.at("inplace") != "1") continue;
      Interpreter interpreter(algorithm, seed, 1 + seed % 3, in_place);
      ASSERT_TRUE(interpreter.run()) << name_of(schedule) << ": deadlock with seed " << seed;
      for (int rank = 0; rank < schedule.topology.host_count(); ++rank) {
        if (schedule.collective == Collective::reduce && rank != schedule.root) continue;  // no output there
        ASSERT_EQ(interpreter.output(static_cast<std::size_t>(rank)), expected_output(schedule, rank))
            << name_of(schedule) << " rank " << rank << " seed " << seed << (in_place ? " in place" : "");
      }
    }
  }
}

void expect_right_in_all_dialects(const Schedule& schedule) {
  expect_right(schedule, Dialect::msccl, 256, 216);
  expect_right(schedule, Dialect::rccl, 64, 64);
  if (schedule.collective == Collective::allgather || schedule.collective == Collective::alltoall) {
    expect_right(schedule, Dialect::verifier, 256, 1024);
  }
}

TEST(Msccl, ComputesWhatItShould) {
  for (const Schedule& schedule : all_small_schedules()) expect_right_in_all_dialects(schedule);
  expect_right_in_all_dialects(*concatenate(ring_reduce_scatter(6, 2), ring_allgather(6, 3)));
}

TEST(Msccl, OneRankCopiesItsInput) {
  for (const Collective collective :
       {Collective::allgather, Collective::reduce_scatter, Collective::allreduce, Collective::alltoall}) {
    expect_right_in_all_dialects(make_schedule(collective, make_topology("one", 1, 0, {}), 100, 0));
  }
}

TEST(Msccl, WaitsForSeveralBlocksByNops) {
  // Node 0 takes halves of shard 1 from 1 and 2 and forwards the whole to 3: one send, two blocks to wait for.
  Schedule schedule = make_schedule(Collective::allgather, complete_graph(4), 2, 3);
  for (ShardId w = 0; w < 4; ++w) {
    for (NodeId v = 0; v < 4; ++v) {
      if (v != w && w != 1) schedule.transfers.push_back({w, 0, 2, w, v, 1, direct, TransferKind::copy});
    }
  }
  schedule.transfers.push_back({1, 0, 1, 1, 0, 1, direct, TransferKind::copy});
  schedule.transfers.push_back({1, 0, 2, 1, 2, 1, direct, TransferKind::copy});
  schedule.transfers.push_back({1, 1, 1, 2, 0, 2, direct, TransferKind::copy});
  schedule.transfers.push_back({1, 0, 2, 0, 3, 3, direct, TransferKind::copy});
  finish(schedule);
  expect_right_in_all_dialects(schedule);
  EXPECT_NE(write_msccl(schedule, Dialect::msccl)->find("type=\"nop\""), std::string::npos);
}

TEST(Msccl, SumsChunksThatLieApart) {
  // At b the first chunk of shard w has been summed into scratch when both chunks of c arrive; the second is
  // still in the input.
  Schedule schedule = make_schedule(Collective::reduce_scatter, complete_graph(4), 2, 3);
  for (ShardId w = 0; w < 4; ++w) {
    const NodeId a = (w + 1) % 4;
    const NodeId b = (w + 2) % 4;
    const NodeId c = (w + 3) % 4;
    schedule.transfers.push_back({w, 0, 1, a, b, 1, direct, TransferKind::reduce});
    schedule.transfers.push_back({w, 0, 2, c, b, 2, direct, TransferKind::reduce});
    schedule.transfers.push_back({w, 0, 2, b, w, 3, direct, TransferKind::reduce});
    schedule.transfers.push_back({w, 1, 1, a, w, 3, direct, TransferKind::reduce});
  }
  finish(schedule);
  expect_right_in_all_dialects(schedule);
}

TEST(Msccl, WaitsForTheLastOfSeveralChunks) {
  // Chunk 1 travels ahead of chunk 0 on the first hop; the second hop sends both at once.
  Schedule schedule = make_schedule(Collective::allgather, one_way_ring(3), 2, 3);
  for (ShardId w = 0; w < 3; ++w) {
    schedule.transfers.push_back({w, 1, 1, w, (w + 1) % 3, 1, direct, TransferKind::copy});
    schedule.transfers.push_back({w, 0, 1, w, (w + 1) % 3, 2, direct, TransferKind::copy});
    schedule.transfers.push_back({w, 0, 2, (w + 1) % 3, (w + 2) % 3, 3, direct, TransferKind::copy});
  }
  finish(schedule);
  expect_right_in_all_dialects(schedule);
  expect_right_in_all_dialects(*reverse(schedule));
}

TEST(Msccl, SplitsLongMessagesAndFullBlocks) {
  // 200 chunks are three messages of at most 71; RCCL's 64 steps per block need a second channel.
  expect_right_in_all_dialects(ring_allgather(4, 200));
  expect_right(*concatenate(ring_reduce_scatter(12, 200), ring_allgather(12, 200)), Dialect::rccl, 64, 64, 2);
  EXPECT_NE(write_msccl(ring_alltoall(12, 1), Dialect::rccl)->find("nchannels=\"2\""), std::string::npos);
  expect_right_in_all_dialects(ring_alltoall(12, 1));
}

TEST(Msccl, SpreadsManyPeersOverChannels) {
  // 40 ranks: 39 peers, of which a channel takes 32; one block per connection and direction is too much for rccl.
  const Schedule schedule = complete_alltoall(40);
  expect_right(schedule, Dialect::msccl, 256, 216, 1);
  const auto rccl = write_msccl(schedule, Dialect::rccl);
  ASSERT_FALSE(rccl.ok());
  EXPECT_EQ(rccl.error().message, "the rccl dialect takes at most 64 thread blocks per rank, this schedule needs 79");
}

TEST(Msccl, SpellsCollectivesAsTheReaderWants) {
  const auto collective = [](const Schedule& schedule, Dialect dialect) {
    return parse(*write_msccl(schedule, dialect)).attributes.at("coll");
  };
  EXPECT_EQ(collective(ring_reduce_scatter(3), Dialect::msccl), "reduce_scatter");
  EXPECT_EQ(collective(ring_reduce_scatter(3), Dialect::rccl), "reducescatter");
  EXPECT_EQ(collective(complete_alltoall(3), Dialect::rccl), "alltoall");
  EXPECT_EQ(collective(complete_alltoall(3), Dialect::verifier), "allreduce");  // the verifier's own spelling
  EXPECT_EQ(collective(ring_allgather(3), Dialect::verifier), "allgather");
  EXPECT_EQ(collective(ring_broadcast(3, 1), Dialect::msccl), "broadcast");
  EXPECT_EQ(collective(tree_reduce(2), Dialect::rccl), "reduce");
}

TEST(Msccl, KeepsNamesPlain) {
  Schedule schedule = ring_allgather(3);
  schedule.algorithm = std::string("a\"b<c>&\t") + std::string(300, 'x');
  expect_right(schedule, Dialect::msccl, 256, 216, 1);
}

TEST(Msccl, RefusesWhatADialectCannotSay) {
  EXPECT_FALSE(write_msccl(ring_reduce_scatter(3), Dialect::verifier).ok());
  EXPECT_FALSE(write_msccl(tree_allreduce(2), Dialect::verifier).ok());
  EXPECT_FALSE(write_msccl(ring_broadcast(3, 0), Dialect::verifier).ok());
  // 4·8192 chunks: one more than offsets of 16 bits reach.
  EXPECT_FALSE(write_msccl(ring_allgather(4, 8192), Dialect::msccl).ok());
  // More steps than an XML reader takes: 63 links' worth of 63·62/2 blocks.
  EXPECT_FALSE(write_msccl(ring_alltoall(64), Dialect::msccl).ok());
  Schedule wrong = ring_allgather(4);
  wrong.transfers.pop_back();
  const auto refused = write_msccl(wrong, Dialect::msccl);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("the schedule is wrong"), std::string::npos);
}

TEST(Msccl, ParsesDialects) {
  EXPECT_EQ(*parse_dialect("msccl"), Dialect::msccl);
  EXPECT_EQ(*parse_dialect("rccl"), Dialect::rccl);
  EXPECT_EQ(*parse_dialect("verifier"), Dialect::verifier);
  EXPECT_FALSE(parse_dialect("nccl").ok());
}

}  // namespace
}  // namespace libcoll::msccl_test

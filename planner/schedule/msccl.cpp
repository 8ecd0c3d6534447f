// MSCCL XML. A thread block is a sequential stream with at most one send peer and one receive peer; here each
// connection (source, destination, channel) has one sending block at its source and one receiving block at its
// destination. Emission follows the canonical order of transfers on both ends, which keeps the connections FIFO
// and, because every block follows one global order, free of deadlock even with one message in flight.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "planner/base/index.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"

namespace libcoll::schedule {

using namespace topology;

namespace {

/// What a reader of MSCCL XML takes and how it spells things.
struct MscclReader {
  Dialect dialect;
  std::string_view name;
  std::string_view reduce_scatter;
  std::string_view alltoall;
  bool blocks_only;        ///< knows allgather and alltoall, nothing else
  std::size_t max_blocks;  ///< thread blocks per rank
  std::size_t max_steps;   ///< steps per thread block
};
constexpr std::array<MscclReader, 3> readers{{
    {Dialect::msccl, "msccl", "reduce_scatter", "alltoall", false, 216, 256},
    {Dialect::rccl, "rccl", "reducescatter", "alltoall", false, 64, 64},
    // This reader expects "allreduce" for an all-to-all, on purpose.
    {Dialect::verifier, "verifier", "", "allreduce", true, 1024, 256},
}};

constexpr std::int32_t max_count = 71;      // chunks per step; all readers
constexpr std::int32_t max_offset = 32767;  // offsets are 16 bits wide in the runtimes
constexpr std::int32_t max_channels = 32;
constexpr std::int32_t peers_per_channel = 32;
constexpr std::int32_t max_dependency_block = 127;  // 8 bits wide in the runtimes
constexpr std::size_t max_elements = 4096;          // 1 + ranks + own blocks + own steps
constexpr std::size_t max_ranks = 1024;             // children per element
constexpr std::size_t max_name = 63;
constexpr std::int64_t max_bytes = std::int64_t{1} << 27;  // what the original takes when nothing is said

const MscclReader& reader_of(Dialect dialect) {
  return *std::find_if(readers.begin(), readers.end(), [&](const MscclReader& r) { return r.dialect == dialect; });
}

struct Place {
  char buffer = 'i';  ///< i: input, o: output, s: scratch
  std::int32_t offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
  [[nodiscard]] Place plus(std::int32_t chunks) const { return {buffer, offset + chunks}; }
};

/// A step of a thread block on the same rank.
struct StepId {
  std::int32_t block = -1;
  std::int32_t step = -1;
  friend bool operator==(const StepId&, const StepId&) = default;
};

struct Step {
  std::string_view type;
  Place source;
  Place destination;
  std::int32_t count = 0;
  StepId after;
  bool awaited = false;  ///< hasdep
};

struct Block {
  NodeId send = -1;
  NodeId receive = -1;
  std::int32_t channel = 0;
  std::vector<Step> steps;
};

struct Rank {
  std::vector<Block> blocks;
  std::int32_t scratch_chunks = 0;
};

/// Where data starts and where it must arrive: the buffers of each collective, in chunks.
class Layout {
 public:
  explicit Layout(const Schedule& schedule)
      : collective_(schedule.collective),
        root_(schedule.root),
        ranks_(schedule.topology.host_count()),
        chunks_(schedule.chunks_per_shard) {}

  [[nodiscard]] Place initial(ShardId shard, std::int32_t chunk) const {
    if (collective_ == Collective::allgather || is_rooted(collective_)) return {'i', chunk};
    if (collective_ == Collective::alltoall) return {'i', shard % ranks_ * chunks_ + chunk};
    return {'i', shard * chunks_ + chunk};
  }
  [[nodiscard]] bool belongs_in_output(NodeId rank, ShardId shard) const {
    if (collective_ == Collective::alltoall) return shard % ranks_ == rank;
    if (is_rooted(collective_)) return collective_ == Collective::broadcast || rank == root_;
    return collective_ != Collective::reduce_scatter || shard == rank;
  }
  /// Precondition: belongs_in_output.
  [[nodiscard]] Place output(ShardId shard, std::int32_t chunk) const {
    if (collective_ == Collective::reduce_scatter || is_rooted(collective_)) return {'o', chunk};
    if (collective_ == Collective::alltoall) return {'o', shard / ranks_ * chunks_ + chunk};
    return {'o', shard * chunks_ + chunk};
  }
  /// The shard whose output a rank must fill from its own input when nobody sends it.
  [[nodiscard]] ShardId own_shard(NodeId rank) const {
    if (is_rooted(collective_)) return root_;
    return collective_ == Collective::alltoall ? rank * ranks_ + rank : rank;
  }
  [[nodiscard]] std::int32_t chunks_per_loop() const { return is_rooted(collective_) ? chunks_ : ranks_ * chunks_; }
  [[nodiscard]] std::int32_t input_chunks() const {
    return collective_ == Collective::allgather ? chunks_ : chunks_per_loop();
  }
  [[nodiscard]] std::int32_t output_chunks() const {
    return collective_ == Collective::reduce_scatter ? chunks_ : chunks_per_loop();
  }

 private:
  Collective collective_;
  NodeId root_;
  std::int32_t ranks_;
  std::int32_t chunks_;
};

/// One message: `count` chunks, contiguous on both ends and in the receiver's own operand.
struct Message {
  Place source;       ///< at the sender
  Place destination;  ///< at the receiver
  Place operand;      ///< at the receiver: what a reduction combines with; else = source
  ShardId shard = 0;
  std::int32_t chunk = 0;
  std::int32_t count = 0;
};

class Emitter {
 public:
  Emitter(const Schedule& schedule, const MscclReader& reader)
      : schedule_(schedule),
        reader_(reader),
        layout_(schedule),
        ranks_(at(schedule.topology.host_count())),
        cells_(ranks_.size()),
        scratch_(ranks_.size()) {
    place_scratch();
    choose_channel_groups();
  }

  void emit() {
    for (const Transfer& transfer : schedule_.transfers) emit_transfer(transfer);
    for (NodeId rank = 0; rank < schedule_.topology.host_count(); ++rank) copy_own(rank);
    for (Rank& rank : ranks_) number_blocks(rank);
  }
  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  /// A chunk of a shard on a rank.
  struct Cell {
    Place place;
    StepId writer;
  };

  [[nodiscard]] std::int64_t key(ShardId shard, std::int32_t chunk) const {
    return std::int64_t{shard} * schedule_.chunks_per_shard + chunk;
  }
  Cell& cell(NodeId rank, ShardId shard, std::int32_t chunk) {
    const auto [entry, is_new] = cells_[at(rank)].try_emplace(key(shard, chunk));
    if (is_new) entry->second.place = layout_.initial(shard, chunk);
    return entry->second;
  }

  /// Chunks that pass through a rank get scratch of their own, in order of shard and chunk so that ranges of
  /// chunks stay contiguous.
  void place_scratch() {
    std::vector<std::set<std::int64_t>> passing(ranks_.size());
    for (const Transfer& transfer : schedule_.transfers) {
      if (layout_.belongs_in_output(transfer.to, transfer.shard)) continue;
      for (std::int32_t i = 0; i < transfer.chunk_count; ++i) {
        passing[at(transfer.to)].insert(key(transfer.shard, transfer.chunk_begin + i));
      }
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const std::int64_t chunk : passing[rank]) scratch_[rank].emplace(chunk, ranks_[rank].scratch_chunks++);
    }
  }

  /// Ranks with many peers spread them over channels, the same way seen from both ends.
  void choose_channel_groups() {
    std::vector<std::set<NodeId>> targets(ranks_.size());
    std::vector<std::set<NodeId>> sources(ranks_.size());
    for (const Transfer& transfer : schedule_.transfers) {
      targets[at(transfer.from)].insert(transfer.to);
      sources[at(transfer.to)].insert(transfer.from);
    }
    const auto crowded = [](const std::set<NodeId>& peers) { return peers.size() > at(peers_per_channel); };
    if (std::any_of(targets.begin(), targets.end(), crowded) || std::any_of(sources.begin(), sources.end(), crowded)) {
      channel_groups_ = (schedule_.topology.host_count() + peers_per_channel - 2) / peers_per_channel;
    }
  }
  [[nodiscard]] std::int32_t first_channel(NodeId from, NodeId to) const {
    if (channel_groups_ == 1) return 0;
    const std::int32_t hosts = schedule_.topology.host_count();
    return ((to - from + hosts) % hosts - 1) / peers_per_channel;
  }

  [[nodiscard]] Place destination(NodeId rank, ShardId shard, std::int32_t chunk) const {
    if (layout_.belongs_in_output(rank, shard)) return layout_.output(shard, chunk);
    return {'s', scratch_[at(rank)].at(key(shard, chunk))};
  }

  void emit_transfer(const Transfer& transfer) {
    const bool reduces = transfer.kind == TransferKind::reduce;
    const std::int32_t end = transfer.chunk_begin + transfer.chunk_count;
    Message message;
    for (std::int32_t chunk = transfer.chunk_begin; chunk < end; ++chunk) {
      const Place source = cell(transfer.from, transfer.shard, chunk).place;
      const Place target = destination(transfer.to, transfer.shard, chunk);
      const Place operand = reduces ? cell(transfer.to, transfer.shard, chunk).place : source;
      const bool extends =
          message.count > 0 && message.count < max_count && source == message.source.plus(message.count) &&
          target == message.destination.plus(message.count) && operand == message.operand.plus(message.count);
      if (!extends) {
        if (message.count > 0) emit_message(transfer, message);
        message = {source, target, operand, transfer.shard, chunk, 0};
      }
      ++message.count;
    }
    emit_message(transfer, message);
  }

  void emit_message(const Transfer& transfer, const Message& message) {
    const bool reduces = transfer.kind == TransferKind::reduce;
    const std::vector<StepId> sent_after = writers(transfer.from, message);
    const std::vector<StepId> received_after = reduces ? writers(transfer.to, message) : std::vector<StepId>{};
    const auto [sender, receiver] = connection(transfer, std::max<std::size_t>(1, sent_after.size()),
                                               std::max<std::size_t>(1, received_after.size()));
    append(transfer.from, sender, {"s", message.source, message.destination, message.count, {}, false}, sent_after);
    const StepId written =
        append(transfer.to, receiver,
               {reduces ? "rrc" : "r", message.operand, message.destination, message.count, {}, false}, received_after);
    for (std::int32_t i = 0; i < message.count; ++i) {
      Cell& arrived = cell(transfer.to, message.shard, message.chunk + i);
      arrived.place = message.destination.plus(i);
      arrived.writer = written;
    }
  }

  /// The last writes of the message's chunks on a rank, at most one per block: a block is sequential.
  std::vector<StepId> writers(NodeId rank, const Message& message) {
    std::map<std::int32_t, std::int32_t> last_step;
    for (std::int32_t i = 0; i < message.count; ++i) {
      const StepId writer = cell(rank, message.shard, message.chunk + i).writer;
      if (writer.block < 0) continue;
      std::int32_t& step = last_step.try_emplace(writer.block, writer.step).first->second;
      step = std::max(step, writer.step);
    }
    std::vector<StepId> result;
    result.reserve(last_step.size());
    for (const auto& [block, step] : last_step) result.push_back({block, step});
    return result;
  }

  /// The sending and the receiving block with room for this many more steps; a full pair is followed by one on
  /// the next free channel.
  std::pair<std::int32_t, std::int32_t> connection(const Transfer& transfer, std::size_t send_steps,
                                                   std::size_t receive_steps) {
    auto& pairs = connections_[{transfer.from, transfer.to}];
    if (!pairs.empty()) {
      const auto [sender, receiver] = pairs.back();
      if (block(transfer.from, sender).steps.size() + send_steps <= reader_.max_steps &&
          block(transfer.to, receiver).steps.size() + receive_steps <= reader_.max_steps) {
        return pairs.back();
      }
    }
    const std::int32_t channel =
        first_channel(transfer.from, transfer.to) + static_cast<std::int32_t>(pairs.size()) * channel_groups_;
    pairs.emplace_back(add_block(transfer.from, {transfer.to, -1, channel, {}}),
                       add_block(transfer.to, {-1, transfer.from, channel, {}}));
    return pairs.back();
  }

  std::int32_t add_block(NodeId rank, Block block) {
    std::vector<Block>& blocks = ranks_[at(rank)].blocks;
    blocks.push_back(std::move(block));
    return static_cast<std::int32_t>(blocks.size()) - 1;
  }
  Block& block(NodeId rank, std::int32_t id) { return ranks_[at(rank)].blocks[at(id)]; }

  /// Appends a step; all dependencies but the last become nops before it.
  StepId append(NodeId rank, std::int32_t id, Step step, const std::vector<StepId>& after) {
    std::vector<Step>& steps = block(rank, id).steps;
    std::vector<StepId> others;
    for (const StepId dependency : after) {
      if (dependency.block != id) others.push_back(dependency);
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      block(rank, others[i].block).steps[at(others[i].step)].awaited = true;
      if (i + 1 < others.size()) {
        steps.push_back({"nop", {'i', -1}, {'o', -1}, 0, others[i], false});
      } else {
        step.after = others[i];
      }
    }
    steps.push_back(step);
    return {id, static_cast<std::int32_t>(steps.size()) - 1};
  }

  /// What a rank keeps for itself still has to reach its output buffer.
  void copy_own(NodeId rank) {
    const ShardId shard = layout_.own_shard(rank);
    if (!layout_.belongs_in_output(rank, shard)) return;
    std::int32_t id = -1;
    for (std::int32_t chunk = 0; chunk < schedule_.chunks_per_shard; chunk += max_count) {
      if (cell(rank, shard, chunk).place.buffer != 'i') return;
      const std::int32_t count = std::min(max_count, schedule_.chunks_per_shard - chunk);
      if (id < 0 || block(rank, id).steps.size() >= reader_.max_steps) id = add_block(rank, {});
      append(rank, id, {"cpy", layout_.initial(shard, chunk), layout_.output(shard, chunk), count, {}, false}, {});
    }
  }

  /// Blocks in the order (send, receive, channel) of msccl-tools; receiving blocks, the only ones waited for,
  /// so get the small ids.
  static void number_blocks(Rank& rank) {
    std::vector<std::size_t> order(rank.blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&rank](std::size_t a, std::size_t b) {
      const Block& x = rank.blocks[a];
      const Block& y = rank.blocks[b];
      return std::tie(x.send, x.receive, x.channel) < std::tie(y.send, y.receive, y.channel);
    });
    std::vector<std::int32_t> new_id(order.size());
    std::vector<Block> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      new_id[order[i]] = static_cast<std::int32_t>(i);
      sorted.push_back(std::move(rank.blocks[order[i]]));
    }
    for (Block& block : sorted) {
      for (Step& step : block.steps) {
        if (step.after.block >= 0) step.after.block = new_id[at(step.after.block)];
      }
    }
    rank.blocks = std::move(sorted);
  }

  const Schedule& schedule_;
  const MscclReader& reader_;
  Layout layout_;
  std::vector<Rank> ranks_;
  std::int32_t channel_groups_ = 1;
  std::vector<std::unordered_map<std::int64_t, Cell>> cells_;
  std::vector<std::unordered_map<std::int64_t, std::int32_t>> scratch_;
  std::map<std::pair<NodeId, NodeId>, std::vector<std::pair<std::int32_t, std::int32_t>>> connections_;
};

// --- Limits. ---

Status over_limit(const MscclReader& reader, const std::string& what, std::int64_t value, std::int64_t limit) {
  return Error{"the " + std::string(reader.name) + " dialect takes at most " + std::to_string(limit) + " " + what +
               ", this schedule needs " + std::to_string(value)};
}

Status check_speakable(const Schedule& schedule, const MscclReader& reader) {
  const std::int64_t ranks = schedule.topology.host_count();
  const bool moves_blocks = schedule.collective == Collective::allgather || schedule.collective == Collective::alltoall;
  if (!moves_blocks && reader.blocks_only) {
    return Error{"the " + std::string(reader.name) + " dialect knows allgather and alltoall only, not " +
                 std::string(to_string(schedule.collective))};
  }
  if (at(ranks) > max_ranks) return over_limit(reader, "ranks", ranks, static_cast<std::int64_t>(max_ranks));
  const std::int64_t chunks = shards_in_vector(schedule) * schedule.chunks_per_shard;
  if (chunks > max_offset) return over_limit(reader, "chunks per buffer", chunks, max_offset);
  return {};
}

Status check_rank(const Rank& rank, const MscclReader& reader, std::size_t ranks) {
  const auto as_number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  if (rank.blocks.size() > reader.max_blocks) {
    return over_limit(reader, "thread blocks per rank", as_number(rank.blocks.size()), as_number(reader.max_blocks));
  }
  if (rank.scratch_chunks > max_offset) {
    return over_limit(reader, "chunks of scratch", rank.scratch_chunks, max_offset);
  }
  std::size_t elements = 1 + ranks + rank.blocks.size();
  for (const Block& block : rank.blocks) {
    elements += block.steps.size();
    if (block.channel >= max_channels) return over_limit(reader, "channels", block.channel + 1, max_channels);
    for (const Step& step : block.steps) {
      if (step.after.block > max_dependency_block) {
        return over_limit(reader, "thread blocks that others wait for", step.after.block + 1, max_dependency_block + 1);
      }
    }
  }
  if (elements > max_elements) {
    return over_limit(reader, "XML elements per rank", as_number(elements), as_number(max_elements));
  }
  return {};
}

// --- Text. The readers want one space between attributes, no declaration, no escapes. ---

void attribute(std::string& text, std::string_view name, std::string_view value) {
  text.append(" ").append(name).append("=\"").append(value).append("\"");
}
void attribute(std::string& text, std::string_view name, std::int64_t value) {
  attribute(text, name, std::to_string(value));
}

std::string plain_name(const Schedule& schedule) {
  std::string name = "libcoll_" + std::string(to_string(schedule.collective)) + "_" + schedule.algorithm;
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (!plain) c = '_';
  }
  return name.substr(0, max_name);
}

std::string_view collective_name(Collective collective, const MscclReader& reader) {
  if (collective == Collective::reduce_scatter) return reader.reduce_scatter;
  if (collective == Collective::alltoall) return reader.alltoall;
  return to_string(collective);
}

std::int32_t channel_count(const std::vector<Rank>& ranks) {
  std::int32_t channels = 1;
  for (const Rank& rank : ranks) {
    for (const Block& block : rank.blocks) channels = std::max(channels, block.channel + 1);
  }
  return channels;
}

void write_head(std::string& text, const Schedule& schedule, const MscclReader& reader, const Emitter& emitter) {
  text += "<algo";
  attribute(text, "name", plain_name(schedule));
  attribute(text, "proto", "Simple");
  attribute(text, "nchannels", channel_count(emitter.ranks()));
  attribute(text, "nchunksperloop", emitter.layout().chunks_per_loop());
  attribute(text, "ngpus", schedule.topology.host_count());
  attribute(text, "coll", collective_name(schedule.collective, reader));
  // These keep each chunk at one offset of input and output, so they are right for in-place calls as well; the
  // original takes `inplace` as the only case, and in place is how they are mostly called.
  const bool in_place = schedule.collective == Collective::allreduce || is_rooted(schedule.collective);
  attribute(text, "inplace", in_place ? 1 : 0);
  attribute(text, "outofplace", 1);
  attribute(text, "minBytes", 0);
  attribute(text, "maxBytes", max_bytes);
  text += ">\n";
}

void write_step(std::string& text, const Step& step, std::size_t position) {
  text += "      <step";
  attribute(text, "s", static_cast<std::int64_t>(position));
  attribute(text, "type", step.type);
  attribute(text, "srcbuf", std::string_view(&step.source.buffer, 1));
  attribute(text, "srcoff", step.source.offset);
  attribute(text, "dstbuf", std::string_view(&step.destination.buffer, 1));
  attribute(text, "dstoff", step.destination.offset);
  attribute(text, "cnt", step.count);
  attribute(text, "depid", step.after.block);
  attribute(text, "deps", step.after.step);
  attribute(text, "hasdep", step.awaited ? 1 : 0);
  text += "/>\n";
}

void write_block(std::string& text, const Block& block, std::size_t id) {
  text += "    <tb";
  attribute(text, "id", static_cast<std::int64_t>(id));
  attribute(text, "send", block.send);
  attribute(text, "recv", block.receive);
  attribute(text, "chan", block.channel);
  text += ">\n";
  for (std::size_t i = 0; i < block.steps.size(); ++i) write_step(text, block.steps[i], i);
  text += "    </tb>\n";
}

void write_rank(std::string& text, const Rank& rank, std::size_t id, const Layout& layout) {
  text += "  <gpu";
  attribute(text, "id", static_cast<std::int64_t>(id));
  attribute(text, "i_chunks", layout.input_chunks());
  attribute(text, "o_chunks", layout.output_chunks());
  attribute(text, "s_chunks", rank.scratch_chunks);
  text += ">\n";
  for (std::size_t i = 0; i < rank.blocks.size(); ++i) write_block(text, rank.blocks[i], i);
  text += "  </gpu>\n";
}

}  // namespace

Result<Dialect> parse_dialect(std::string_view text) {
  for (const MscclReader& reader : readers) {
    if (text == reader.name) return reader.dialect;
  }
  return Error{"unknown dialect '" + std::string(text) + "', expected msccl, rccl or verifier"};
}

Result<std::string> write_msccl(const Schedule& schedule, Dialect dialect) {
  const MscclReader& reader = reader_of(dialect);
  if (!schedule.wirings.empty()) return Error{"MSCCL has no word for rewiring the fabric"};
  if (const Status status = check_speakable(schedule, reader); !status.ok()) return status.error();
  const std::vector<std::string> faults = verify(schedule, 1);
  if (!faults.empty()) return Error{"the schedule is wrong: " + faults.front()};
  Schedule sorted = schedule;
  sort_transfers(sorted);
  Emitter emitter(sorted, reader);
  emitter.emit();
  std::string text;
  write_head(text, sorted, reader, emitter);
  for (std::size_t i = 0; i < emitter.ranks().size(); ++i) {
    const Rank& rank = emitter.ranks()[i];
    if (const Status status = check_rank(rank, reader, emitter.ranks().size()); !status.ok()) return status.error();
    write_rank(text, rank, i, emitter.layout());
  }
  return text + "</algo>\n";
}

}  // namespace libcoll::schedule

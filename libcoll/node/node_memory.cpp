#include "libcoll/node/node_memory.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "libcoll/base/page_size.h"

namespace libcoll::node {
namespace {

/// Names of the segments of a job that was killed while it set them up are of no use after this time.
constexpr std::chrono::seconds stale_age = std::chrono::minutes(10);

/// Phases of rounds, the two call orders, the ways of calls, then what is decided of copies.
std::size_t bytes_before_ways(std::int32_t processes) {
  return Phases::bytes(processes) + 2 * CallOrder::bytes(processes);
}
std::size_t bytes_before_choice(std::int32_t processes) {
  return bytes_before_ways(processes) + CallWays::bytes(processes);
}
std::size_t bytes_before_short_calls(std::int32_t processes) {
  return bytes_before_choice(processes) + CopyChoice::bytes();
}

/// All ranks, when they are on one node and few enough; otherwise none.
std::vector<std::vector<std::int32_t>> domains_for_short_calls(const RankLayout& layout) {
  if (layout.nodes.size() != 1 || layout.most_ranks > ShortExchange::most_ranks) return {};
  const NodeRanks& node = layout.nodes.front();
  std::vector<std::vector<std::int32_t>> domains = node.domains;
  for (std::vector<std::int32_t>& domain : domains) {
    for (std::int32_t& each : domain) each = node.ranks[static_cast<std::size_t>(each)];
  }
  return domains;
}

}  // namespace

NodeMemory::NodeMemory(const RankLayout& layout, std::int32_t rank, std::int64_t half_bytes, bool for_short_calls)
    : staging_(layout, rank, half_bytes),
      rank_(rank),
      short_domains_(for_short_calls ? domains_for_short_calls(layout) : std::vector<std::vector<std::int32_t>>()),
      half_bytes_(half_bytes) {}

std::int64_t NodeMemory::header_bytes() const {
  const std::int32_t short_ranks = short_domains_.empty() ? 0 : staging_.locals();
  const std::size_t bytes = bytes_before_short_calls(staging_.locals()) + ShortExchange::bytes(short_ranks);
  const auto page = static_cast<std::int64_t>(page_bytes());
  return (static_cast<std::int64_t>(bytes) + page - 1) / page * page;
}

std::size_t NodeMemory::bytes() const { return static_cast<std::size_t>(header_bytes() + 2 * half_bytes_); }

Result<std::string> NodeMemory::create() {
  static std::once_flag in_this_process;
  std::call_once(in_this_process, [] { remove_stale_segments(stale_age); });
  Result<Segment> segment = Segment::create(bytes());
  if (!segment) return segment.error();
  segment_ = std::move(*segment);
  return segment_.name();
}

Status NodeMemory::open(const std::string& name) {
  Result<Segment> segment = Segment::open(name, bytes());
  if (!segment) return segment.error();
  segment_ = std::move(*segment);
  return {};
}

Status NodeMemory::reserve_own() {
  if (staging_.vector_bytes() == 0) return {};
  for (std::uint32_t number = 0; number < 2; ++number) {
    const std::int64_t begin = half(number).begin - segment_.data() + staging_.local() * staging_.vector_bytes();
    Status reserved =
        segment_.reserve(static_cast<std::size_t>(begin), static_cast<std::size_t>(staging_.vector_bytes()));
    if (!reserved) return reserved;
  }
  return {};
}

Status NodeMemory::reserve_rest() {
  if (Status reserved = segment_.reserve(0, static_cast<std::size_t>(header_bytes())); !reserved) return reserved;
  const std::int64_t of_ranks = staging_.locals() * staging_.vector_bytes();
  for (std::uint32_t number = 0; number < 2; ++number) {
    const std::int64_t begin = half(number).begin - segment_.data() + of_ranks;
    Status reserved =
        segment_.reserve(static_cast<std::size_t>(begin), static_cast<std::size_t>(half_bytes_ - of_ranks));
    if (!reserved) return reserved;
  }
  return {};
}

Status NodeMemory::settle() {
  segment_.remove_name();
  Status reserved = staging_.local() == 0 ? reserve_rest() : Status();
  segment_.close_descriptor();
  const std::int32_t locals = staging_.locals();
  phases_ = std::make_unique<Phases>(segment_.data(), locals, staging_.local());
  std::byte* const turns = segment_.data() + Phases::bytes(locals);
  call_order_ = std::make_unique<CallOrder>(turns, locals, staging_.local());
  verdicts_ = std::make_unique<CallOrder>(turns + CallOrder::bytes(locals), locals, staging_.local());
  ways_ = std::make_unique<CallWays>(segment_.data() + bytes_before_ways(locals), locals, staging_.local());
  if (!short_domains_.empty()) {
    short_exchange_ =
        std::make_unique<ShortExchange>(segment_.data() + bytes_before_short_calls(locals), short_domains_, rank_);
  }
  return reserved;
}

void NodeMemory::read_directly(std::unique_ptr<NeighbourMemory> neighbours) {
  neighbours_ = std::move(neighbours);
  if (short_exchange_ == nullptr) return;
  single_copy_ = std::make_unique<SingleCopy>(short_exchange_->phases(), *neighbours_);
  copy_choice_ = std::make_unique<CopyChoice>(segment_.data() + bytes_before_choice(staging_.locals()), rank_ == 0);
}

void NodeMemory::fail() {
  phases_->fail();
  if (short_exchange_ != nullptr) short_exchange_->phases().phases().fail();
}

/// Rounds go through all of it sooner or later. A page that is mapped when it is first written to takes as long as half
/// a kilobyte of it takes to be added up.
std::uint32_t NodeMemory::next_round() {
  if (staging_.vector_bytes_in_turn() > 0) {
    if (rounds_ == 0) map_own_turns();
    // All of the node have begun the round before the last phase of which this rank has seen.
    if (rounds_ == 1) map_all_turns();
  }
  return ++rounds_;
}

std::int64_t NodeMemory::block_bytes_in_turn() const { return std::min(half_bytes_, bytes_in_turn); }

void NodeMemory::map_own_turns() const {
  const Stretch part = stretch_of(block_bytes_in_turn(), staging_.locals(), staging_.local());
  for (std::uint32_t number = 0; number < 2; ++number) {
    const std::int64_t begin = half(number).begin - segment_.data();
    segment_.map_pages(static_cast<std::size_t>(begin + staging_.local() * staging_.vector_bytes()),
                       static_cast<std::size_t>(staging_.vector_bytes_in_turn()));
    segment_.map_pages(static_cast<std::size_t>(begin + part.begin), static_cast<std::size_t>(part.length()));
  }
}

void NodeMemory::map_all_turns() const {
  for (std::uint32_t number = 0; number < 2; ++number) {
    const std::int64_t begin = half(number).begin - segment_.data();
    segment_.map_cleared_pages(static_cast<std::size_t>(begin), static_cast<std::size_t>(block_bytes_in_turn()));
    for (std::int32_t local = 0; local < staging_.locals(); ++local) {
      segment_.map_cleared_pages(static_cast<std::size_t>(begin + local * staging_.vector_bytes()),
                                 static_cast<std::size_t>(staging_.vector_bytes_in_turn()));
    }
  }
}

RoundMemory NodeMemory::half(std::uint32_t round) const {
  return {segment_.data() + header_bytes() + (round % 2) * half_bytes_, round / 2};
}

}  // namespace libcoll::node

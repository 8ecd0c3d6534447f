#include "libcoll/node/node_memory.h"

#include <chrono>
#include <utility>

#include "libcoll/base/page_size.h"

namespace libcoll::node {
namespace {

/// Names of the segments of a job that was killed while it set them up are of no use after this time.
constexpr std::chrono::seconds stale_age = std::chrono::minutes(10);

std::int64_t header_bytes(std::int32_t processes) {
  const auto bytes = static_cast<std::int64_t>(Phases::bytes(processes) + 2 * CallOrder::bytes(processes));
  const auto page = static_cast<std::int64_t>(page_bytes());
  return (bytes + page - 1) / page * page;
}

}  // namespace

NodeMemory::NodeMemory(const RankLayout& layout, std::int32_t rank, std::int64_t half_bytes)
    : staging_(layout, rank, half_bytes), half_bytes_(half_bytes) {}

std::size_t NodeMemory::bytes() const {
  return static_cast<std::size_t>(header_bytes(staging_.locals()) + 2 * half_bytes_);
}

Result<std::string> NodeMemory::create() {
  remove_stale_segments(stale_age);
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
  for (std::uint32_t number = 0; number < 2; ++number) {
    const std::int64_t begin = half(number) - segment_.data() + staging_.local() * staging_.vector_bytes();
    Status reserved =
        segment_.reserve(static_cast<std::size_t>(begin), static_cast<std::size_t>(staging_.vector_bytes()));
    if (!reserved) return reserved;
  }
  return {};
}

Status NodeMemory::settle() {
  segment_.remove_name();
  Status reserved = staging_.local() == 0 ? segment_.reserve(0, bytes()) : Status();
  segment_.close_descriptor();
  const std::int32_t locals = staging_.locals();
  phases_ = std::make_unique<Phases>(segment_.data(), locals, staging_.local());
  std::byte* const turns = segment_.data() + Phases::bytes(locals);
  call_order_ = std::make_unique<CallOrder>(turns, locals, staging_.local());
  verdicts_ = std::make_unique<CallOrder>(turns + CallOrder::bytes(locals), locals, staging_.local());
  return reserved;
}

std::byte* NodeMemory::half(std::uint32_t round) const {
  return segment_.data() + header_bytes(staging_.locals()) + (round % 2) * half_bytes_;
}

}  // namespace libcoll::node

#include "libcoll/node/call_order.h"

#include <algorithm>
#include <array>
#include <new>
#include <span>

namespace libcoll::node {

using namespace topology;

/// Without locks, and only ever grows. An entry is written before the number of entries, and that before the turn is
/// told. One process writes. The number is stored with release and loaded with acquire, because others may read while
/// it grows: then they see whole entries only.
struct CallOrder::List {
  struct Entry {
    std::uint32_t turn;  ///< from which on
    NodeId a;
    NodeId b;
  };
  static constexpr std::size_t most = 500;

  std::atomic<std::uint32_t> count;
  std::array<Entry, most> entries;
};

std::size_t CallOrder::bytes(std::int32_t processes) {
  constexpr std::size_t alignment = 128;  // as Phases are
  return Phases::bytes(processes) + (sizeof(List) + alignment - 1) / alignment * alignment;
}

CallOrder::CallOrder(std::byte* memory, std::int32_t processes, std::int32_t self)
    : memory_(memory), processes_(processes), phases_(memory, processes, self) {}

CallOrder::List& CallOrder::list() const {
  return *std::launder(reinterpret_cast<List*>(memory_ + Phases::bytes(processes_)));
}

void CallOrder::tell(std::uint32_t turn, const std::set<BidirectionalLink>& cables) {
  List& all = list();
  std::uint32_t count = all.count.load(std::memory_order_relaxed);  // our own last store
  const std::set<BidirectionalLink> known = this->cables(turn);
  for (const auto& [a, b] : cables) {
    if (known.contains({a, b}) || count == List::most) continue;
    all.entries[count++] = {turn, a, b};
  }
  all.count.store(count, std::memory_order_release);  // pairs with the load in cables()
  phases_.post(turn);
}

bool CallOrder::hear(std::uint32_t turn, const Patience& patience) { return phases_.wait({1, turn}, patience); }

bool CallOrder::was_told(std::uint32_t turn) const { return phases_.have_come({1, turn}); }

std::set<BidirectionalLink> CallOrder::cables(std::uint32_t turn) const {
  const List& all = list();
  std::set<BidirectionalLink> result;
  const std::uint32_t count = std::min<std::uint32_t>(all.count.load(std::memory_order_acquire), List::most);
  for (const List::Entry& entry : std::span(all.entries).first(count)) {
    // Compared as serial numbers, as phases are.
    if (static_cast<std::int32_t>(turn - entry.turn) >= 0) result.emplace(entry.a, entry.b);
  }
  return result;
}

}  // namespace libcoll::node

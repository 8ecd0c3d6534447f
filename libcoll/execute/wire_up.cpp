#include "libcoll/execute/wire_up.h"

namespace libcoll::execute {

using namespace transport;

namespace {

/// Calls of the same number, which may be under way, have messages of lower ones.
constexpr std::uint32_t wire_up_message = TagSpace::max_message;

}  // namespace

WireUp::WireUp(Transport& transport, std::int32_t self, std::int32_t places, std::span<const PeerId> peers,
               std::size_t bytes)
    : transport_(transport),
      self_(self),
      places_(places),
      peers_(peers),
      bytes_(bytes),
      words_(bytes * (peers.size() + 1)) {
  completions_.assign(2 * peers.size(), Completion{this, 0, 0});
}

void WireUp::start(TagSpace tags, Words words) {
  for (std::size_t lane = 0; lane < peers_.size(); ++lane) {
    if (peers_[lane] < 0 && peers_[lane] != awaited_peer) continue;
    const bool is_caller = calls(self_, static_cast<std::int32_t>(lane) % places_);
    if (words == Words::both || is_caller == (words == Words::answer)) hear(lane, tags);
    if (words == Words::both || is_caller == (words == Words::call)) say(lane, tags);
  }
}

void WireUp::hear(std::size_t lane, TagSpace tags) {
  const auto route_class = static_cast<std::int32_t>(lane) / places_;
  const std::int32_t place = static_cast<std::int32_t>(lane) % places_;
  std::byte* heard = words_.data() + (lane + 1) * bytes_;
  ++waiting_;
  count(transport_.receive(route_class, tags.tag(place, wire_up_message), heard, bytes_, &completions_[2 * lane]));
}

void WireUp::say(std::size_t lane, TagSpace tags) {
  ++waiting_;
  count(transport_.send(peers_[lane], tags.tag(self_, wire_up_message), words_.data(), bytes_,
                        &completions_[2 * lane + 1]));
}

void WireUp::count(Posted posted) {
  if (posted != Posted::pending) completed(0, posted == Posted::done);
}

// A peer that cannot be reached will fail the first call; there is nothing more to wait for here.
void WireUp::completed(std::uint32_t, bool ok) noexcept {
  --waiting_;
  failed_ = failed_ || !ok;
}

}  // namespace libcoll::execute

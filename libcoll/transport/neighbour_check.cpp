#include "libcoll/transport/neighbour_check.h"

#include <algorithm>
#include <vector>

namespace libcoll::transport {

using namespace topology;

void begin_check(RecoveryGroupState& state, std::int64_t now) {
  state.checks.clear();
  for (const NodeId node : state.detours.neighbours(state.recovery_group.self)) {
    state.checks.push_back({node, false, -1, {}, 0});
  }
  state.check_at = now;
  if (state.checks.empty() && state.observer != nullptr) state.observer->neighbours_checked({});
}

void advance_check(const ResendCore& core, PacketRouter& router, RecoveryGroupState& state) {
  const std::int64_t now = core.clock.now();
  const std::int64_t patience = core.options.patience_nanoseconds;
  const auto settled = [&](const Check& each) {
    return each.direct || (each.around_at >= 0 && now - each.around_at >= patience);
  };
  if (now >= state.check_at) {
    state.check_at = now + patience / ticks_in_patience;  // single losses must not look like a cut
    for (Check& each : state.checks) {
      if (settled(each)) continue;
      router.send(state, {PacketKind::ping}, {}, state.direct_path(each.node), 0);
      if (each.around_at >= 0) continue;
      state.detours.blame(each.path);
      each.path = state.detours.search(state.recovery_group.self, each.node, true, each.tries++);
      PacketHeader header{PacketKind::ping};
      header.sequence = 1;
      router.send(state, header, {}, each.path);
    }
  }
  if (!std::all_of(state.checks.begin(), state.checks.end(), settled)) return;
  std::vector<NodeId> unreachable;
  for (const Check& each : state.checks) {
    if (each.direct) continue;
    unreachable.push_back(each.node);
    state.detours.exclude(state.recovery_group.self, each.node);
  }
  state.checks.clear();
  if (state.observer != nullptr) state.observer->neighbours_checked(unreachable);
}

void take_pong(RecoveryGroupState& state, NodeId node, bool around, std::int64_t now) {
  for (Check& each : state.checks) {
    if (each.node != node) continue;
    if (!around) {
      each.direct = true;
      HostPath hop = state.direct_path(node);
      state.detours.trust(hop);
      std::reverse(hop.begin(), hop.end());
      state.detours.trust(hop);
    }
    if (around && each.around_at < 0) each.around_at = now;
  }
}

}  // namespace libcoll::transport

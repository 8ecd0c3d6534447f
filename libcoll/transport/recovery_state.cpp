#include "libcoll/transport/recovery_state.h"

namespace libcoll::transport {

using namespace topology;

HostPath way_around(const RecoveryGroupState& state, NodeId to, bool indirect) {
  HostPath path = state.detours.find(state.recovery_group.self, to, indirect);
  return path.empty() ? state.detours.find(state.recovery_group.self, to, false) : path;
}

HostPath way_to(const RecoveryGroupState& state, const Stream& stream) {
  return stream.way.empty() ? way_around(state, stream.node, true) : stream.way;
}

HostPath next_way(RecoveryGroupState& state, NodeId to, std::int64_t in_vain) {
  if (in_vain == 0) return way_around(state, to, true);
  return state.detours.search(state.recovery_group.self, to, false, in_vain - 1);
}

void doubt_hop(RecoveryGroupState& state, NodeId node, std::int32_t route_class) {
  if (route_class == 0) state.detours.blame(state.direct_path(node));
}

void heard(Listening& listening) {
  listening.unanswered = false;
  listening.in_vain = 0;
}

void answered(RecoveryGroupState& state, Listening& listening) {
  if (listening.unanswered) state.detours.trust(listening.path);
  heard(listening);
}

}  // namespace libcoll::transport

// Which neighbours cannot be reached directly: they are asked on the single hop and around it.
#pragma once

#include <cstdint>

#include "libcoll/transport/packet_router.h"
#include "libcoll/transport/recovery_state.h"
#include "libcoll/transport/resend_core.h"

namespace libcoll::transport {

/// Asks all neighbours, by route class 0. The observer is told at the end.
void begin_check(RecoveryGroupState& state, std::int64_t now);

/// From time to time. A neighbour who answers around and, long after that, not directly, has no link.
void advance_check(const ResendCore& core, PacketRouter& router, RecoveryGroupState& state);

/// A neighbour has answered, around or directly.
void take_pong(RecoveryGroupState& state, topology::NodeId node, bool around, std::int64_t now);

}  // namespace libcoll::transport

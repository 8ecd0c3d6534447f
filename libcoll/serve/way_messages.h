// Questions about the ways of calls (comm/way_questions.h) as messages of MPI's, over our own communicator of the
// world.
#pragma once

#include "libcoll/comm/way_questions.h"

namespace libcoll::serve {

/// Precondition: own_world_communicator() is one. To be used by one thread at a time, which MPI's progress does not
/// call back meanwhile.
comm::WayQuestions::Channel way_messages() noexcept;

/// Tag of messages that nobody sends there.
constexpr int unused_tag = 2;

}  // namespace libcoll::serve

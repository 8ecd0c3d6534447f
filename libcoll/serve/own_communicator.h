// Communicators of our own, over which the ranks of the program's communicators agree: what the program has begun on
// its own ones, rightly or not, is never met there.
#pragma once

#include <optional>

#include "libcoll/serve/mpi.h"
#include "libcoll/serve/presence.h"

namespace libcoll::serve {

/// After MPI_Init, in every process that has libcoll: finds out whether all have it, and makes the communicator of the
/// whole world, which later ones are made from.
void open_own_world() noexcept;

/// MPI_COMM_NULL where it could not be made.
MpiComm own_world_communicator();

/// What the processes of this world said, where that could be found out; otherwise nothing.
const std::optional<Presence>& presence_in_world();

/// One of ours with the processes of `comm` in their order; MPI_COMM_NULL when MPI reported an error. Collective over
/// `comm`. Its errors are codes. Communicators of the same processes share one, unless several threads may agree at
/// once, so that their words would mix. Nothing of the program's communicator is used but its group, except where
/// processes of several worlds or several threads leave no other way.
MpiComm make_own_communicator(MpiComm comm, bool threads_may_call_mpi);
/// One that was made; collective.
void give_back_own_communicator(MpiComm own) noexcept;
/// From now on none is freed: MPI is about to end, and does so itself.
void keep_own_communicators() noexcept;

}  // namespace libcoll::serve

// What libcoll keeps of a communicator of the program's, as an attribute on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "libcoll/comm/communicator.h"
#include "libcoll/comm/runtime.h"
#include "libcoll/observe/figures.h"
#include "libcoll/serve/mpi.h"

namespace libcoll::serve {

/// The attribute on a communicator.
struct CommunicatorState {
  std::optional<observe::Reason> obstacle;  ///< known without asking the others
  std::shared_ptr<comm::Communicator>
      communicator;                               ///< null until all ranks have agreed, and when there is an obstacle
  MpiComm own = mpi.comm_null;                    ///< of ours, over which the ranks agree; made when they first do
  observe::CommunicatorRecord* record = nullptr;  ///< null: nobody wants to know
  /// Collectives, as bits, of nonblocking calls that came before the ranks had agreed on a plan.
  std::uint8_t wishes = 0;
  /// Goes with the communicator.
  std::shared_ptr<const bool> life = std::make_shared<const bool>(true);
};

/// The attribute's key, before any communicator is looked at; false when MPI reports an error.
bool make_state_key();

/// The communicator's state, agreed on (collectively) at its first blocking call. Null when attributes cannot be set.
CommunicatorState* state_of(comm::Runtime& process, MpiComm comm);
/// The same without agreement.
CommunicatorState* known_state(comm::Runtime& process, MpiComm comm);

/// A nonblocking call cannot wait for the others: it says what it misses, on all ranks before the same blocking call.
void wish(CommunicatorState& state, schedule::Collective collective);
/// Whether asking later may bring another answer.
constexpr bool is_provisional(std::optional<observe::Reason> reason) {
  return reason == observe::Reason::not_agreed || reason == observe::Reason::planning;
}
/// Makes up for it as far as can be; collective. Precondition: the ranks have agreed on the communicator.
void fulfil_wishes(CommunicatorState& state, MpiComm comm);
/// Whether there are any in this process.
bool has_wishes() noexcept;
/// A barrier waits for all ranks anyway: a chance to fulfil wishes.
void before_barrier(MpiComm comm) noexcept;

/// The record of a communicator, also of one that was never looked at. Precondition: process.keeps_records().
observe::CommunicatorRecord& record_of(comm::Runtime& process, MpiComm comm);

/// A communicator of ours with the same processes (own_communicator.h); MPI_COMM_NULL when there is none. Collective
/// when it is asked for first.
MpiComm own_of(MpiComm comm);

}  // namespace libcoll::serve

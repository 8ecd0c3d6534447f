// libcoll's state in this MPI process, and on its communicators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "libcoll/comm/communicator.h"
#include "libcoll/comm/runtime.h"
#include "libcoll/observe/figures.h"
#include "pmpi/shim/mpi_symbols.h"

namespace libcoll::pmpi {

/// The attribute on a communicator.
struct CommunicatorState {
  std::optional<observe::Reason> obstacle;  ///< known without asking the others
  std::shared_ptr<comm::Communicator>
      communicator;                               ///< null until all ranks have agreed, and when there is an obstacle
  std::shared_ptr<comm::Communicator> duplicate;  ///< of the communicator that this one was duplicated from, until then
  MPI_Comm own = MPI_COMM_NULL;                   ///< of ours, over which the ranks agree; made when they first do
  observe::CommunicatorRecord* record = nullptr;  ///< null: nobody wants to know
  /// Collectives, as bits, of nonblocking calls that came before the ranks had agreed on a plan.
  std::uint8_t wishes = 0;
  /// Goes with the communicator.
  std::shared_ptr<const bool> life = std::make_shared<const bool>(true);
};

/// The runtime, made at the first call between MPI_Init and MPI_Finalize under an MPI that we know; null otherwise.
comm::Runtime* runtime();

/// The communicator's state, agreed on (collectively) at its first blocking call. Null when attributes cannot be set.
CommunicatorState* state_of(comm::Runtime& process, MPI_Comm comm);
/// The same without agreement.
CommunicatorState* known_state(comm::Runtime& process, MPI_Comm comm);

/// A nonblocking call cannot wait for the others: it says what it misses, on all ranks before the same blocking call.
void wish(CommunicatorState& state, schedule::Collective collective);
/// Whether asking later may bring another answer.
constexpr bool is_provisional(std::optional<observe::Reason> reason) {
  return reason == observe::Reason::not_agreed || reason == observe::Reason::planning;
}
/// Makes up for it as far as can be; collective. Precondition: the ranks have agreed on the communicator.
void fulfil_wishes(CommunicatorState& state, MPI_Comm comm);
/// Whether there are any in this process.
bool has_wishes() noexcept;
/// A barrier waits for all ranks anyway: a chance to fulfil wishes.
void before_barrier(MPI_Comm comm) noexcept;

/// The record of a communicator, also of one that was never looked at. Precondition: process.keeps_records().
observe::CommunicatorRecord& record_of(comm::Runtime& process, MPI_Comm comm);

/// A communicator of ours with the same processes (own_communicator.h); MPI_COMM_NULL when there is none. Collective
/// when it is asked for first.
MPI_Comm own_of(MPI_Comm comm);

/// MPI as the runtime sees it on this communicator. The ranks agree over one of our own.
class MpiHost final : public comm::HostCommunicator {
 public:
  explicit MpiHost(MPI_Comm comm) : comm_(comm) {}
  int rank() const override;
  int size() const override;
  int world_rank() const override;
  int world_size() const override;
  bool spans_worlds() const override;
  bool may_have_device_memory() const override;
  std::string host_name() const override;
  std::string name() const override;
  bool allgather(const void* mine, std::size_t bytes, void* all) override;
  bool broadcast(void* data, std::size_t bytes) override;
  bool begin_barrier() override;
  bool barrier_passed() override;
  bool reach_all(comm::Runtime& process) override;
  void progress() override;

 private:
  MPI_Comm comm_;
  MPI_Request barrier_ = MPI_REQUEST_NULL;
};

/// Lets the program's own messages move.
void progress_mpi() noexcept;

/// Whether MPI's own progress moves calls of ours along.
[[nodiscard]] bool mpi_calls_progress() noexcept;
/// Moves calls of ours along, and completes the requests of those that are over; whether anything moved.
bool progress_own() noexcept;

/// After the real MPI_Init.
void after_init() noexcept;
/// Before and after the real MPI_Finalize.
void before_finalize();
void after_finalize();

/// For `libcoll_calls_served`: this process's count for a collective by name, -1 for an unknown one.
long calls_served(const char* collective);

}  // namespace libcoll::pmpi

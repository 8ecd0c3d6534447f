#include "pmpi/serving.h"

#include <string>

#include "libcoll/runtime/log.h"

namespace libcoll::pmpi {

std::optional<int> fall_through(Runtime& process, CallKind kind, Reason reason) {
  process.statistics().count_fallen_through(kind, reason);
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace, std::string(to_string(kind)) + ": falls through, " + std::string(to_string(reason)));
  }
  return std::nullopt;
}

namespace {

bool tuned_to_native(const Runtime& process, CallKind kind, std::int32_t ranks, std::optional<std::int64_t> bytes) {
  if (!bytes) return false;
  const TuningChoice* choice = process.tuning_table().find(kind, ranks, *bytes);
  return choice != nullptr && choice->native;
}

/// By the kind of call alone, for the counts of some differ by rank.
bool has_equal_shards(CallKind kind) {
  return kind == CallKind::allreduce || kind == CallKind::allgather || kind == CallKind::alltoall ||
         kind == CallKind::reduce_scatter_block;
}

}  // namespace

Communicator* find_communicator(Runtime& process, CallKind kind, MPI_Comm comm, std::optional<std::int64_t> bytes) {
  CommunicatorState* state = state_of(process, comm);
  Reason reason = state == nullptr ? Reason::transport : state->obstacle;
  const std::optional<Collective> collective = collective_of(kind);
  if (reason == Reason::count_ && (!collective || call_setting(process.config(), kind) == "native")) {
    reason = Reason::chosen_native;
  }
  if (reason == Reason::count_ && tuned_to_native(process, kind, state->communicator->size(), bytes)) {
    reason = Reason::tuned_native;
  }
  if (reason == Reason::count_) {
    MpiHost host(comm);
    reason = state->communicator->ready(*collective, has_equal_shards(kind), host);
  }
  if (reason == Reason::count_) return state->communicator.get();
  fall_through(process, kind, reason);
  return nullptr;
}

int raise(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

int run(Runtime& process, Communicator& communicator, CallKind kind, const Call& call, MPI_Comm comm) {
  if (!communicator.run(call, {&progress_mpi})) {
    log(LogLevel::error, std::string(to_string(kind)) + ": a message could not be delivered");
    return raise(comm, MPI_ERR_OTHER);
  }
  process.statistics().count_served(kind);
  if (log_enabled(LogLevel::trace)) {
    const std::string size = call.counts.empty() ? std::to_string(call.elements * call.element_bytes) + " bytes"
                                                 : std::string("blocks of several sizes");
    log(LogLevel::trace, std::string(to_string(kind)) + ": served, " + size);
  }
  return MPI_SUCCESS;
}

std::unique_ptr<std::byte[]> make_buffer(std::int64_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
}

}  // namespace libcoll::pmpi

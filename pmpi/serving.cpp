#include "pmpi/serving.h"

#include <string>

#include "libcoll/runtime/log.h"
#include "pmpi/pending.h"

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
  const TuningChoice* choice = process.tuning_table().find(blocking_twin(kind), ranks, *bytes);
  return choice != nullptr && choice->native;
}

/// By the kind of call alone, for the counts of some differ by rank.
bool has_equal_shards(CallKind call) {
  const CallKind kind = blocking_twin(call);
  return kind == CallKind::allreduce || kind == CallKind::allgather || kind == CallKind::alltoall ||
         kind == CallKind::reduce_scatter_block;
}

/// The communicator's state when all its ranks have agreed on it, or there is nothing to agree on. A nonblocking call
/// does not wait for that.
CommunicatorState* agreed_state(Runtime& process, const Way& way, Reason& reason) {
  CommunicatorState* state = is_nonblocking(way.kind) ? known_state(way.comm) : state_of(process, way.comm);
  reason = state == nullptr ? Reason::transport : state->obstacle;
  return state;
}

Reason choice_of(const Runtime& process, const Way& way) {
  const CallKind kind = way.kind;
  if (is_nonblocking(kind) && way.request == nullptr) return Reason::bad_arguments;
  const bool native = call_setting(process.config(), kind) == "native";
  if (native || (is_nonblocking(kind) && !process.config().nonblocking)) return Reason::chosen_native;
  return is_nonblocking(kind) && !process.has_background_progress() ? Reason::no_progress : Reason::count_;
}

/// Of a nonblocking call. What it misses is made up for at the communicator's next blocking collective.
Reason begins(CommunicatorState& state, CallKind kind) {
  const Collective collective = *collective_of(kind);
  const Reason reason = state.communicator == nullptr ? Reason::not_agreed
                                                      : state.communicator->begins(collective, has_equal_shards(kind));
  if (is_provisional(reason)) wish(state, collective);
  return reason;
}

}  // namespace

Communicator* find_communicator(Runtime& process, const Way& way, std::optional<std::int64_t> bytes) {
  Reason reason = Reason::count_;
  CommunicatorState* state = agreed_state(process, way, reason);
  if (reason == Reason::count_) {
    if (!is_nonblocking(way.kind)) fulfil_wishes(*state, way.comm);
    reason = choice_of(process, way);
  }
  if (reason == Reason::count_ && is_nonblocking(way.kind)) reason = begins(*state, way.kind);
  if (reason == Reason::count_ && tuned_to_native(process, way.kind, state->communicator->size(), bytes)) {
    reason = Reason::tuned_native;
  }
  if (reason == Reason::count_ && !is_nonblocking(way.kind)) {
    MpiHost host(way.comm);
    reason = state->communicator->ready(*collective_of(way.kind), has_equal_shards(way.kind), host);
  }
  if (reason == Reason::count_) return state->communicator.get();
  fall_through(process, way.kind, reason);
  return nullptr;
}

int raise(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

namespace {

void trace_served(CallKind kind, const Call& call) {
  if (!log_enabled(LogLevel::trace)) return;
  const std::string size = call.counts.empty() ? std::to_string(call.elements * call.element_bytes) + " bytes"
                                               : std::string("blocks of several sizes");
  log(LogLevel::trace, std::string(to_string(kind)) + ": served, " + size);
}

}  // namespace

int run(Runtime& process, Communicator& communicator, const Way& way, std::unique_ptr<Operands> operands) {
  if (is_nonblocking(way.kind)) return begin(process, communicator, way, std::move(operands));
  Call call = operands->call();
  trace_served(way.kind, call);
  if (!communicator.run(std::move(call), {&progress_mpi})) {
    log(LogLevel::error, std::string(to_string(way.kind)) + ": a message could not be delivered");
    return raise(way.comm, MPI_ERR_OTHER);
  }
  process.statistics().count_served(way.kind);
  return operands->finish(way.comm) ? MPI_SUCCESS : raise(way.comm, MPI_ERR_TYPE);
}

std::unique_ptr<std::byte[]> make_buffer(std::int64_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
}

}  // namespace libcoll::pmpi

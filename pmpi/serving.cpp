#include "pmpi/serving.h"

#include <numeric>
#include <string>

#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/trace.h"
#include "pmpi/choice.h"
#include "pmpi/entrance.h"

namespace libcoll::pmpi {
namespace {

/// The program's call that this thread is in, where records are kept.
struct Underway {
  Runtime* process;
  CommunicatorRecord* record;
  CallKind kind;
  Reason reason;
  std::int64_t bytes;
  std::int64_t began;
};
thread_local Underway underway __attribute__((tls_model("initial-exec"))){};

/// A call that fell through has come back.
void handed_back() noexcept try {
  const std::int64_t now = steady_nanoseconds();
  const Underway& call = underway;
  call.record->count_fallen_through(call.kind, call.reason, call.bytes, now - call.began);
  if (Trace* trace = call.process->trace(); trace != nullptr) {
    TraceEvent event;
    event.kind = TraceKind::fallen_through;
    event.call = call.kind;
    event.reason = call.reason;
    event.communicator = call.record->number();
    event.begin = call.began;
    event.end = now;
    event.bytes = call.bytes;
    trace->add(event);
  }
} catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the call is not in the record, the program goes on
}

/// Has the time taken until the call comes back.
void hand_on(Runtime& process, CallKind kind, Reason reason, std::int64_t bytes) noexcept try {
  CommunicatorRecord& record = record_of(process, Entrance::communicator());
  underway = {&process, &record, kind, reason, bytes, steady_nanoseconds()};
  Entrance::call_at_end(&handed_back);
} catch (...) {  // NOLINT(bugprone-empty-catch): as above
}

std::optional<int> fall_through(Runtime& process, CallKind kind, Reason reason, std::int64_t bytes) {
  process.statistics().count_fallen_through(kind, reason);
  if (process.keeps_records()) hand_on(process, kind, reason, bytes);
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace, std::string(to_string(kind)) + ": falls through, " + std::string(to_string(reason)));
  }
  return std::nullopt;
}

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

std::optional<int> fall_through(Runtime& process, CallKind kind, Reason reason) {
  return fall_through(process, kind, reason, unknown_bytes);
}

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
  if (reason == Reason::count_ && bytes && process.config().measure && process.config().tuning_table.empty() &&
      measured_to_native(process, *state, kind, comm, *bytes)) {
    reason = Reason::measured_native;
  }
  if (reason == Reason::count_) {
    if (process.keeps_records()) underway.began = steady_nanoseconds();
    return state->communicator.get();
  }
  fall_through(process, kind, reason, bytes.value_or(unknown_bytes));
  return nullptr;
}

int raise(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

std::int64_t bytes_of(const Call& call, int rank) {
  if (call.counts.empty()) return call.elements * call.element_bytes;
  auto first = call.counts.begin();
  auto last = call.counts.end();
  if (call.collective == Collective::alltoall) {
    const auto ranks = static_cast<std::ptrdiff_t>(call.input_offsets.size());
    first += rank * ranks;
    last = first + ranks;
  }
  return std::accumulate(first, last, std::int64_t{0}) * call.element_bytes;
}

void count_served(Runtime& process, CommunicatorRecord* record, CallKind kind, std::int64_t bytes, std::int64_t began) {
  process.statistics().count_served(kind);
  if (record == nullptr) return;
  TraceEvent event;
  event.call = kind;
  event.communicator = record->number();
  event.begin = began;
  event.end = steady_nanoseconds();
  event.bytes = bytes;
  record->count_served(kind, bytes, event.end - began);
  if (process.trace() != nullptr) process.trace()->add(event);
}

int run(Runtime& process, Communicator& communicator, CallKind kind, const Call& call, MPI_Comm comm) {
  if (!communicator.run(call, {&progress_mpi})) {
    log(LogLevel::error, std::string(to_string(kind)) + ": a message could not be delivered");
    return raise(comm, MPI_ERR_OTHER);
  }
  const CommunicatorState* state = process.keeps_records() ? state_of(process, comm) : nullptr;
  CommunicatorRecord* record = state == nullptr ? nullptr : state->record;
  const std::int64_t bytes = record == nullptr ? unknown_bytes : bytes_of(call, MpiHost(comm).rank());
  count_served(process, record, kind, bytes, underway.began);
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

#include "pmpi/serving.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/trace.h"
#include "pmpi/choice.h"
#include "pmpi/device_memory.h"
#include "pmpi/entrance.h"
#include "pmpi/operands.h"
#include "pmpi/pending.h"
#include "pmpi/precedent.h"

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
thread_local Underway underway{};

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

bool has_lasting_type(const void* type) {
  auto* const handle = static_cast<MPI_Datatype>(const_cast<void*>(type));
  return handle == MPI_DATATYPE_NULL || is_predefined(handle);
}

/// Whether the next call like it need not be looked at. A handle of a type that the program has made may come back for
/// another one; where lost messages are sent again, the ranks wait for each other before every call.
bool sets_precedent(Runtime& process, const Likeness& call, Reason reason) {
  if (!lasts(reason) || process.resilient() != nullptr || has_wishes()) return false;
  const bool has_two_types = call.kind == CallKind::allgather || call.kind == CallKind::alltoall;
  return has_lasting_type(call.type) && (!has_two_types || has_lasting_type(call.other));
}

bool tuned_to_native(const Communicator& communicator, CallKind kind, std::int64_t bytes) {
  if (bytes == unknown_bytes) return false;
  const TuningChoice* choice = communicator.tuned(blocking_twin(kind), bytes);
  return choice != nullptr && choice->native;
}

/// By the kind of call alone, for the counts of some differ by rank.
bool has_equal_shards(CallKind call) {
  const CallKind kind = blocking_twin(call);
  return kind == CallKind::allreduce || kind == CallKind::allgather || kind == CallKind::alltoall ||
         kind == CallKind::reduce_scatter_block;
}

/// The communicator's state when all its ranks have agreed on it, or there is nothing to agree on. Not every call may
/// wait for that.
CommunicatorState* agreed_state(Runtime& process, const Way& way, Reason& reason) {
  CommunicatorState* state = way.may_agree() ? state_of(process, way.comm) : known_state(process, way.comm);
  reason = state == nullptr ? Reason::transport : state->obstacle;
  return state;
}

Reason choice_of(const Runtime& process, const Way& way) {
  const CallKind kind = way.kind;
  if (is_nonblocking(kind) && !way.is_init() && way.request == nullptr) return Reason::bad_arguments;
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

/// Of the init of a persistent call.
Reason persists(CommunicatorState& state, const Way& way) {
  MpiHost host(way.comm);
  Persistence& kept = *way.persistence;
  const Reason reason =
      state.communicator->persists(*collective_of(way.kind), has_equal_shards(way.kind), host, kept.channel);
  if (reason == Reason::count_) kept.communicator = state.communicator;
  return reason;
}

/// Of any call but the start of a persistent one.
Reason choose(Runtime& process, const Way& way, std::int64_t bytes, Communicator*& chosen) {
  Reason reason = Reason::count_;
  CommunicatorState* state = agreed_state(process, way, reason);
  if (reason != Reason::count_) return reason;
  if (way.may_agree()) {
    fulfil_wishes(*state, way.comm);
  } else if (state->communicator == nullptr) {
    // Settings may differ by rank until the ranks have agreed on them: all wish for that, also those that would leave
    // the call to MPI.
    wish(*state, *collective_of(way.kind));
    return Reason::not_agreed;
  }
  reason = choice_of(process, way);
  const bool must_prove = state->communicator != nullptr && state->communicator->must_be_faster();
  if (reason == Reason::count_ && must_prove && !can_be_proven(*state->communicator, way, bytes)) {
    reason = Reason::one_node;
  }
  if (reason == Reason::count_ && !way.may_agree()) reason = begins(*state, way.kind);
  if (reason == Reason::count_ && tuned_to_native(*state->communicator, way.kind, bytes)) {
    reason = Reason::tuned_native;
  }
  if (reason != Reason::count_) return reason;
  chosen = state->communicator.get();
  if (way.is_init()) return persists(*state, way);
  if (is_nonblocking(way.kind)) return reason;
  MpiHost host(way.comm);
  reason = chosen->ready(*collective_of(way.kind), has_equal_shards(way.kind), host);
  if (reason != Reason::count_ || bytes == unknown_bytes || chosen->is_broken()) return reason;
  if (process.config().measure && !must_prove && process.config().tuning_table.empty() &&
      measured_to_native(process, *state, way.kind, way.comm, bytes)) {
    return Reason::measured_native;
  }
  if (modelled_to_native(process, *state, way, bytes)) return Reason::modelled_native;
  return must_prove && !is_proven(*chosen, way, bytes) ? Reason::one_node : reason;
}

/// Where some process may have memory of a GPU, which others need not know of. Who waits for nobody cannot ask.
bool all_on_host(const Way& way, const std::array<const void*, 2>& buffers) {
  if (!way.may_agree()) return false;
  MpiHost host(way.comm);
  return all_agree(host, std::none_of(buffers.begin(), buffers.end(), &is_device_memory));
}

}  // namespace

std::optional<int> fall_through(Runtime& process, const Way& way, Reason reason, std::int64_t bytes) {
  if (way.persistence != nullptr && way.is_init()) {
    way.persistence->obstacle = reason;
    way.persistence->bytes = bytes;
    return std::nullopt;
  }
  process.statistics().count_fallen_through(way.kind, reason);
  if (way.likeness != nullptr && sets_precedent(process, *way.likeness, reason)) {
    Precedents::add({*way.likeness, bytes, reason});
  }
  if (process.keeps_records()) hand_on(process, way.kind, reason, bytes);
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace, std::string(to_string(way.kind)) + ": falls through, " + std::string(to_string(reason)));
  }
  return std::nullopt;
}

Communicator* find_communicator(Runtime& process, const Way& way, const std::array<const void*, 2>& buffers,
                                std::int64_t bytes) {
  Communicator* chosen = nullptr;
  Reason reason = Reason::count_;
  if (way.is_start()) {
    // The blocks of all ranks are known where they have to be.
    chosen = way.persistence->communicator.get();
    reason = chosen->begins(*collective_of(way.kind), true);
  } else {
    reason = choose(process, way, bytes, chosen);
    if (reason == Reason::count_ && chosen->may_have_device_memory() && !all_on_host(way, buffers)) {
      reason = Reason::device_memory;
    }
  }
  if (reason == Reason::count_) {
    if (process.keeps_records()) underway.began = steady_nanoseconds();
    return chosen;
  }
  fall_through(process, way, reason, bytes);
  return nullptr;
}

int raise(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

namespace {

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

}  // namespace

void trace_served(CallKind kind, const Call& call, const Communicator& communicator) {
  if (!log_enabled(LogLevel::trace)) return;
  const std::string size = call.counts.empty() ? std::to_string(call.elements * call.element_bytes) + " bytes"
                                               : std::string("blocks of several sizes");
  log(LogLevel::trace, std::string(to_string(kind)) + ": served, " + size + ", " + communicator.way_in_words(call));
}

Served served_call(Runtime& process, const Communicator& communicator, const Way& way, const Call& call) {
  Served served{way.kind};
  if (!process.keeps_records()) return served;
  if (const CommunicatorState* state = known_state(process, way.comm)) served.record = state->record;
  served.bytes = bytes_of(call, MpiHost(way.comm).rank());
  served.began = underway.began;
  served.protocol = communicator.protocol_of(way.kind, call, served.bytes);
  return served;
}

void record_end(Runtime& process, const Served& served) noexcept try {
  if (served.record == nullptr) return;
  TraceEvent event;
  event.call = served.kind;
  event.communicator = served.record->number();
  event.begin = served.began;
  event.end = steady_nanoseconds();
  event.bytes = served.bytes;
  served.record->count_served(served.kind, served.protocol, event.bytes, event.end - event.begin);
  if (process.trace() != nullptr) process.trace()->add(event);
} catch (...) {  // NOLINT(bugprone-empty-catch): as in handed_back()
}

int run(Runtime& process, Communicator& communicator, const Way& way, std::unique_ptr<Operands> operands) {
  if (way.is_init()) return MPI_SUCCESS;
  if (is_nonblocking(way.kind)) return begin(process, communicator, way, std::move(operands));
  Call call = operands->call();
  trace_served(way.kind, call, communicator);
  const Served served = served_call(process, communicator, way, call);
  if (!communicator.run(std::move(call), {&progress_mpi})) {
    log(LogLevel::error, std::string(to_string(way.kind)) + ": a message could not be delivered");
    return raise(way.comm, MPI_ERR_OTHER);
  }
  process.statistics().count_served(way.kind);
  record_end(process, served);
  return operands->finish(way.comm) ? MPI_SUCCESS : raise(way.comm, MPI_ERR_TYPE);
}

std::unique_ptr<std::byte[]> make_buffer(std::int64_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
}

}  // namespace libcoll::pmpi

#include "libcoll/serve/serving.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/comm/learned_rows.h"
#include "libcoll/observe/trace.h"
#include "libcoll/serve/communicator_state.h"
#include "libcoll/serve/device_memory.h"
#include "libcoll/serve/fall_through_cache.h"
#include "libcoll/serve/mpi_host.h"
#include "libcoll/serve/operands.h"
#include "libcoll/serve/pending.h"
#include "libcoll/serve/process.h"
#include "libcoll/serve/reentrancy_guard.h"
#include "libcoll/serve/short_call_cache.h"

namespace libcoll::serve {

using namespace comm;
using namespace execute;
using namespace observe;
using namespace schedule;
using namespace select;

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
  CommunicatorRecord& record = record_of(process, MpiComm{ReentrancyGuard::communicator()});
  underway = {&process, &record, kind, reason, bytes, steady_nanoseconds()};
  ReentrancyGuard::call_at_end(&handed_back);
} catch (...) {  // NOLINT(bugprone-empty-catch): as above
}

/// In the statistics, and at trace level in the log.
void count_fallen_through(Runtime& process, CallKind kind, Reason reason, std::int64_t bytes) {
  process.statistics().count_fallen_through(kind, reason);
  if (process.keeps_records()) hand_on(process, kind, reason, bytes);
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace, std::string(to_string(kind)) + ": falls through, " + std::string(to_string(reason)));
  }
}

/// Whether the next call like it need not be looked at. Where lost messages are sent again, the ranks wait for each
/// other before every call.
bool can_be_remembered(Runtime& process, const CallContext& call) {
  return call.key != nullptr && call.has_lasting_types && process.config().resend_seconds == 0 && !has_wishes();
}

/// A call that is about to be served, for ShortCallCache; nothing where one like it has to be looked at again.
std::optional<CachedShortCall> short_call(Runtime& process, Communicator& communicator, const CallContext& context,
                                          const Call& call, const Operands& operands) {
  const bool is_seen = process.keeps_records() || log_enabled(LogLevel::trace);
  if (is_seen || !may_be_short(context.kind) || !communicator.is_short(call) || communicator.may_have_device_memory() ||
      !can_be_remembered(process, context)) {
    return std::nullopt;
  }
  CachedShortCall cached{*context.key,       &communicator,  call.collective, call.elements,
                         call.element_bytes, call.is_rooted, call.root,       {}};
  if (!operands.are_in_program(cached.reduction)) return std::nullopt;
  return cached;
}

/// What the selection table says of a call; null where its size may differ by rank. Nobody has tried calls that are not
/// waited for: of those only what settings and the tuning table say.
const SelectionRow* row_of(const Communicator& communicator, const CallContext& context, std::int64_t bytes) {
  if (bytes == unknown_bytes) return nullptr;
  const SelectionRow* row = communicator.selection().find(blocking_variant(context.kind), bytes, context.order_matters);
  const bool is_meant = row != nullptr && (row->source <= RowSource::tuning_table || !is_nonblocking(context.kind));
  return is_meant ? row : nullptr;
}

/// Why a call is left to MPI as its row says; nothing when it is not.
std::optional<Reason> native_by(const SelectionRow* row) {
  if (row == nullptr || !row->choice.native) return std::nullopt;
  if (row->source == RowSource::setting) return Reason::chosen_native;
  if (row->source == RowSource::tuning_table) return Reason::tuned_native;
  return row->source == RowSource::measurement ? Reason::measured_native : Reason::modelled_native;
}

/// Of calls of any size.
bool is_set_to_native(const Communicator& communicator, CallKind kind) {
  const std::span<const SelectionRow> rows = communicator.selection().rows(blocking_variant(kind), false);
  return !rows.empty() && rows.front().source == RowSource::setting;
}

/// The same for calls of all sizes.
bool are_tuned_native(const Communicator& communicator, const CallContext& context) {
  const std::span<const SelectionRow> rows =
      communicator.selection().rows(blocking_variant(context.kind), context.order_matters);
  return std::all_of(rows.begin(), rows.end(), [](const SelectionRow& row) {
    return row.choice.native && row.source <= RowSource::tuning_table;
  });
}

/// For communicators within a node, whose calls must be faster than MPI's: whether it is known of such a call which way
/// that is. The same on all ranks.
bool is_proven(const SelectionRow* row) { return row != nullptr && row->source != RowSource::built_in; }

bool has_one_root(CallKind call) {
  const CallKind kind = blocking_variant(call);
  return kind == CallKind::bcast || kind == CallKind::reduce;
}

/// By the kind of call alone, for the counts of some differ by rank.
bool has_equal_shards(CallKind call) {
  const CallKind kind = blocking_variant(call);
  return kind == CallKind::allreduce || kind == CallKind::allgather || kind == CallKind::alltoall ||
         kind == CallKind::reduce_scatter_block;
}

/// The communicator's state when all its ranks have agreed on it, or there is nothing to agree on. Not every call may
/// wait for that.
CommunicatorState* agreed_state(Runtime& process, const CallContext& context, std::optional<Reason>& reason) {
  CommunicatorState* state = context.may_agree() ? state_of(process, context.comm) : known_state(process, context.comm);
  reason = state == nullptr ? Reason::transport : state->obstacle;
  return state;
}

std::optional<Reason> choice_of(const Runtime& process, const Communicator& communicator, const CallContext& context) {
  const CallKind kind = context.kind;
  if (is_nonblocking(kind) && !context.is_init() && !context.request.given()) return Reason::bad_arguments;
  if (is_set_to_native(communicator, kind) || (is_nonblocking(kind) && !process.config().nonblocking))
    return Reason::chosen_native;
  if (is_nonblocking(kind) && !process.engine().progresses_unattended(context.calls_mpi)) return Reason::no_progress;
  return std::nullopt;
}

/// Of a nonblocking call. What it misses is made up for at the communicator's next blocking collective.
std::optional<Reason> begins(CommunicatorState& state, CallKind kind) {
  const Collective collective = *collective_of(kind);
  const std::optional<Reason> reason = state.communicator == nullptr
                                           ? Reason::not_agreed
                                           : state.communicator->begins(collective, has_equal_shards(kind));
  if (is_provisional(reason)) wish(state, collective);
  return reason;
}

/// Of the init of a persistent call.
std::optional<Reason> persists(CommunicatorState& state, const CallContext& context) {
  MpiHost host(context.comm);
  Persistence& kept = *context.persistence;
  const std::optional<Reason> reason =
      state.communicator->persists(*collective_of(context.kind), has_equal_shards(context.kind), host, kept.context);
  if (!reason) kept.communicator = state.communicator;
  return reason;
}

/// A vector's blocks, as MPI wants them.
struct EqualBlocks {
  EqualBlocks(std::int64_t bytes, MpiComm comm) {
    const int ranks = MpiHost(comm).size();
    count = static_cast<int>(bytes / ranks);
    counts.assign(static_cast<std::size_t>(ranks), count);
    for (int rank = 0; rank < ranks; ++rank) begins.push_back(rank * count);
  }
  int count = 0;
  std::vector<int> counts;
  std::vector<int> begins;
};

/// A call of MPI's own, as Learner has it.
bool call_native(CallKind kind, const std::byte* input, std::byte* output, std::int64_t bytes, MpiComm program) {
  const MpiComm comm = own_of(program);
  const auto type = mpi.byte_type;
  const auto op = mpi.bor;
  const int count = static_cast<int>(bytes);
  switch (kind) {
    case CallKind::allreduce:
      return mpi.allreduce(input, output, count, type, op, comm) == mpi_success;
    case CallKind::allgather:
      return mpi.allgather(input, count, type, output, count, type, comm) == mpi_success;
    case CallKind::alltoall:
      return mpi.alltoall(input, count, type, output, count, type, comm) == mpi_success;
    case CallKind::reduce_scatter_block:
      return mpi.reduce_scatter_block(input, output, count, type, op, comm) == mpi_success;
    case CallKind::allgatherv: {
      const EqualBlocks blocks(bytes, comm);
      return mpi.allgatherv(input, blocks.count, type, output, blocks.counts.data(), blocks.begins.data(), type,
                            comm) == mpi_success;
    }
    case CallKind::reduce_scatter:
      return mpi.reduce_scatter(input, output, EqualBlocks(bytes, comm).counts.data(), type, op, comm) == mpi_success;
    case CallKind::bcast:
      return mpi.bcast(output, count, type, 0, comm) == mpi_success;
    case CallKind::reduce:
      return mpi.reduce(input, output, count, type, op, 0, comm) == mpi_success;
    default:
      return false;
  }
}

/// How calls of that kind go, for the first one. Collective.
void learn(Runtime& process, const CommunicatorState& state, const CallContext& context, MpiHost& host) {
  const auto native = [&context](CallKind kind, const std::byte* input, std::byte* output, std::int64_t bytes) {
    return call_native(kind, input, output, bytes, context.comm);
  };
  learn_rows({process, *state.communicator, state.record, host, {&progress_mpi}, native}, context.kind,
             context.order_matters);
}

/// Of all blocks; unknown_bytes where a count makes no sense.
std::int64_t known_bytes(const KnownBlocks& blocks, std::int32_t ranks) {
  std::int64_t bytes = 0;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    if (blocks.counts[rank] < 0) return unknown_bytes;
    bytes += blocks.counts[rank] * blocks.element_bytes;
  }
  return bytes;
}

/// Whether facts say of a call within a node that it is faster than MPI's. MPI has to make progress for calls that
/// nobody waits for: nobody asked for a thread that does.
bool is_known_to_be_faster(const Runtime& process, const Communicator& communicator, const CallContext& context,
                           std::int64_t bytes) {
  const CallKind kind = blocking_variant(context.kind);
  return is_nonblocking(context.kind) && bytes != unknown_bytes && !context.calls_mpi && mpi_calls_progress() &&
         wants_cost_model(process.config(), kind, true) &&
         (collective_of(kind) != Collective::allgather || communicator.reads_neighbours()) &&
         is_faster_unattended(kind, communicator.size(), bytes);
}

/// Whether facts say of a call across nodes that it is slower than MPI's. Nobody wants MPI to have it who has asked for
/// threads that move calls along beside computation. MPICH's own persistent calls fail in MPI_Testall (4.0).
bool is_known_to_be_slower(const Runtime& process, const Communicator& communicator, const CallContext& context,
                           std::int64_t bytes) {
  const CallKind kind = blocking_variant(context.kind);
  const bool can_be_native = context.persistence == nullptr || mpi_calls_progress();
  return is_nonblocking(context.kind) && can_be_native && bytes != unknown_bytes && communicator.nodes() > 1 &&
         !communicator.want_progress_threads() && wants_cost_model(process.config(), kind, false) &&
         is_slower_unattended(kind, communicator.size(), bytes);
}

/// Of any call but the start of a persistent one.
std::optional<Reason> choose(Runtime& process, const CallContext& context, std::int64_t bytes, Communicator*& chosen) {
  std::optional<Reason> reason;
  CommunicatorState* state = agreed_state(process, context, reason);
  if (reason) return reason;
  if (context.may_agree()) {
    fulfil_wishes(*state, context.comm);
  } else if (state->communicator == nullptr) {
    // Settings may differ by rank until the ranks have agreed on them: all wish for that, also those that would leave
    // the call to MPI.
    wish(*state, *collective_of(context.kind));
    return Reason::not_agreed;
  }
  reason = choice_of(process, *state->communicator, context);
  const bool must_prove = state->communicator->must_be_faster();
  if (context.blocks.counts.given()) bytes = known_bytes(context.blocks, state->communicator->size());
  const SelectionRow* row = row_of(*state->communicator, context, bytes);
  const bool can_be_proven = is_proven(row) || (bytes != unknown_bytes && can_be_tried(context.kind)) ||
                             is_known_to_be_faster(process, *state->communicator, context, bytes);
  if (!reason && must_prove && !can_be_proven) reason = Reason::one_node;
  if (!reason && !context.may_agree()) reason = begins(*state, context.kind);
  if (!reason && is_known_to_be_slower(process, *state->communicator, context, bytes)) reason = Reason::modelled_native;
  // Who leaves one call to MPI must yet take part in what the others agree on before theirs: lengths may differ by
  // rank.
  const bool may_skip = is_nonblocking(context.kind) || are_tuned_native(*state->communicator, context);
  if (!reason && may_skip && row != nullptr && row->source <= RowSource::tuning_table) reason = native_by(row);
  if (reason) return reason;
  chosen = state->communicator.get();
  if (context.is_init()) return persists(*state, context);
  if (is_nonblocking(context.kind)) return reason;
  MpiHost host(context.comm);
  const Collective collective = *collective_of(context.kind);
  if (chosen->needs_no_plan(context.kind)) {
    reason = chosen->ready_without_plan(collective);
  } else {
    reason = chosen->ready(collective, has_equal_shards(context.kind), host);
    if (!reason && has_one_root(context.kind)) chosen->prepare_one_root(collective, host);
  }
  if (reason || bytes == unknown_bytes || chosen->is_broken()) return reason;
  if (!chosen->has_learned(context.kind, context.order_matters)) learn(process, *state, context, host);
  row = row_of(*chosen, context, bytes);
  if (const std::optional<Reason> native = native_by(row)) return native;
  return must_prove && !is_proven(row) ? Reason::one_node : reason;
}

/// Of a blocking call; null where its ranks have not agreed on any.
Communicator* communicator_of(Runtime& process, const CallContext& context, Reason reason) {
  // Its handle may be MPI_COMM_NULL.
  if (is_nonblocking(context.kind) || reason == Reason::bad_arguments) return nullptr;
  const CommunicatorState* const state = known_state(process, context.comm);
  return state == nullptr ? nullptr : state->communicator.get();
}

void note_native(Communicator* communicator, CallKind kind) noexcept {
  const std::optional<Collective> collective = collective_of(kind);
  if (communicator != nullptr && collective) communicator->note_native(*collective);
}

/// Where some process may have memory of a GPU, which others need not know of. Who waits for nobody cannot ask.
bool all_on_host(const CallContext& context, const std::array<const void*, 2>& buffers) {
  if (!context.may_agree()) return false;
  MpiHost host(context.comm);
  return all_agree(host, std::none_of(buffers.begin(), buffers.end(), &is_device_memory));
}

}  // namespace

std::optional<int> fall_through(Runtime& process, const CallContext& context, Reason reason, std::int64_t bytes) {
  if (context.persistence != nullptr && context.is_init()) {
    context.persistence->obstacle = reason;
    context.persistence->bytes = bytes;
    return std::nullopt;
  }
  Communicator* const communicator = communicator_of(process, context, reason);
  if (lasts(reason) && can_be_remembered(process, context)) {
    FallThroughCache::add({*context.key, bytes, reason, communicator});
  }
  note_native(communicator, context.kind);
  count_fallen_through(process, context.kind, reason, bytes);
  return std::nullopt;
}

void count_again(const CachedFallThrough& cached) noexcept {
  note_native(cached.communicator, cached.call.kind);
  Runtime* process = runtime();
  if (process != nullptr) count_fallen_through(*process, cached.call.kind, cached.reason, cached.bytes);
}

Communicator* find_communicator(Runtime& process, const CallContext& context, const std::array<const void*, 2>& buffers,
                                std::int64_t bytes) {
  Communicator* chosen = nullptr;
  std::optional<Reason> reason;
  if (context.is_start()) {
    // The blocks of all ranks are known where they have to be.
    chosen = context.persistence->communicator.get();
    reason = chosen->begins(*collective_of(context.kind), true);
  } else {
    reason = choose(process, context, bytes, chosen);
    // Without a reason there is a communicator, here and below.
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
    if (!reason && chosen->may_have_device_memory() && !all_on_host(context, buffers)) {
      reason = Reason::device_memory;
    }
  }
  if (!reason) {
    if (!is_nonblocking(context.kind)) {
      MpiHost host(context.comm);
      chosen->before_served_call(host);  // NOLINT(clang-analyzer-core.CallAndMessage)
    }
    if (process.keeps_records()) underway.began = steady_nanoseconds();
    return chosen;
  }
  fall_through(process, context, *reason, bytes);
  return nullptr;
}

int raise(MpiComm comm, int code) {
  mpi.comm_call_errhandler(comm, code);
  return code;
}

int raise_failed(CallKind kind, MpiComm comm) {
  log(LogLevel::error,
      std::string(to_string(kind)) + ": a message could not be delivered, or the ranks give different counts");
  return raise(comm, mpi.err_other);
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
  const bool has_blocks = !call.counts.empty() && !call.is_rooted;
  const std::string size = has_blocks ? std::string("blocks of several sizes")
                                      : std::to_string(bytes_of(call, communicator.rank())) + " bytes";
  log(LogLevel::trace,
      std::string(to_string(kind)) + ": served, " + size + ", " + communicator.way_in_words(kind, call));
}

Served served_call(Runtime& process, const Communicator& communicator, const CallContext& context, const Call& call) {
  Served served{context.kind};
  if (!process.keeps_records()) return served;
  if (const CommunicatorState* state = known_state(process, context.comm)) served.record = state->record;
  served.bytes = bytes_of(call, MpiHost(context.comm).rank());
  served.began = underway.began;
  served.protocol = communicator.protocol_of(context.kind, call, served.bytes);
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

std::optional<int> run(Runtime& process, Communicator& communicator, const CallContext& context,
                       std::unique_ptr<Operands> operands) {
  if (context.is_init()) return mpi_success;
  if (is_nonblocking(context.kind)) return begin(process, communicator, context, std::move(operands));
  Call call = operands->call();
  trace_served(context.kind, call, communicator);
  const Served served = served_call(process, communicator, context, call);
  const std::optional<CachedShortCall> cached = short_call(process, communicator, context, call, *operands);
  const std::int64_t bytes = call.counts.empty() ? call.elements * call.element_bytes : unknown_bytes;
  if (!communicator.run(std::move(call), {&progress_mpi})) {
    if (communicator.leaves_to_mpi()) return fall_through(process, context, Reason::lengths_differ, bytes);
    return raise_failed(context.kind, context.comm);
  }
  if (cached) ShortCallCache::add(*cached);
  process.statistics().count_served(context.kind);
  record_end(process, served);
  return operands->finish(context.comm) ? mpi_success : raise(context.comm, mpi.err_type);
}

std::unique_ptr<std::byte[]> make_buffer(std::int64_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
}

}  // namespace libcoll::serve

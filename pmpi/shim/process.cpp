#include "pmpi/shim/process.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/base/library_directory.h"
#include "libcoll/base/log.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "libcoll/version.h"
#include "pmpi/shim/accepted_pairs.h"
#include "pmpi/shim/agreeing.h"
#include "pmpi/shim/device_memory.h"
#include "pmpi/shim/fall_through_cache.h"
#include "pmpi/shim/finalize_report.h"
#include "pmpi/shim/mpi_messages.h"
#include "pmpi/shim/own_communicator.h"
#include "pmpi/shim/pending.h"
#include "pmpi/shim/persistent.h"
#include "pmpi/shim/reentrancy_guard.h"

#ifdef OPEN_MPI
extern "C" {
// Open MPI's own progress engine takes further callbacks (libopen-pal, opal/runtime/opal_progress.h): those that it
// calls each time, and those of low priority, which it calls one time in eight. Either takes it off the other list.
int opal_progress_register(int (*callback)()) __attribute__((weak));
int opal_progress_register_lp(int (*callback)()) __attribute__((weak));
}
#endif

namespace libcoll::pmpi {

using namespace comm;
using namespace observe;
using namespace schedule;
using namespace transport::ucx;

namespace {

std::atomic<Runtime*> process_runtime{nullptr};
std::atomic<bool> finalizing{false};
std::once_flag runtime_once;
std::unique_ptr<PrivateMessages> private_messages;  ///< null when the transport is another
int keyval = MPI_KEYVAL_INVALID;

int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

/// What the ranks have agreed on holds for a duplicate: all of them are at the same place among the original's calls.
int copy_state(MPI_Comm, int, void*, void* attribute, void* copy, int* flag) try {
  *flag = 0;
  const auto& original = *static_cast<const CommunicatorState*>(attribute);
  const auto& agreed = original.communicator != nullptr ? original.communicator : original.duplicate;
  std::shared_ptr<Communicator> duplicate = agreed != nullptr ? agreed->duplicate() : nullptr;
  if (duplicate == nullptr) return MPI_SUCCESS;  // it is agreed on anew
  auto state = std::make_unique<CommunicatorState>();
  state->duplicate = std::move(duplicate);
  *static_cast<void**>(copy) = state.release();
  *flag = 1;
  return MPI_SUCCESS;
} catch (...) {  // without it this rank would agree on something else than the others
  return MPI_ERR_NO_MEM;
}

/// Of all communicators.
std::atomic<std::int64_t> open_wishes{0};

void forget_wishes(CommunicatorState& state) {
  open_wishes -= std::popcount(state.wishes);
  state.wishes = 0;
}

int delete_state(MPI_Comm, int, void* attribute, void*) {
  FallThroughCache::forget_all();  // its handle may come back for another one
  const std::unique_ptr<CommunicatorState> state(static_cast<CommunicatorState*>(attribute));
  forget_wishes(*state);
  if (state->own != MPI_COMM_NULL) give_back_own_communicator(state->own);
  return MPI_SUCCESS;
}

/// MPI's own progress calls ours.
std::atomic<bool> called_by_mpi{false};

/// MPI_COMM_SELF's attributes go first in MPI_Finalize, while MPI still works, whatever language called it.
int finish_with_self(MPI_Comm, int, void*, void*) {
  keep_own_communicators();
  Runtime* process = process_runtime.load();
  if (process == nullptr) return MPI_SUCCESS;
  finish_pending(*process);
  drop_persistent();
  // Other ranks may wait for what the last call left to be delivered. Where MPI does not call us, the thread delivers
  // it until MPI_Finalize has synchronised the ranks.
  if (called_by_mpi || process->over_host_messages()) process->stop_progress_thread();
  write_reports(process->statistics(), process->trace(), process->config());
  if (process->over_host_messages()) {
    // The transport ends with MPI. What is still to come, in callbacks of the program's, falls through everywhere.
    finalizing = true;
    FallThroughCache::forget_all();
    const std::lock_guard guard(process->lock());
    private_messages->close();
  }
  return MPI_SUCCESS;
}

/// When ranks that agree have waited for the others for too long.
void tell_of_agreement(const Runtime& process) noexcept try {
  const std::chrono::nanoseconds waited(Agreeing::untold_nanoseconds());
  const auto in_words = [] {
    const MpiHost host(handle_of<MPI_Comm>(Agreeing::take_untold().value_or(number_of(MPI_COMM_WORLD))));
    return host.name() + ": rank " + std::to_string(host.rank()) + " waits for others to agree on how calls go";
  };
  if (waited.count() > 0) process.warn_of_silence(waited, in_words);
} catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line; the agreement goes on
}

/// By MPI's own progress, where it takes callbacks: what a call of ours left to be delivered moves as well.
int progress_ours() {
  // MPI makes progress inside our own calls, too: the transport is at it then.
  if (PrivateMessages::calling()) return 0;
  Runtime* process = process_runtime.load(std::memory_order_acquire);
  if (process == nullptr) return 0;
  const bool moved = called_by_mpi ? process->progress_in_passing() : process->progress();
  complete_ended(*process);
  if (!moved) {
    tell_of_agreement(*process);
    Agreeing::nap();
  }
  return moved ? 1 : 0;
}

#ifdef OPEN_MPI
/// Even a callback that does nothing takes a part of MPI's smallest calls that can be measured.
void attend(bool closely) noexcept {
  if (closely && opal_progress_register(&progress_ours) == 0) return;
  opal_progress_register_lp(&progress_ours);
}

void register_progress(Runtime& process, bool serves) {
  if (&opal_progress_register == nullptr || &opal_progress_register_lp == nullptr) return;
  if (serves && opal_progress_register_lp(&progress_ours) != 0) return;
  called_by_mpi = true;
  process.set_background_progress(serves ? &attend : nullptr);
}

constexpr std::array local_size_variables{"OMPI_COMM_WORLD_LOCAL_SIZE"};
#else
/// MPICH takes no callbacks, and the standard interface knows of none.
void register_progress(Runtime& process, bool) { process.use_progress_thread(); }

#ifdef LIBCOLL_STANDARD_ABI
constexpr std::array local_size_variables{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
#else
constexpr std::array local_size_variables{"MPI_LOCALNRANKS"};
#endif
#endif

/// The launcher says how many processes of the job it started on this host. One inside another's job leaves both words.
HostMates host_mates() {
  HostMates mates = HostMates::possible;
  for (const char* variable : local_size_variables) {
    const char* ranks = std::getenv(variable);
    if (ranks == nullptr) continue;
    if (std::string_view(ranks) != "1") return HostMates::possible;
    mates = HostMates::none;
  }
  return mates;
}

/// "rank 2 on n2 has none, rank 5 on n3 has 0.10.0"
std::string in_words(const std::vector<Absentee>& absentees) {
  constexpr std::size_t most_named = 8;
  std::string text;
  for (std::size_t i = 0; i < absentees.size() && i < most_named; ++i) {
    const Absentee& each = absentees[i];
    text.append(i == 0 ? "" : ", ").append("rank ").append(std::to_string(each.world_rank));
    text.append(" on ").append(each.host.empty() ? "an unknown host" : each.host);
    text.append(" has ").append(each.version.empty() ? "none" : each.version);
  }
  return text.append(absentees.size() > most_named ? ", ..." : "");
}

/// One of those that have it does, whoever that is.
void warn_of_absentees(int world_rank) {
  const std::optional<Presence>& presence = presence_in_world();
  if (!presence || presence->absentees.empty() || !presence->serves) return;
  int first = 0;
  for (const Absentee& each : presence->absentees) first += each.world_rank == first ? 1 : 0;
  if (first != world_rank) return;
  log(LogLevel::warn, "not all ranks have libcoll " LIBCOLL_VERSION " (" + in_words(presence->absentees) +
                          "); every call falls through");
}

void start_runtime() {
  int self_keyval = MPI_KEYVAL_INVALID;
  if (PMPI_Comm_create_keyval(&copy_state, &delete_state, &keyval, nullptr) != MPI_SUCCESS ||
      PMPI_Comm_create_keyval(&copy_nothing, &finish_with_self, &self_keyval, nullptr) != MPI_SUCCESS ||
      PMPI_Comm_set_attr(MPI_COMM_SELF, self_keyval, nullptr) != MPI_SUCCESS) {
    return;
  }
  private_messages = std::make_unique<PrivateMessages>();
  auto process = std::make_unique<Runtime>(environ, library_directory(reinterpret_cast<const void*>(&runtime)),
                                           MpiHost(MPI_COMM_WORLD).world_rank(), private_messages.get(), host_mates());
  if (!process->may_use_host_messages()) private_messages.reset();
  // Who serves nothing has nothing to look after.
  const bool serves = !process->obstacle();
  if (serves) find_accepted_pairs();
  process->set_host_digest(digest_of_accepted_pairs());
  register_progress(*process, serves);
  warn_of_absentees(MpiHost(MPI_COMM_WORLD).world_rank());
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) {
    process->set_threads_may_call_mpi();
  } else {
    process->statistics().set_one_thread_at_a_time();
  }
  process_runtime = process.release();
}

bool mpi_is_running() {
  int initialized = 0;
  int finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

/// What all processes of the world have said decides for them alike, and they need not agree on anything.
std::optional<Reason> obstacle_in_world(const Runtime& process) {
  const std::optional<Presence>& presence = presence_in_world();
  if (!presence) return std::nullopt;
  if (!presence->absentees.empty()) return Reason::not_everywhere;
  if (presence->serves) return std::nullopt;
  return process.obstacle().value_or(Reason::no_topology);
}

/// What a process knows of a communicator by itself.
std::unique_ptr<CommunicatorState> make_state(Runtime& process, MPI_Comm comm) {
  auto state = std::make_unique<CommunicatorState>();
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  const MpiHost host(comm);
  if (inter != 0) {
    state->obstacle = Reason::inter_communicator;
  } else if (host.size() == 1) {
    state->obstacle = Reason::single_rank;
  } else {
    state->obstacle = obstacle_in_world(process);
  }
  if (!state->obstacle) return state;
  if (host.rank() == 0) {
    log(LogLevel::info, host.name() + ": falls through, " + std::string(to_string(*state->obstacle)));
  }
  return state;
}

void open_record(Runtime& process, MPI_Comm comm, CommunicatorState& state) {
  if (state.record != nullptr || !process.keeps_records()) return;
  const std::vector<int> members = PrivateMessages::world_ranks_of(comm);
  state.record = &process.statistics().open(MpiHost(comm).name(), members);
}

CommunicatorState* find_or_make_state(Runtime& process, MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, keyval, &attribute, &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) {
    auto* state = static_cast<CommunicatorState*>(attribute);
    open_record(process, comm, *state);  // of a duplicate
    return state;
  }
  std::unique_ptr<CommunicatorState> state = make_state(process, comm);
  open_record(process, comm, *state);
  if (PMPI_Comm_set_attr(comm, keyval, state.get()) != MPI_SUCCESS) return nullptr;
  return state.release();
}

}  // namespace

Runtime* runtime() {
  if (Runtime* process = process_runtime.load(std::memory_order_acquire)) return finalizing ? nullptr : process;
  if (finalizing || !mpi_is_running()) return nullptr;
  std::call_once(runtime_once, start_runtime);
  return process_runtime.load(std::memory_order_acquire);
}

CommunicatorState* known_state(Runtime& process, MPI_Comm comm) {
  // Looking an attribute up takes MPI longer than all the rest of a call that falls through.
  struct Recent {
    MPI_Comm comm;
    CommunicatorState* state;
    std::uint64_t as_of;
  };
  static thread_local Recent recent{MPI_COMM_NULL, nullptr, 0};
  const std::uint64_t now = FallThroughCache::now();
  if (recent.comm == comm && recent.as_of == now && recent.state != nullptr) return recent.state;
  CommunicatorState* state = find_or_make_state(process, comm);
  recent = {comm, state, now};
  return state;
}

CommunicatorRecord& record_of(Runtime& process, MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (comm != MPI_COMM_NULL && PMPI_Comm_get_attr(comm, keyval, &attribute, &found) == MPI_SUCCESS && found != 0) {
    CommunicatorRecord* record = static_cast<CommunicatorState*>(attribute)->record;
    if (record != nullptr) return *record;
  }
  return process.statistics().elsewhere();
}

CommunicatorState* state_of(Runtime& process, MPI_Comm comm) {
  CommunicatorState* state = known_state(process, comm);
  if (state != nullptr && state->communicator == nullptr && !state->obstacle) {
    MpiHost host(comm);
    if (state->duplicate != nullptr) {
      state->communicator = std::move(state->duplicate);
      state->communicator->open_duplicate(host);
    } else {
      state->communicator = Communicator::make(process, host);
    }
    state->communicator->keep_record(state->record);
  }
  return state;
}

void wish(CommunicatorState& state, Collective collective) {
  const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(collective));
  if ((state.wishes & bit) != 0) return;
  state.wishes = static_cast<std::uint8_t>(state.wishes | bit);
  ++open_wishes;
  FallThroughCache::forget_all();  // the next blocking call fulfils it, also one that falls through
}

void fulfil_wishes(CommunicatorState& state, MPI_Comm comm) {
  if (state.wishes == 0) return;
  MpiHost host(comm);
  std::uint8_t left = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((state.wishes >> each & 1U) == 0) continue;
    const std::optional<Reason> answer = state.communicator->ready(static_cast<Collective>(each), true, host);
    if (is_provisional(answer)) left = static_cast<std::uint8_t>(left | 1U << each);
  }
  forget_wishes(state);
  state.wishes = left;
  open_wishes += std::popcount(left);
}

bool has_wishes() noexcept { return open_wishes.load(std::memory_order_relaxed) != 0; }

void before_barrier(MPI_Comm comm) noexcept {
  // Wishes are the same on all ranks of a communicator, so those that have none elsewhere need not look.
  if (!has_wishes() || !ReentrancyGuard::is_outside()) return;
  const ReentrancyGuard reentrancy;
  Runtime* process = runtime();
  if (process == nullptr || comm == MPI_COMM_NULL) return;
  guarded(comm, [&]() -> std::optional<int> {
    const CommunicatorState* known = known_state(*process, comm);
    if (known == nullptr || known->wishes == 0) return std::nullopt;
    CommunicatorState* state = state_of(*process, comm);
    fulfil_wishes(*state, comm);
    return std::nullopt;
  });
}

int MpiHost::rank() const {
  int value = 0;
  PMPI_Comm_rank(comm_, &value);
  return value;
}

int MpiHost::size() const {
  int value = 0;
  PMPI_Comm_size(comm_, &value);
  return value;
}

int MpiHost::world_rank() const { return MpiHost(MPI_COMM_WORLD).rank(); }
int MpiHost::world_size() const { return MpiHost(MPI_COMM_WORLD).size(); }
bool MpiHost::may_have_device_memory() const { return has_device_runtime(); }
bool MpiHost::spans_worlds() const { return PrivateMessages::world_ranks_of(comm_).empty(); }

std::string MpiHost::host_name() const {
  std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
  int length = 0;
  PMPI_Get_processor_name(text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string MpiHost::name() const {
  std::array<char, MPI_MAX_OBJECT_NAME> text{};
  int length = 0;
  PMPI_Comm_get_name(comm_, text.data(), &length);
#ifdef LIBCOLL_STANDARD_ABI
  // It has no numbers for Fortran.
  const std::uint64_t number = number_of(comm_);
#else
  const MPI_Fint number = PMPI_Comm_c2f(comm_);
#endif
  return length > 0 ? std::string(text.data()) : "communicator " + std::to_string(number);
}

MPI_Comm own_of(MPI_Comm comm) {
  Runtime* process = runtime();
  CommunicatorState* state = process == nullptr ? nullptr : known_state(*process, comm);
  if (state == nullptr) return MPI_COMM_NULL;
  if (state->own == MPI_COMM_NULL) state->own = make_own_communicator(comm, process->threads_may_call_mpi());
  return state->own;
}

bool MpiHost::allgather(const void* mine, std::size_t bytes, void* all) {
  const int count = static_cast<int>(bytes);
  const Agreeing agreeing(number_of(comm_));
  const MPI_Comm own = own_of(comm_);
  return own != MPI_COMM_NULL && PMPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, own) == MPI_SUCCESS;
}

bool MpiHost::broadcast(void* data, std::size_t bytes) {
  constexpr std::size_t most = 1U << 30U;
  const Agreeing agreeing(number_of(comm_));
  const MPI_Comm own = own_of(comm_);
  if (own == MPI_COMM_NULL) return false;
  for (std::size_t begin = 0; begin < bytes; begin += most) {
    const int count = static_cast<int>(std::min(most, bytes - begin));
    if (PMPI_Bcast(static_cast<char*>(data) + begin, count, MPI_BYTE, 0, own) != MPI_SUCCESS) {
      return false;
    }
  }
  return true;
}

bool MpiHost::begin_barrier() {
  const MPI_Comm own = own_of(comm_);
  return own != MPI_COMM_NULL && PMPI_Ibarrier(own, &barrier_) == MPI_SUCCESS;
}

bool MpiHost::barrier_passed() {
  int passed = 0;
  // An error ends the wait as well: there is nothing left to wait for.
  return PMPI_Test(&barrier_, &passed, MPI_STATUS_IGNORE) != MPI_SUCCESS || passed != 0;
}

void MpiHost::progress() { progress_mpi(); }

bool MpiHost::reach_all(Runtime& process) {
  if (!process.over_host_messages()) return true;
  // A channel of some processes is known to all of them, but threads may make several at once, in any order: so all
  // say what they have.
  enum Vote : char { no, with_new_channel, yes };
  const std::vector<int> processes = PrivateMessages::world_ranks_of(comm_);
  char mine = no;
  {
    const std::lock_guard guard(process.lock());
    if (private_messages->reaches(processes)) {
      mine = yes;
    } else if (private_messages->has_room()) {
      mine = with_new_channel;
    }
  }
  if (processes.empty()) mine = no;
  std::vector<char> votes(static_cast<std::size_t>(size()));
  if (!allgather(&mine, 1, votes.data())) return false;
  const char least = *std::min_element(votes.begin(), votes.end());
  if (least != with_new_channel) return least == yes;
  PrivateMessages::Channel channel{PrivateMessages::make_communicator(own_of(comm_)), processes};
  char made = channel.comm == MPI_COMM_NULL ? no : yes;
  if (made == yes) {
    const std::lock_guard guard(process.lock());
    private_messages->add(std::move(channel));
  }
  if (!allgather(&made, 1, votes.data())) return false;
  return *std::min_element(votes.begin(), votes.end()) == yes;
}

void progress_mpi() noexcept {
  // A probe moves everything along; whether it finds something is of no interest. MPICH's looks for messages from the
  // process itself and at nothing else where the communicator has no other.
#ifdef OPEN_MPI
  const MPI_Comm comm = MPI_COMM_SELF;
#else
  const MPI_Comm own = own_world_communicator();
  const MPI_Comm comm = own == MPI_COMM_NULL ? MPI_COMM_WORLD : own;
#endif
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
}

bool mpi_calls_progress() noexcept { return called_by_mpi; }

bool progress_own() noexcept { return progress_ours() != 0; }

void after_init() noexcept {
  if (mpi_is_running()) open_own_world();
}

void before_finalize() {
  // No collective was ever called here: rank 0 says so where statistics were asked for, and waits for the others.
  if (process_runtime.load() == nullptr && mpi_is_running()) {
    write_reports(Statistics(), nullptr, load_config(environ).config);
  }
}

void after_finalize() {
  // MPI_Finalize has synchronised the ranks: nobody talks to our transport any more. Communicators that outlive
  // it (their attributes went with MPI) do not touch it.
  finalizing = true;
  FallThroughCache::forget_all();
  delete process_runtime.exchange(nullptr);
  private_messages.reset();
}

long calls_served(const char* collective) {
  const std::optional<CallKind> parsed = parse_call(collective == nullptr ? "" : collective);
  if (!parsed) return -1;
  Runtime* process = process_runtime.load();
  return process == nullptr ? 0 : static_cast<long>(process->statistics().served(*parsed));
}

}  // namespace libcoll::pmpi

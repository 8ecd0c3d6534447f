#include "libcoll/serve/process.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/base/library_directory.h"
#include "libcoll/base/log.h"
#include "libcoll/serve/accepted_pairs.h"
#include "libcoll/serve/agreeing.h"
#include "libcoll/serve/communicator_state.h"
#include "libcoll/serve/fall_through_cache.h"
#include "libcoll/serve/finalize_report.h"
#include "libcoll/serve/mpi_host.h"
#include "libcoll/serve/mpi_messages.h"
#include "libcoll/serve/next.h"
#include "libcoll/serve/own_communicator.h"
#include "libcoll/serve/pending.h"
#include "libcoll/serve/persistent.h"
#include "libcoll/serve/way_messages.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "libcoll/version.h"

namespace libcoll::serve {

using namespace comm;
using namespace observe;
using namespace transport::ucx;

namespace {

std::atomic<Runtime*> process_runtime{nullptr};
std::atomic<bool> finalizing{false};
std::once_flag runtime_once;
std::unique_ptr<PrivateMessages> messages;  ///< see private_messages()

int copy_nothing(MpiComm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return mpi_success;
}

/// MPI's own progress calls ours.
std::atomic<bool> called_by_mpi{false};

/// MPI_COMM_SELF's attributes go first in MPI_Finalize, while MPI still works, whatever language called it.
int finish_with_self(MpiComm, int, void*, void*) {
  keep_own_communicators();
  Runtime* process = process_runtime.load();
  if (process == nullptr) return mpi_success;
  process->way_questions()->close();
  finish_pending(*process);
  drop_persistent();
  // Other ranks may wait for what the last call left to be delivered. Where MPI does not call us, the thread delivers
  // it until MPI_Finalize has synchronised the ranks.
  if (called_by_mpi || process->over_host_messages()) process->engine().stop_progress_thread();
  write_reports(process->statistics(), process->trace(), process->config());
  if (process->over_host_messages()) {
    // The transport ends with MPI. What is still to come, in callbacks of the program's, falls through everywhere.
    finalizing = true;
    FallThroughCache::forget_all();
    const std::lock_guard guard(process->lock());
    messages->close();
  }
  return mpi_success;
}

/// When ranks that agree have waited for the others for too long.
void tell_of_agreement(const Runtime& process) noexcept try {
  const std::chrono::nanoseconds waited(Agreeing::untold_nanoseconds());
  const auto in_words = [] {
    const MpiHost host(MpiComm{Agreeing::take_untold().value_or(number_of(mpi.comm_world))});
    return host.name() + ": rank " + std::to_string(host.rank()) + " waits for others to agree on how calls go";
  };
  if (waited.count() > 0) process.engine().warn_of_silence(waited, in_words);
} catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line; the agreement goes on
}

/// By MPI's own progress, where it takes callbacks: what a call of ours left to be delivered moves as well.
int progress_ours() {
  // MPI makes progress inside our own calls, too: the transport is at it then.
  if (PrivateMessages::calling()) return 0;
  Runtime* process = process_runtime.load(std::memory_order_acquire);
  if (process == nullptr) return 0;
  process->way_questions()->look();
  const bool moved = called_by_mpi ? process->engine().progress_in_passing() : process->engine().progress();
  complete_ended(*process);
  if (!moved) {
    tell_of_agreement(*process);
    Agreeing::nap();
  }
  return moved ? 1 : 0;
}

/// A function of MPI's progress that takes another callback.
using ProgressHook = int (*)(int (*callback)());
struct ProgressHooks {
  ProgressHook always = nullptr;
  ProgressHook seldom = nullptr;
};
ProgressHooks progress_hooks;

/// Even a callback that does nothing takes a part of MPI's smallest calls that can be measured.
void attend(bool closely) noexcept {
  if (closely && progress_hooks.always(&progress_ours) == 0) return;
  progress_hooks.seldom(&progress_ours);
}

ProgressHook find_hook(const char* name) { return name == nullptr ? nullptr : next_symbol<ProgressHook>(name); }

void register_progress(Runtime& process, bool serves) {
  const libcoll_mpi_interface& description = *mpi.description;
  progress_hooks = {find_hook(description.progress_hook), find_hook(description.seldom_progress_hook)};
  const bool is_hooked = progress_hooks.always != nullptr && progress_hooks.seldom != nullptr &&
                         (!serves || progress_hooks.seldom(&progress_ours) == 0);
  if (!is_hooked) {
    process.engine().use_progress_thread();
    // Whether our thread may move calls along that nobody waits for depends on it, and has to be the same on all ranks.
    if (serves) process.open_transport();
    return;
  }
  called_by_mpi = true;
  process.engine().set_background_progress(serves ? &attend : nullptr);
  if (own_world_communicator() != mpi.comm_null) process.way_questions()->open(way_messages());
}

/// The launcher says how many processes of the job it started on this host. One inside another's job leaves both words.
HostMates host_mates() {
  HostMates mates = HostMates::possible;
  for (const char* const* variable = mpi.description->local_size_variables; *variable != nullptr; ++variable) {
    const char* ranks = std::getenv(*variable);
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
  int self_keyval = mpi.keyval_invalid;
  if (!make_state_key() ||
      mpi.comm_create_keyval(&copy_nothing, &finish_with_self, &self_keyval, nullptr) != mpi_success ||
      mpi.comm_set_attr(mpi.comm_self, self_keyval, nullptr) != mpi_success) {
    return;
  }
  messages = std::make_unique<PrivateMessages>();
  auto process = std::make_unique<Runtime>(environ, library_directory(reinterpret_cast<const void*>(&runtime)),
                                           MpiHost(mpi.comm_world).world_rank(), messages.get(), host_mates());
  if (!process->may_use_host_messages()) messages.reset();
  // Who serves nothing has nothing to look after.
  const bool serves = !process->obstacle();
  if (serves) find_accepted_pairs();
  process->set_host_digest(digest_of_accepted_pairs());
  register_progress(*process, serves);
  warn_of_absentees(MpiHost(mpi.comm_world).world_rank());
  int level = 0;
  mpi.query_thread(&level);
  if (level == mpi.thread_multiple) {
    process->engine().set_threads_may_call_mpi();
  } else {
    process->statistics().set_one_thread_at_a_time();
  }
  process_runtime = process.release();
}

bool mpi_is_running() {
  int initialized = 0;
  int finalized = 0;
  mpi.initialized(&initialized);
  mpi.finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

}  // namespace

Runtime* runtime() {
  if (Runtime* process = process_runtime.load(std::memory_order_acquire)) return finalizing ? nullptr : process;
  if (finalizing || !mpi_is_running()) return nullptr;
  std::call_once(runtime_once, start_runtime);
  return process_runtime.load(std::memory_order_acquire);
}

PrivateMessages* private_messages() { return messages.get(); }

void progress_mpi() noexcept {
  // A probe moves everything along; whether it finds something is of no interest. MPICH's looks for messages from the
  // process itself and at nothing else where the communicator has no other.
  const MpiComm own = own_world_communicator();
  MpiComm comm = own == mpi.comm_null ? mpi.comm_world : own;
  if (mpi.description->self_probe_progresses != 0) comm = mpi.comm_self;
  int found = 0;
  // Open MPI's does not where it finds one at once.
  mpi.iprobe(mpi.any_source, unused_tag, comm, &found, mpi.status_ignore);
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
  messages.reset();
}

long calls_served(const char* collective) {
  const std::optional<CallKind> parsed = parse_call(collective == nullptr ? "" : collective);
  if (!parsed) return -1;
  Runtime* process = process_runtime.load();
  return process == nullptr ? 0 : static_cast<long>(process->statistics().served(*parsed));
}

}  // namespace libcoll::serve

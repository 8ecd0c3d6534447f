#include "libcoll/comm/runtime.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/base/plan_name.h"
#include "libcoll/comm/placement_file.h"
#include "libcoll/comm/progress_thread.h"
#include "libcoll/recover/repair.h"
#include "libcoll/version.h"
#include "planner/topology/reader.h"

namespace libcoll::comm {

using namespace execute;
using namespace observe;
using namespace plan;
using namespace recover;
using namespace schedule;
using namespace select;
using namespace topology;
using namespace transport;
using namespace transport::mpi;
using namespace transport::ucx;

namespace {

/// A waiting rank looks after the program's own MPI at intervals that grow with the wait: each look costs system calls,
/// and the ranks of a machine share its cores.
constexpr std::chrono::nanoseconds shortest_hook_interval = std::chrono::microseconds(100);
constexpr std::chrono::nanoseconds longest_hook_interval = std::chrono::milliseconds(8);
constexpr int hook_intervals_per_wait = 4;

/// Polling that ended in blocking this often in a row is left out, but for a try every now and then.
constexpr unsigned fruitless_limit = 3;
constexpr unsigned waits_per_try = 32;

/// How long a finished call waits for what it still owes its peers, when MPI will look after that later: over shared
/// memory almost always nothing, over tcp also for answers of peers that may have gone on already.
constexpr auto flush_time = std::chrono::microseconds(200);

/// Looking after our messages costs MPI's own calls time that is wasted as a rule: after so many looks in vain MPI is
/// to ask seldom, and only one look in so many is made.
constexpr unsigned looks_until_seldom = 64;
constexpr unsigned looks_per_progress = 4;

/// Beyond this the group takes longer to check than the plans that it spares take to make.
constexpr std::int32_t most_hosts_of_translations = 1024;
using Clock = std::chrono::steady_clock;

/// FNV-1a.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char character : text) {
    value = (value ^ static_cast<unsigned char>(character)) * 0x100000001b3U;
  }
  return value;
}

}  // namespace

Runtime::Runtime(char* const* environment, const std::string& library_directory, int world_rank,
                 MpiMessages* host_messages, HostMates mates)
    : transport_(config_, route_binding_, host_messages, mates), unattended_(config_, transport_) {
  const std::int64_t began = steady_nanoseconds();
  LoadedConfig loaded = load_config(environment);
  config_ = std::move(loaded.config);
  runs_progress_thread_ = config_.progress_thread;
  seeks_core_ = config_.progress_thread;
  configure_log(config_.log_level, world_rank);
  // Every rank reads the same settings as a rule; one voice is enough.
  if (world_rank == 0) {
    for (const std::string& warning : loaded.warnings) log(LogLevel::warn, warning);
  }
  if (!config_.trace.empty()) trace_ = std::make_unique<Trace>(config_.trace_events);
  keeps_records_ = trace_ != nullptr || !config_.stats.empty();
  if (!config_.enable) obstacle_ = Reason::disabled;
  if (!obstacle_) read_topology();
  if (!obstacle_) read_placement_of(world_rank);
  if (!obstacle_) read_route_binding();
  if (!obstacle_) read_tuning_table();
  if (!obstacle_) open_transport();
  if (config_.command.empty()) config_.command = find_command(library_directory);
  settings_digest_ = digest();
  start_nanoseconds_ = steady_nanoseconds() - began;
}

Runtime::~Runtime() {
  stop_progress_thread();
  unattended_.drop_errands();
  for (Flush& flush : lingering_) transport_->abandon(flush);
  lingering_.clear();
  known_recovery_group_.reset();
  if (resilient() == nullptr) return;
  const ResendCounts counts = resilient()->counts();
  if (counts.messages_sent_again + counts.messages_sent_around + counts.packets_passed_on == 0) return;
  log(LogLevel::info, std::to_string(counts.messages_sent_again) + " messages were sent again, " +
                          std::to_string(counts.messages_sent_around) + " took another way at once; " +
                          std::to_string(counts.packets_passed_on) + " packets were passed on for others, " +
                          std::to_string(counts.duplicates_dropped) + " duplicates dropped");
}

void Runtime::read_topology() {
  if (config_.topology.empty()) {
    obstacle_ = Reason::no_topology;
    return;
  }
  if (config_.watch_topology) topology_watch_.open(config_.topology);
  Result<Topology> topology = load_topology(config_.topology);
  if (topology) {
    topology_ = std::move(*topology);
    topology_watch_.set_start(topology_);
    return;
  }
  obstacle_ = Reason::bad_topology;
  log(LogLevel::warn, topology.error().message);
}

/// A rank that is not placed is told of to the others, and all fall through.
void Runtime::read_placement_of(int world_rank) {
  if (config_.placement.empty()) return;
  const Result<NodeId> placed = load_placement(config_.placement, topology_, world_rank);
  placed_ = placed.ok() ? *placed : badly_placed;
  if (!placed) log(LogLevel::warn, placed.error().message);
}

RankIdentity Runtime::identity(const std::string& host, std::int32_t world_rank, std::int32_t world_size) {
  std::call_once(aliases_once_, [&] {
    if (config_.host.empty()) aliases_ = names_of_host(host, environ);
  });
  RankIdentity identity;
  identity.world_rank = world_rank;
  identity.world_size = world_size;
  identity.told = node_;
  identity.placed = placed_;
  set_names(identity, config_.host.empty() ? host : config_.host, aliases_);
  return identity;
}

void Runtime::tell_of_unknown_host(const RankIdentity& rank, bool aloud) {
  {
    const std::lock_guard guard(lock_);
    if (!unknown_hosts_.insert(rank.host.data()).second) return;
  }
  if (aloud) log(LogLevel::warn, unknown_host_sentence(topology_, rank) + "; its communicators fall through");
}

void Runtime::read_route_binding() {
  if (config_.route_binding.empty()) return;
  Result<RouteBinding> binding = load_route_binding(config_.route_binding);
  if (binding) {
    route_binding_ = std::move(*binding);
    return;
  }
  obstacle_ = Reason::bad_route_binding;
  log(LogLevel::warn, binding.error().message);
}

/// A table that cannot be read on one rank shows in its digest, and all ranks fall back.
void Runtime::read_tuning_table() {
  if (config_.tuning_table.empty()) return;
  Result<TuningTable> table = load_tuning_table(config_.tuning_table);
  if (table) {
    tuning_table_ = std::move(*table);
  } else {
    log(LogLevel::warn, table.error().message + "; it has no effect");
  }
}

void Runtime::open_transport() {
  const Status opened = transport_.open();
  if (opened) return;
  obstacle_ = Reason::transport;
  log(LogLevel::warn, opened.error().message);
}

void Runtime::use_transport() {
  // Not while another thread has it changed.
  const std::lock_guard guard(lock_);
  ++transport_users_;
}

void Runtime::fall_back_to(std::int32_t choice) {
  const std::lock_guard guard(lock_);
  if (!may_change_transport()) return;
  if (Status changed = transport_.fall_back_to(choice); !changed) {
    log(LogLevel::info, changed.error().message);
    return;
  }
  settings_digest_ = digest();
}

void Runtime::set_host_digest(std::uint64_t host) {
  host_digest_ = host;
  settings_digest_ = digest();
}

void Runtime::know_recovery_group(std::shared_ptr<Repair> repair, std::vector<std::string> addresses) {
  if (known_recovery_group_ != nullptr) return;
  known_recovery_group_ = std::move(repair);
  recovery_group_addresses_ = std::move(addresses);
}

NodeId Runtime::place_in_known_recovery_group(const std::string& address) const {
  const auto found = std::find(recovery_group_addresses_.begin(), recovery_group_addresses_.end(), address);
  return found == recovery_group_addresses_.end() ? -1 : static_cast<NodeId>(found - recovery_group_addresses_.begin());
}

std::uint64_t Runtime::digest() const {
  std::string text = LIBCOLL_VERSION;
  for (const std::string& part :
       {std::to_string(static_cast<int>(route_binding_.backend)), std::to_string(host_digest_),
        !transport_ ? std::string() : transport_->name(), std::string(resilient() == nullptr ? "once" : "again"),
        // The plan file's name is a hash over the whole topology.
        plan_file_name(topology_, Collective::allgather, ""),
        // Devices may be named differently from node to node.
        std::to_string(route_binding_.classes.size()), route_binding_.routes,
        std::to_string(static_cast<int>(config_.tuning_table.empty())), write_tuning_table(tuning_table_)}) {
    text.append(part).append("\n");
  }
  for (const Setting& setting : settings()) {
    if (setting.scope == SettingScope::job) text.append(setting.print(config_)).append("\n");
  }
  for (const Node& node : topology_.nodes()) text.append(node.host).append("\n");
  return hash(text);
}

const std::vector<Automorphism>& Runtime::translation_group() {
  std::call_once(translations_once_, [this] {
    if (topology_.host_count() <= most_hosts_of_translations) translations_ = translations(topology_);
  });
  return translations_;
}

bool Runtime::step(Driven& running, bool& rests, bool& lost) {
  const std::lock_guard guard(lock_);
  const bool moved = transport_->progress();
  if (moved) unattended_.note_movement();
  running.advance();
  unattended_.advance();
  rests = running.rests();
  if (!moved && !rests && transport_->has_broken(running.peers())) lost = true;
  return moved;
}

void Runtime::look_after(Unattended& call) {
  unattended_.look_after(call);
  attend(true);
  wake_progress_thread();
}

void Runtime::wake_progress_thread() {
  if (!has_progress_thread()) return;
  try {
    if (progress_thread_ == nullptr) {
      progress_thread_ = std::make_unique<ProgressThread>(*this);
      if (!progress_processors_.empty()) progress_thread_->bind(progress_processors_);
    }
    progress_thread_->wake();
  } catch (const std::system_error& error) {
    runs_progress_thread_ = false;
    log(LogLevel::warn, std::string("no progress thread: ") + error.what());
  }
}

std::vector<Unattended*> Runtime::take_ended() {
  if (!unattended_.have_ended()) return {};
  std::vector<std::shared_ptr<Errand>> done;  // goes after the lock
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) return {};
  return unattended_.take_ended(done);
}

bool Runtime::step_unattended() noexcept {
  const bool moved = transport_->progress();
  if (moved) unattended_.note_movement();
  unattended_.advance(threads_may_call_mpi_);
  if (!unattended_.empty()) unattended_.exchange_signs_of_life(Clock::now());
  std::erase_if(lingering_, [this](Flush& flush) { return transport_->flushed(flush, {}); });
  return moved;
}

void Runtime::give_core_to_progress_thread(const std::string& processors) {
  const std::lock_guard guard(lock_);
  if (!seeks_core_.exchange(false)) return;
  progress_processors_ = processors;
  if (progress_thread_ != nullptr && !processors.empty()) progress_thread_->bind(processors);
}

void Runtime::stop_progress_thread() { progress_thread_.reset(); }

int Runtime::milliseconds_to_next_advance(const Driven& running) {
  const std::lock_guard guard(lock_);
  return unattended_.milliseconds_to_next_advance(running.milliseconds_to_next_advance());
}

bool Runtime::arm() {
  const std::lock_guard guard(lock_);
  return transport_->arm();
}

bool Runtime::progress() noexcept {
  looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const std::unique_lock guard(lock_, std::try_to_lock);
  return guard.owns_lock() && transport_ && progress_transport();
}

void Runtime::set_background_progress(void (*how)(bool closely) noexcept) {
  const std::lock_guard guard(lock_);
  background_progress_ = true;
  attend_ = how;
  // Where lost messages are sent again, others may need this process at any time.
  attend(resilient() != nullptr);
}

void Runtime::attend(bool closely) noexcept {
  looks_in_vain_.store(0, std::memory_order_relaxed);
  if (closely_.exchange(closely, std::memory_order_relaxed) == closely || attend_ == nullptr) return;
  attend_(closely);
}

bool Runtime::program_makes_progress() {
  constexpr unsigned looks_of_a_wait = 64;
  const unsigned looks = looks_.load(std::memory_order_relaxed);
  return looks - std::exchange(looks_seen_, looks) > looks_of_a_wait;
}

bool Runtime::progress_in_passing() noexcept {
  looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const unsigned looks = looks_in_vain_.load(std::memory_order_relaxed) + 1;
  looks_in_vain_.store(looks, std::memory_order_relaxed);
  // The lock alone would be felt in MPI's smallest calls.
  if (!closely_.load(std::memory_order_relaxed) && looks % looks_per_progress != 0) return false;
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock() || !transport_) return false;
  const bool moved = progress_transport();
  if (moved || !unattended_.empty() || resilient() != nullptr) {
    looks_in_vain_.store(0, std::memory_order_relaxed);
  } else if (looks > looks_until_seldom) {
    attend(false);
  }
  return moved;
}

bool Runtime::progress_transport() noexcept {
  const bool moved = transport_->progress();
  unattended_.advance();
  if (moved) unattended_.note_movement();
  unattended_.give_up();
  return moved;
}

/// Whether this wait begins with polling.
bool Runtime::polling_pays() noexcept {
  const unsigned fruitless = fruitless_polls_.load(std::memory_order_relaxed);
  if (fruitless < fruitless_limit) return true;
  fruitless_polls_.store(fruitless + 1, std::memory_order_relaxed);
  return fruitless % waits_per_try == 0;
}

bool Runtime::wait_for_rest(Driven& running, ProgressHook hook, const std::function<std::string()>& in_words) {
  const auto poll_time = std::chrono::microseconds(config_.poll_microseconds);
  const auto patience = std::chrono::seconds(config_.timeout_seconds);
  const Clock::time_point begin = Clock::now();
  Clock::time_point still_since = begin;
  Clock::time_point next_hook = begin + shortest_hook_interval;
  bool still = false;
  bool poll = true;
  bool told = false;
  bool lost = false;
  for (bool rests = false;;) {
    const bool moved = step(running, rests, lost);
    if (rests) return true;
    if (lost) {
      log(LogLevel::error, "a collective fails: the connection to another rank broke");
      return false;
    }
    if (moved) {
      if (still && poll) fruitless_polls_.store(0, std::memory_order_relaxed);
      still = false;
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (!still) {
      still = true;
      still_since = now;
      poll = polling_pays();
    }
    if (!told && now - still_since > shortest_hook_interval) {
      const std::lock_guard guard(lock_);
      told = warn_of_silence(now - still_since, in_words);
    }
    if (config_.timeout_seconds > 0 && now - still_since > patience) {
      log(LogLevel::error, "a collective fails: nothing moved for " + std::to_string(config_.timeout_seconds) + " s");
      return false;
    }
    if (now >= next_hook) {
      hook();
      next_hook = now + std::clamp<std::chrono::nanoseconds>((now - begin) / hook_intervals_per_wait,
                                                             shortest_hook_interval, longest_hook_interval);
      continue;
    }
    if (poll && now - still_since < poll_time) {
      sched_yield();
      continue;
    }
    if (std::exchange(poll, false)) fruitless_polls_.fetch_add(1, std::memory_order_relaxed);
    const auto until_hook = std::chrono::ceil<std::chrono::milliseconds>(next_hook - now).count();
    if (arm()) transport_->block(std::min(static_cast<int>(until_hook), milliseconds_to_next_advance(running)));
  }
}

bool Runtime::wait(const std::function<bool()>& done, const std::function<void()>& meanwhile,
                   const std::function<std::string()>& in_words) {
  Clock::time_point still_since = Clock::now();
  bool told = false;
  for (;;) {
    bool moved = false;
    {
      const std::lock_guard guard(lock_);
      moved = transport_->progress();
      unattended_.advance_errands();
      if (done()) return true;
    }
    const Clock::time_point now = Clock::now();
    if (moved) still_since = now;
    told = told || warn_of_silence(now - still_since, in_words);
    if (config_.timeout_seconds > 0 && now - still_since > std::chrono::seconds(config_.timeout_seconds)) return false;
    meanwhile();
    if (!moved && arm()) transport_->block(1);
  }
}

void Runtime::flush(std::span<const PeerId> peers, ProgressHook hook) {
  const Clock::time_point deadline = Clock::now() + flush_time;
  Flush flush;
  for (;;) {
    {
      const std::lock_guard guard(lock_);
      if (transport_->flushed(flush, peers)) return;
      transport_->progress();
      if (Clock::now() > deadline && leave_to_others(flush)) return;
    }
    hook();
    sched_yield();
  }
}

bool Runtime::leave_to_others(Flush& flush) {
  if (background_progress_) {
    transport_->abandon(flush);
    return true;
  }
  // Over tcp the others answer in their own progress, and they may be in MPI until this process comes there, too.
  if (!has_progress_thread()) return false;
  lingering_.push_back(std::move(flush));
  wake_progress_thread();
  return true;
}

bool Runtime::drive(Driven& running, ProgressHook hook, const std::function<std::string()>& in_words) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const bool rests = wait_for_rest(running, hook, in_words);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  if (!rests || running.failed()) return false;
  if (!background_progress_ || running.largest_message_bytes() > transport_->unflushed_bytes()) {
    flush(running.peers(), hook);
  }
  return true;
}

}  // namespace libcoll::comm

#include "libcoll/runtime/runtime.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/plan_cache.h"
#include "libcoll/runtime/progress_thread.h"
#include "libcoll/runtime/repair.h"
#include "libcoll/transport/ofi_transport.h"
#include "libcoll/transport/packet.h"
#include "libcoll/transport/uct_transport.h"
#include "libcoll/transport/ucx_transport.h"
#include "libcoll/version.h"
#include "planner/topology/reader.h"

namespace libcoll {
namespace {

/// A waiting rank looks after the program's own MPI at intervals that grow with the wait: each look costs system calls,
/// and the ranks of a machine share its cores.
constexpr std::chrono::nanoseconds shortest_hook_interval = std::chrono::microseconds(100);
constexpr std::chrono::nanoseconds longest_hook_interval = std::chrono::milliseconds(8);
constexpr int hook_intervals_per_wait = 4;

/// Polling that ended in blocking this often in a row is left out, but for a try every now and then.
constexpr unsigned fruitless_limit = 3;
constexpr unsigned waits_per_try = 32;

/// A program that lets MPI make progress less often than this is not waiting.
constexpr auto longest_absence = std::chrono::milliseconds(500);

/// How long a finished call waits for what it still owes its peers, when MPI will look after that later: over shared
/// memory almost always nothing, over tcp also for answers of peers that may have gone on already.
constexpr auto flush_time = std::chrono::microseconds(200);

constexpr std::array<std::string_view, transports_by_availability> by_availability = {"ucx", "ofi", "mpi"};

/// Looking after our messages costs MPI's own calls time that is wasted as a rule: after so many looks in vain MPI is
/// to ask seldom, and only one look in so many is made.
constexpr unsigned looks_until_seldom = 64;
constexpr unsigned looks_per_progress = 4;

/// Beyond this the group takes longer to check than the plans that it spares take to make.
constexpr std::int32_t most_hosts_of_translations = 1024;
using Clock = std::chrono::steady_clock;

/// Over tcp, UCX waits for a connection while it is made: over a broken link, for minutes. And when a peer dies while
/// UCX sends from our memory, without a copy, it may end that send twice, and then the process (1.13: "comp->count >
/// 0"). So it copies. Every piece it copies is a system call: 8 KiB, as a rule, cost more than the longer ones that
/// receivers have room for. And it need not ask receivers first: senders of long messages wait for them as it is.
RouteBinding for_failures(RouteBinding binding) {
  if (binding.classes.empty()) binding.classes.emplace_back();
  const bool sizes_are_said =
      std::getenv("UCX_TCP_TX_SEG_SIZE") != nullptr || std::getenv("UCX_TCP_RX_SEG_SIZE") != nullptr;
  const bool rendezvous_is_said = std::getenv("UCX_RNDV_THRESH") != nullptr;
  for (RouteClassBinding& each : binding.classes) {
    // What the binding says of these comes later, and stays.
    if (!sizes_are_said) each.settings.emplace(each.settings.begin(), "TX_SEG_SIZE", "32k");
    if (!rendezvous_is_said) each.settings.emplace(each.settings.begin(), "RNDV_THRESH", "inf");
    each.settings.emplace_back("CONN_NB", "y");
    each.settings.emplace_back("ZCOPY_THRESH", "inf");
  }
  return binding;
}

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
    : host_messages_(host_messages), mates_(mates) {
  const std::int64_t began = steady_nanoseconds();
  LoadedConfig loaded = load_config(environment);
  config_ = std::move(loaded.config);
  configure_log(config_.log_level, world_rank);
  // Every rank reads the same settings as a rule; one voice is enough.
  if (world_rank == 0) {
    for (const std::string& warning : loaded.warnings) log(LogLevel::warn, warning);
  }
  if (!config_.trace.empty()) trace_ = std::make_unique<Trace>(config_.trace_events);
  keeps_records_ = trace_ != nullptr || !config_.stats.empty();
  if (!config_.enable) obstacle_ = Reason::disabled;
  if (obstacle_ == Reason::count_) read_topology();
  if (obstacle_ == Reason::count_) read_route_binding();
  if (obstacle_ == Reason::count_) read_tuning_table();
  if (obstacle_ == Reason::count_) open_transport();
  if (transport_ != nullptr) make_resilient();
  if (config_.command.empty()) config_.command = find_command(library_directory);
  settings_digest_ = digest();
  start_nanoseconds_ = steady_nanoseconds() - began;
}

Runtime::~Runtime() {
  errands_.clear();
  errands_done_.clear();
  known_recovery_group_.reset();
  if (resilient_ == nullptr) return;
  const ResendCounts counts = resilient_->counts();
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
  Result<Topology> topology = load_topology(config_.topology);
  if (topology) {
    topology_ = std::move(*topology);
    return;
  }
  obstacle_ = Reason::bad_topology;
  log(LogLevel::warn, topology.error().message);
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

Result<std::unique_ptr<Transport>> Runtime::make_transport(std::string_view name) {
  if (name == "ucx") {
    if (route_binding_.backend == SteeringBackend::uct) return make_uct_transport(route_binding_);
    // Where messages are sent again, a peer that has ended its last call may leave before all are confirmed: its
    // connection is gone then, and nothing is lost.
    if (patience_nanoseconds() > 0) return make_ucx_transport(for_failures(route_binding_), HostMates::possible);
    return make_ucx_transport(route_binding_, mates_);
  }
  if (name == "ofi") {
    // Bundles are far below a segment's largest size, and longer than a small one's; both may bear a stamp.
    const std::int64_t largest =
        std::max({config_.segment_bytes + static_cast<std::int64_t>(stamp_bytes),
                  largest_bundle_bytes(config_.coalesce_max) + static_cast<std::int64_t>(stamp_bytes),
                  static_cast<std::int64_t>(large_packet_bytes)});
    return make_ofi_transport(route_binding_, {config_.ofi_provider, largest, false});
  }
  if (host_messages_ == nullptr) return Error{"MPI's own messages are not to be had here"};
  over_host_messages_ = true;
  return make_mpi_transport(*host_messages_);
}

Result<std::unique_ptr<Transport>> Runtime::first_available(std::int32_t choice) {
  std::string reasons;
  for (; choice < transports_by_availability; ++choice) {
    Result<std::unique_ptr<Transport>> transport = make_transport(by_availability[static_cast<std::size_t>(choice)]);
    if (transport) {
      transport_choice_ = choice;
      if (!reasons.empty()) log(LogLevel::info, (*transport)->name() + " is used; " + reasons);
      return transport;
    }
    reasons.append(reasons.empty() ? "" : "; ").append(transport.error().message);
  }
  return Error{reasons};
}

void Runtime::open_transport() {
  // A binding's settings are UCX's as a rule: another transport has to be asked for.
  const bool any = config_.transport == "auto" && config_.route_binding.empty();
  const std::string_view only = config_.transport == "auto" ? by_availability.front() : config_.transport;
  Result<std::unique_ptr<Transport>> transport = any ? first_available(0) : make_transport(only);
  if (transport) {
    transport_ = std::move(*transport);
    return;
  }
  obstacle_ = Reason::transport;
  log(LogLevel::warn, transport.error().message);
}

void Runtime::use_transport() {
  // Not while another thread has it changed.
  const std::lock_guard guard(lock_);
  ++transport_users_;
}

void Runtime::fall_back_to(std::int32_t choice) {
  const std::lock_guard guard(lock_);
  if (!may_change_transport()) return;
  Result<std::unique_ptr<Transport>> transport = first_available(choice);
  if (!transport) {
    log(LogLevel::info, transport.error().message);
    return;
  }
  resilient_ = nullptr;
  transport_ = std::move(*transport);
  make_resilient();
  settings_digest_ = digest();
}

void Runtime::set_host_digest(std::uint64_t host) {
  host_digest_ = host;
  settings_digest_ = digest();
}

std::int64_t Runtime::patience_nanoseconds() const {
  const std::int64_t nanoseconds = over_host_messages_ ? 0 : config_.resend_seconds * 1'000'000'000;
  // Several attempts before the call is given up.
  constexpr std::int64_t attempts = 6;
  if (config_.timeout_seconds == 0) return nanoseconds;
  return std::min(nanoseconds, config_.timeout_seconds * 1'000'000'000 / attempts);
}

void Runtime::make_resilient() {
  const std::int64_t patience = patience_nanoseconds();
  if (patience == 0) return;
  ResendOptions options;
  options.patience_nanoseconds = patience;
  options.now_nanoseconds = &steady_nanoseconds;
  auto resilient = make_resilient_transport(std::move(transport_), options);
  resilient_ = resilient.get();
  transport_ = std::move(resilient);
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
        transport_ == nullptr ? std::string() : transport_->name(),
        std::string(resilient_ == nullptr ? "once" : "again"),
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
  if (moved) note_movement();
  running.advance();
  advance_unattended();
  rests = running.rests();
  if (!moved && !rests && transport_->has_broken(running.peers())) lost = true;
  return moved;
}

void Runtime::look_after(Unattended& call) {
  // Room for its end, which nothing may stand in the way of.
  ended_.reserve(ended_.size() + unattended_.size() + 1);
  unattended_.push_back(&call);
  attend(true);
  note_movement();
  if (!config_.progress_thread || (over_host_messages_ && !threads_may_call_mpi_)) return;
  try {
    if (progress_thread_ == nullptr) progress_thread_ = std::make_unique<ProgressThread>(*this);
    progress_thread_->wake();
  } catch (const std::system_error& error) {
    config_.progress_thread = false;
    log(LogLevel::warn, std::string("no progress thread: ") + error.what());
  }
}

void Runtime::advance_errands() noexcept {
  for (std::size_t next = 0; next < errands_.size();) {
    if (errands_[next]->advance()) {
      ++next;
      continue;
    }
    errands_done_.push_back(std::move(errands_[next]));
    errands_.erase(errands_.begin() + static_cast<std::ptrdiff_t>(next));
    some_ended_.store(true, std::memory_order_release);
  }
}

void Runtime::advance_unattended(bool may_call_mpi) noexcept {
  if (!errands_.empty()) advance_errands();
  if (unattended_.empty()) return;
  for (const Unattended* call : unattended_) {
    if (may_call_mpi || !call->running().calls_mpi()) call->running().advance();
  }
  const auto first_over = std::stable_partition(unattended_.begin(), unattended_.end(),
                                                [](const Unattended* call) { return !call->running().over(); });
  if (first_over == unattended_.end()) return;
  ended_.insert(ended_.end(), first_over, unattended_.end());
  unattended_.erase(first_over, unattended_.end());
  some_ended_.store(true, std::memory_order_release);
}

void Runtime::note_movement() noexcept {
  const bool is_watched = config_.timeout_seconds > 0 || config_.watchdog_seconds > 0;
  if (is_watched && !unattended_.empty()) still_since_ = Clock::now();
}

bool Runtime::warn_of_silence(Clock::duration still, const std::function<std::string()>& in_words) const {
  if (config_.watchdog_seconds == 0 || still < std::chrono::seconds(config_.watchdog_seconds)) return false;
  log(LogLevel::warn, in_words() + "; nothing has moved for " +
                          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(still).count()) + " s");
  return true;
}

void Runtime::warn_of_unattended(Clock::duration still) noexcept try {
  for (Unattended* call : unattended_) {
    const auto in_words = [call] { return call->running().in_words(); };
    if (!call->is_told_of()) call->set_told_of(warn_of_silence(still, in_words));
  }
} catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line; the call goes on
}

void Runtime::exchange_signs_of_life(Clock::time_point now) noexcept {
  if (now - exchanged_at_ < shortest_hook_interval) return;
  exchanged_at_ = now;
  for (const Unattended* call : unattended_) {
    if (call->running().exchange_signs_of_life()) still_since_ = now;
  }
}

void Runtime::give_up_unattended() noexcept {
  if (unattended_.empty()) return;
  const Clock::time_point now = Clock::now();
  exchange_signs_of_life(now);
  // Nobody may have asked because nobody waits.
  if (now - asked_at_ > longest_absence) still_since_ = now;
  asked_at_ = now;
  warn_of_unattended(now - still_since_);
  for (const Unattended* call : unattended_) {
    if (transport_->has_broken(call->running().peers())) call->running().abandon();
  }
  if (config_.timeout_seconds == 0 || now - still_since_ <= std::chrono::seconds(config_.timeout_seconds)) return;
  for (const Unattended* call : unattended_) call->running().abandon();
  advance_unattended();
}

std::vector<Unattended*> Runtime::take_ended() {
  if (!some_ended_.load(std::memory_order_acquire)) return {};
  std::vector<std::shared_ptr<Errand>> done;  // goes after the lock
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) return {};
  some_ended_.store(false, std::memory_order_release);
  std::vector<Unattended*> taken(ended_);
  ended_.clear();
  done.swap(errands_done_);
  return taken;
}

bool Runtime::step_unattended() noexcept {
  const bool moved = transport_->progress();
  if (moved) note_movement();
  advance_unattended(threads_may_call_mpi_);
  if (!unattended_.empty()) exchange_signs_of_life(Clock::now());
  return moved;
}

int Runtime::milliseconds_to_next_unattended_advance(int most) const {
  for (const Unattended* call : unattended_) most = std::min(most, call->running().milliseconds_to_next_advance());
  return most;
}

void Runtime::stop_progress_thread() { progress_thread_.reset(); }

bool Runtime::idle() {
  const std::lock_guard guard(lock_);
  return unattended_.empty() && ended_.empty();
}

int Runtime::milliseconds_to_next_advance(const Driven& running) {
  const std::lock_guard guard(lock_);
  return milliseconds_to_next_unattended_advance(running.milliseconds_to_next_advance());
}

bool Runtime::arm() {
  const std::lock_guard guard(lock_);
  return transport_->arm();
}

bool Runtime::progress() noexcept {
  const std::unique_lock guard(lock_, std::try_to_lock);
  return guard.owns_lock() && transport_ != nullptr && progress_transport();
}

void Runtime::set_background_progress(void (*how)(bool closely) noexcept) {
  const std::lock_guard guard(lock_);
  background_progress_ = true;
  attend_ = how;
  // Where lost messages are sent again, others may need this process at any time.
  attend(resilient_ != nullptr);
}

void Runtime::attend(bool closely) noexcept {
  looks_in_vain_.store(0, std::memory_order_relaxed);
  if (closely_.exchange(closely, std::memory_order_relaxed) == closely || attend_ == nullptr) return;
  attend_(closely);
}

bool Runtime::progress_in_passing() noexcept {
  const unsigned looks = looks_in_vain_.load(std::memory_order_relaxed) + 1;
  looks_in_vain_.store(looks, std::memory_order_relaxed);
  // The lock alone would be felt in MPI's smallest calls.
  if (!closely_.load(std::memory_order_relaxed) && looks % looks_per_progress != 0) return false;
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock() || transport_ == nullptr) return false;
  const bool moved = progress_transport();
  if (moved || !unattended_.empty() || resilient_ != nullptr) {
    looks_in_vain_.store(0, std::memory_order_relaxed);
  } else if (looks > looks_until_seldom) {
    attend(false);
  }
  return moved;
}

bool Runtime::progress_transport() noexcept {
  const bool moved = transport_->progress();
  advance_unattended();
  if (moved) note_movement();
  give_up_unattended();
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
      advance_errands();
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
      if (background_progress_ && Clock::now() > deadline) {
        transport_->abandon(flush);
        return;
      }
    }
    hook();
    sched_yield();
  }
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

}  // namespace libcoll

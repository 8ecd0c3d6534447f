#include "libcoll/runtime/runtime.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "libcoll/runtime/log.h"
#include "libcoll/runtime/plan_cache.h"
#include "libcoll/transport/ucx_transport.h"
#include "libcoll/version.h"
#include "planner/topology/reader.h"

namespace libcoll {
namespace {

/// A blocked rank looks after the program's own MPI this often.
constexpr int block_milliseconds = 1;
constexpr unsigned polls_per_hook = 8;

/// How long a finished call waits for what it still owes its peers, when MPI will look after that later: over shared
/// memory almost always nothing, over tcp also for answers of peers that may have gone on already.
constexpr auto flush_time = std::chrono::microseconds(200);

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

Runtime::Runtime(char* const* environment, const std::string& library_directory, int world_rank) {
  LoadedConfig loaded = load_config(environment);
  config_ = std::move(loaded.config);
  configure_log(config_.log_level, world_rank);
  // Every rank reads the same settings as a rule; one voice is enough.
  if (world_rank == 0) {
    for (const std::string& warning : loaded.warnings) log(LogLevel::warn, warning);
  }
  if (!config_.enable) obstacle_ = Reason::disabled;
  if (obstacle_ == Reason::count_) read_topology();
  if (obstacle_ == Reason::count_) open_transport();
  find_command(library_directory);
  settings_digest_ = digest();
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

void Runtime::open_transport() {
  Result<std::unique_ptr<Transport>> transport = make_ucx_transport();
  if (transport) {
    transport_ = std::move(*transport);
    return;
  }
  obstacle_ = Reason::transport;
  log(LogLevel::warn, transport.error().message);
}

void Runtime::find_command(const std::string& library_directory) {
  if (!config_.command.empty()) return;
  // lib/ in a build tree, lib/TRIPLET/ where distributions install.
  for (const char* relative : {"/../bin/libcoll", "/../../bin/libcoll"}) {
    const std::string candidate = library_directory + relative;
    if (access(candidate.c_str(), X_OK) == 0) {
      config_.command = candidate;
      return;
    }
  }
}

std::uint64_t Runtime::digest() const {
  std::string text = LIBCOLL_VERSION;
  for (const std::string& part :
       {config_.allreduce, config_.allgather, config_.alltoall, std::to_string(config_.segment_bytes),
        std::to_string(config_.bundle_bytes), std::to_string(config_.round_bytes),
        // The plan file's name is a hash over the whole topology.
        plan_file_name(topology_, Collective::allgather, "")}) {
    text.append(part).append("\n");
  }
  for (const Node& node : topology_.nodes()) text.append(node.host).append("\n");
  return hash(text);
}

bool Runtime::step(Execution& execution, bool& done) {
  const std::lock_guard guard(lock_);
  const bool moved = transport_->progress();
  execution.advance();
  done = execution.failed() || execution.finished();
  return moved;
}

bool Runtime::arm() {
  const std::lock_guard guard(lock_);
  return transport_->arm();
}

bool Runtime::progress() noexcept {
  const std::unique_lock guard(lock_, std::try_to_lock);
  return guard.owns_lock() && transport_ != nullptr && transport_->progress();
}

void Runtime::wait_for_end(Execution& execution, ProgressHook hook) {
  const auto poll_time = std::chrono::microseconds(config_.poll_microseconds);
  Clock::time_point idle_since = Clock::now();
  unsigned idle_polls = 0;
  for (bool done = false;;) {
    const bool moved = step(execution, done);
    if (done) return;
    if (moved) {
      idle_polls = 0;
      continue;
    }
    if (idle_polls++ == 0) idle_since = Clock::now();
    if (idle_polls % polls_per_hook == 0) hook.call();
    sched_yield();
    if (Clock::now() - idle_since < poll_time) continue;
    hook.call();
    if (arm()) transport_->block(block_milliseconds);
    idle_polls = 0;
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
    hook.call();
    sched_yield();
  }
}

bool Runtime::drive(Execution& execution, std::span<const PeerId> peers, ProgressHook hook) {
  wait_for_end(execution, hook);
  if (execution.failed()) return false;
  flush(peers, hook);
  return true;
}

}  // namespace libcoll

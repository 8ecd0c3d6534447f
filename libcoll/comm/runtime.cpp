#include "libcoll/comm/runtime.h"

#include <algorithm>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/base/plan_name.h"
#include "libcoll/comm/placement_file.h"
#include "libcoll/recover/repair.h"
#include "libcoll/version.h"
#include "planner/topology/reader.h"

namespace libcoll::comm {

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

/// Beyond this the group takes longer to check than the plans that it spares take to make.
constexpr std::int32_t most_hosts_of_translations = 1024;

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
    : transport_(config_, route_binding_, host_messages, mates) {
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
  if (!obstacle_) read_topology();
  if (!obstacle_) read_placement_of(world_rank);
  if (!obstacle_) read_route_binding();
  if (!obstacle_) read_tuning_table();
  if (config_.command.empty()) config_.command = find_command(library_directory);
  settings_digest_ = digest();
  start_nanoseconds_ = steady_nanoseconds() - began;
}

Runtime::~Runtime() {
  engine_.stop();
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

bool Runtime::open_transport() {
  const std::lock_guard guard(lock_);
  if (transport_.is_open() || has_no_transport_) return !has_no_transport_;
  const Status opened = transport_.open();
  has_no_transport_ = !opened;
  if (opened) {
    engine_.take_up_transport();
  } else {
    log(LogLevel::warn, opened.error().message);
  }
  return opened.ok();
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
  }
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

std::uint64_t Runtime::transport_digest() const {
  return hash(transport_->name() + (resilient() == nullptr ? " once" : " again"));
}

std::uint64_t Runtime::digest() const {
  std::string text = LIBCOLL_VERSION;
  for (const std::string& part :
       {std::to_string(static_cast<int>(route_binding_.backend)), std::to_string(host_digest_),
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

}  // namespace libcoll::comm

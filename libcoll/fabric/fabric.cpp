#include "libcoll/fabric/fabric.h"

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "libcoll/fabric/addressing.h"
#include "libcoll/fabric/configuration.h"
#include "libcoll/fabric/forwarding.h"
#include "libcoll/fabric/namespace_keeper.h"
#include "libcoll/fabric/namespaces.h"
#include "libcoll/fabric/processes.h"
#include "planner/base/index.h"
#include "planner/base/rational.h"
#include "planner/topology/writer.h"

namespace libcoll::fabric {

using namespace schedule;
using namespace topology;

namespace {

double seconds_since_boot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string fabric_command(const std::string& name, const std::string& subcommand) {
  return "libcoll fabric " + (name == default_fabric ? std::string() : "--name " + name + " ") + subcommand;
}

Error not_up(const std::string& name) {
  return {"fabric '" + name + "' is not up; '" + fabric_command(name, "up TOPOLOGY") + "' brings it up"};
}

/// A program that reads commands from standard input: `ip` or `tc`.
Result<InsideJob> batch(const ProcessId& holder, const std::string& tool, std::string text) {
  const Result<std::string> path = find_tool(tool, "iproute2");
  if (!path) return path.error();
  return InsideJob{holder, {*path, "-batch", "-"}, std::move(text)};
}

/// Runs one tool in the namespaces of many holders.
class Batches {
 public:
  void add(const ProcessId& holder, const std::string& tool, std::string text) {
    if (text.empty() || !status_.ok()) return;
    Result<InsideJob> job = batch(holder, tool, std::move(text));
    if (job.ok()) {
      jobs_.push_back(std::move(job).value());
    } else {
      status_ = job.error();
    }
  }

  Status run() {
    if (!status_) return status_;
    const auto outputs = run_inside(jobs_);
    jobs_.clear();
    return outputs.ok() ? Status() : Status(outputs.error());
  }

 private:
  std::vector<InsideJob> jobs_;
  Status status_;
};

bool has_device(pid_t pid, std::string_view device) {
  return read_proc(pid, "net/dev").find(" " + std::string(device) + ":") != std::string::npos;
}

/// The name in the arguments of a control process or holder of this user; empty for other processes.
std::string held_fabric(pid_t pid) {
  const std::vector<std::string> arguments = arguments_of(pid);
  return arguments.size() == 3 && arguments[1] == keeper_subcommand && is_own(pid) ? arguments[2] : std::string();
}

std::vector<ProcessId> holders_of(const std::string& name) {
  return find_processes([&](pid_t pid) { return held_fabric(pid) == name; });
}

/// Network namespaces of a fabric. One that has not got our devices yet may still be the one this command is in.
std::set<NamespaceId> networks_of(const std::vector<ProcessId>& holders) {
  std::set<NamespaceId> networks;
  for (const ProcessId& holder : holders) {
    if (!has_device(holder.pid, management_device) && !has_device(holder.pid, management_bridge)) continue;
    if (const auto network = namespace_of(holder.pid, "net")) networks.insert(*network);
  }
  return networks;
}

/// Processes inside a fabric that are not its holders.
std::vector<ProcessId> guests_of(const std::string& name) {
  const std::set<NamespaceId> networks = networks_of(holders_of(name));
  const auto here = namespace_of(getpid(), "net");
  const std::string entry = std::string(fabric_variable) + "=" + state_directory(name);
  return find_processes([&](pid_t pid) {
    if (!held_fabric(pid).empty()) return false;
    const auto network = namespace_of(pid, "net");
    if (!network) return false;
    if (networks.count(*network) != 0) return true;
    if (network == here || !is_own(pid)) return false;
    const std::vector<std::string> environment = environment_of(pid);
    return std::find(environment.begin(), environment.end(), entry) != environment.end();
  });
}

/// Ends all processes of a fabric; whether there were any.
Result<bool> end_fabric(const std::string& name) {
  constexpr double patience_seconds = 1;
  const auto guests = [&] { return guests_of(name); };
  const auto holders = [&] { return holders_of(name); };
  const bool any = !guests().empty() || !holders().empty();
  if (Status ended = end_processes(guests, patience_seconds); !ended) return ended.error();
  if (Status ended = end_processes(holders, 0); !ended) return ended.error();
  // What a guest started while it was asked to end is without holders now, and recognised by its environment.
  if (Status ended = end_processes(guests, 0); !ended) return ended.error();
  return any;
}

/// For Open MPI's launcher, which goes round the nodes as often as they have slots.
std::string hostfile(const FabricState& state) {
  std::string text;
  for (NodeId node = 0; node < state.topology.host_count(); ++node) {
    text += state.topology.node(node).host + " slots=" + std::to_string(state.ranks_per_node) + "\n";
  }
  return text;
}

/// For hydra, which fills a node before the next, and begins anew when all are full: one slot each puts rank k on node
/// k mod N.
std::string hydra_hosts(const FabricState& state) {
  std::string text;
  for (NodeId node = 0; node < state.topology.host_count(); ++node) text += state.topology.node(node).host + ":1\n";
  return text;
}

std::vector<pid_t> pids(const std::vector<ProcessId>& processes) {
  std::vector<pid_t> result;
  result.reserve(processes.size());
  for (const ProcessId& process : processes) result.push_back(process.pid);
  return result;
}

Status write_files(const StateDirectory& directory, const FabricState& state) {
  if (Status written = directory.write("topology.toml", write_topology(current_topology(state))); !written) {
    return written;
  }
  return directory.write("state.json", write_state(state));
}

Status configure(const FabricState& state, const ForwardingTables& tables) {
  const Topology& topology = state.topology;
  Batches batches;
  batches.add(state.control, "ip", wiring_batch(topology, pids(state.holders)));
  if (Status wired = batches.run(); !wired) return wired;
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    const ProcessId& holder = state.holders[at(node)];
    batches.add(holder, "ip", device_batch(topology, node, state.classes) + route_batch(tables, topology, node));
    batches.add(holder, "tc", shaping_batch(topology, node, state.cut));
  }
  return batches.run();
}

Result<FabricState> build(const FabricOrder& order, const ForwardingTables& tables, const StateDirectory& directory) {
  FabricState state;
  state.name = order.name;
  state.topology = order.topology;
  state.cut.assign(at(order.topology.link_count()), false);
  state.classes = order.classes;
  state.ranks_per_node = order.ranks_per_node;
  state.default_routes = order.default_routes;
  state.planned = order.planned;
  if (Status written = directory.write("hosts", hosts_file(order.topology)); !written) return written.error();
  if (Status written = directory.write("hostfile", hostfile(state)); !written) return written.error();
  if (Status written = directory.write("hydra_hosts", hydra_hosts(state)); !written) return written.error();
  if (Status made = directory.make_directory("session"); !made) return made.error();
  KeeperOrder hold{
      order.name, directory.path("hosts"), tcp_window_factor(order.topology), order.shared_directories, {}};
  hold.shared_directories.push_back(directory.path());
  for (const Node& node : order.topology.nodes()) hold.host_names.push_back(node.host);
  Result<Keepers> holders = start_keepers(hold);
  if (!holders) return holders.error();
  state.control = holders->control;
  state.holders = std::move(holders->nodes);
  if (Status configured = configure(state, tables); !configured) return configured.error();
  state.up_since = seconds_since_boot();
  if (Status written = write_files(directory, state); !written) return written.error();
  return state;
}

void apply(FabricState& state, const LinkChange& change, std::vector<Link>& links) {
  for (const LinkId id : change.links) {
    if (change.kind == LinkChange::Kind::rate) {
      links[at(id)].bandwidth_bytes_per_second = change.bytes_per_second;
    } else {
      state.cut[at(id)] = change.kind == LinkChange::Kind::cut;
    }
  }
}

}  // namespace

Result<Topology> emulated_topology(const Topology& topology, std::int64_t unit_bytes_per_second) {
  if (topology.node_count() > max_fabric_nodes) {
    return Error{"found " + std::to_string(topology.node_count()) + " nodes, expected at most " +
                 std::to_string(max_fabric_nodes)};
  }
  std::vector<Node> nodes(topology.nodes().begin(), topology.nodes().end());
  std::set<std::string> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].host.empty()) nodes[i].host = "n" + std::to_string(i);
    if (!names.insert(nodes[i].host).second) return Error{"host name '" + nodes[i].host + "' is there twice"};
  }
  std::vector<Link> links(topology.links().begin(), topology.links().end());
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    const std::optional<std::int64_t> rate = topology.capacity(id).floor(unit_bytes_per_second);
    if (!rate) return Error{"found a link that is too fast to emulate, expected less than 2^63 bytes per second"};
    links[at(id)].bandwidth_bytes_per_second = *rate;
  }
  Result<Topology> result = Topology::make(topology.name(), std::move(nodes), std::move(links));
  if (!result) return result;
  result->set_nics_forward(topology.nics_forward());
  return result;
}

Result<std::vector<Route>> moved_routes(const Topology& from, const Topology& to, std::span<const Route> routes) {
  std::map<std::string, NodeId> ids;
  for (NodeId node = 0; node < to.node_count(); ++node) ids.emplace(to.node(node).name, node);
  const auto moved = [&](NodeId node) {
    const auto found = ids.find(from.node(node).name);
    return found == ids.end() ? NodeId{-1} : found->second;
  };
  std::vector<Route> result(routes.begin(), routes.end());
  for (Route& route : result) {
    route.source = moved(route.source);
    route.destination = moved(route.destination);
    for (LinkId& id : route.links) {
      const Link& link = from.link(id);
      const NodeId a = moved(link.from);
      const NodeId b = moved(link.to);
      id = a < 0 || b < 0 ? -1 : to.find_link(a, b);
      if (id >= 0) continue;
      return Error{"found a route over the link from '" + from.node(link.from).name + "' to '" +
                   from.node(link.to).name + "', which the fabric has not"};
    }
  }
  return result;
}

Result<FabricState> bring_up(const FabricOrder& order) {
  const Result<ForwardingTables> tables =
      forwarding_tables(order.topology, order.defaults, order.planned, order.classes);
  if (!tables) return tables.error();
  Result<StateDirectory> directory = StateDirectory::create(order.name);
  if (!directory) return directory.error();
  if (Status locked = directory->lock(); !locked) return locked.error();
  if (const Result<bool> ended = end_fabric(order.name); !ended) return ended.error();
  Result<FabricState> state = build(order, *tables, *directory);
  if (!state) {
    const Result<bool> ended = end_fabric(order.name);
    if (!ended) return Error{state.error().message + "; " + ended.error().message};
    remove_state(order.name);
  }
  return state;
}

Result<bool> take_down(const std::string& name) {
  Result<std::optional<StateDirectory>> directory = StateDirectory::open(name);
  if (!directory) return directory.error();
  const bool recorded = directory->has_value();
  if (recorded) {
    if (Status locked = (*directory)->lock(); !locked) return locked.error();
  }
  Result<bool> ended = end_fabric(name);
  if (!ended) return ended;
  remove_state(name);
  return recorded || *ended;
}

std::vector<std::string> known_fabrics() {
  const std::vector<std::string> recorded = recorded_fabrics();
  std::set<std::string> names(recorded.begin(), recorded.end());
  for (const ProcessId& holder : find_processes([](pid_t pid) { return !held_fabric(pid).empty(); })) {
    const std::string name = held_fabric(holder.pid);
    if (check_fabric_name(name).ok()) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Result<FabricState> load_fabric(const std::string& name) {
  if (Status good = check_fabric_name(name); !good) return good.error();
  return load_fabric_at(state_directory(name));
}

Result<FabricState> load_fabric_at(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const Result<std::optional<StateDirectory>> directory = StateDirectory::open_path(path);
  if (!directory) return directory.error();
  const Error absent = not_up(name);
  if (!directory->has_value()) return absent;
  const Result<std::optional<std::string>> text = (*directory)->read("state.json");
  if (!text) return text.error();
  if (!text->has_value()) return absent;
  Result<FabricState> state = read_state(**text);
  if (!state) return state;
  const bool whole =
      is_running(state->control) && std::all_of(state->holders.begin(), state->holders.end(), is_running);
  if (!whole) {
    return Error{"fabric '" + name + "' has come apart (processes that held it are gone); '" +
                 fabric_command(name, "down") + "' removes what is left, and so does 'up'"};
  }
  return state;
}

Status change_links(FabricState& state, const LinkChange& change) {
  const Result<std::optional<StateDirectory>> directory = StateDirectory::open(state.name);
  if (!directory) return directory.error();
  if (!directory->has_value()) return not_up(state.name);
  const auto old = state.topology.links();
  std::vector<Link> links(old.begin(), old.end());
  apply(state, change, links);
  const auto nodes = state.topology.nodes();
  Result<Topology> topology = Topology::make(state.topology.name(), {nodes.begin(), nodes.end()}, std::move(links));
  if (!topology) return topology.error();
  topology->set_nics_forward(state.topology.nics_forward());
  state.topology = std::move(topology).value();
  Batches batches;
  for (const LinkId id : change.links) {
    const NodeId from = state.topology.link(id).from;
    batches.add(state.holders[at(from)], "tc", shaping_line(state.topology, id, state.cut[at(id)]));
  }
  if (Status done = batches.run(); !done) return done;
  return write_files(**directory, state);
}

Status change_routes(FabricState& state, const std::string& default_routes, std::span<const Route> defaults,
                     std::span<const Route> planned) {
  const Result<std::optional<StateDirectory>> directory = StateDirectory::open(state.name);
  if (!directory) return directory.error();
  if (!directory->has_value()) return not_up(state.name);
  const Result<ForwardingTables> tables = forwarding_tables(state.topology, defaults, planned, state.classes);
  if (!tables) return tables.error();
  Batches batches;
  for (NodeId node = 0; node < state.topology.node_count(); ++node) {
    batches.add(state.holders[at(node)], "ip", route_batch(*tables, state.topology, node));
  }
  if (Status done = batches.run(); !done) return done;
  state.default_routes = default_routes;
  state.planned.assign(planned.begin(), planned.end());
  return write_files(**directory, state);
}

Result<StateDirectory> lock_fabric(const std::string& name) {
  Result<std::optional<StateDirectory>> directory = StateDirectory::open(name);
  if (!directory) return directory.error();
  if (!directory->has_value()) {
    return not_up(name);
  }
  if (Status locked = (*directory)->lock(); !locked) return locked.error();
  return std::move(**directory);
}

NodeId find_node(const Topology& topology, const std::string& text) {
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    if (topology.node(node).name == text) return node;
  }
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    if (topology.node(node).host == text) return node;
  }
  NodeId number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number < topology.node_count() ? number : -1;
}

}  // namespace libcoll::fabric

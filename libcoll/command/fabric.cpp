// libcoll fabric: an emulated direct-connect fabric on this machine.
#include "libcoll/command/fabric.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "libcoll/command/launch.h"
#include "libcoll/command/planning.h"
#include "libcoll/command/validators.h"
#include "libcoll/fabric/addressing.h"
#include "libcoll/fabric/fabric.h"
#include "libcoll/plan/plan_cache.h"
#include "planner/route/dor.h"
#include "planner/route/sssp.h"
#include "planner/schedule/route_binding.h"
#include "planner/schedule/xml.h"
#include "planner/topology/facts.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace fabric;
using namespace route;
using namespace schedule;
using namespace topology;

namespace {

struct FabricOptions {
  std::string name = default_fabric;
  bool json = false;
  std::string topology;
  std::string rate = "100mbit";
  std::int32_t layers = 0;
  std::int32_t ranks_per_node = 1;
  std::string routes;
  std::string default_routes;
  bool none = false;
  bool all = false;
  bool oneway = false;
  std::vector<std::string> shared;
  std::string node;
  std::string from;
  std::string to;
  double interval = 1;
  int rounds = 0;
};

/// What a fabric that is up shall follow from now on, with link ids of its whole wiring.
struct Routing {
  std::string algorithm;
  std::vector<Route> defaults;
  std::vector<Route> planned;
};

Result<std::vector<Route>> default_routes(const Topology& topology, const std::string& algorithm) {
  if (algorithm == "sssp") return sssp_routes(topology);
  if (algorithm == "dor") return dor_routes(topology);
  return Error{"found default routes '" + algorithm + "', expected sssp or dor"};
}

std::set<std::pair<std::string, std::string>> named_links(const Topology& topology) {
  std::set<std::pair<std::string, std::string>> links;
  for (const Link& link : topology.links()) {
    links.emplace(topology.node(link.from).name, topology.node(link.to).name);
  }
  return links;
}

/// The schedule of a file; for "auto" the all-to-all planned for the fabric as it is now, as programs will plan it.
Result<Schedule> routed_schedule(const std::string& path, const Topology& current) {
  if (path == automatic_plan) {
    Result<Plan> plan = make_plan(current, Collective::alltoall, path, {});
    return plan.ok() ? Result<Schedule>(std::move(plan->schedule)) : plan.error();
  }
  const Result<std::string> text = read_text(path);
  return text.ok() ? read_schedule(*text, path) : text.error();
}

/// The routes of a schedule, with the link ids of `wiring`; `current` is what it has to be planned for.
Result<std::vector<Route>> read_routes(const std::string& path, const Topology& current, const Topology& wiring) {
  const Result<Schedule> schedule = routed_schedule(path, current);
  if (!schedule) return schedule.error();
  if (schedule->routes.empty()) return Error{path + ": found a schedule without routes, expected a path-based one"};
  if (named_links(schedule->topology) != named_links(current)) {
    return Error{path + ": found routes for '" + schedule->topology.name() + "', expected the links of '" +
                 current.name() + "'"};
  }
  const bool classed = std::all_of(schedule->routes.begin(), schedule->routes.end(),
                                   [](const Route& route) { return route.route_class >= 1; });
  if (!classed) return Error{path + ": found routes without a class, expected a class from 1 on for every route"};
  Result<std::vector<Route>> routes = moved_routes(schedule->topology, wiring, schedule->routes);
  if (!routes) return Error{path + ": " + routes.error().message};
  return routes;
}

std::int32_t classes_of(const std::vector<Route>& routes) {
  std::int32_t most = 0;
  for (const Route& route : routes) most = std::max(most, route.route_class);
  return most;
}

/// binding.toml: a device for every class. Without planned routes there is nothing to steer to but class 0.
Status write_binding(const FabricState& state) {
  RouteBinding binding;
  const std::int32_t classes = state.planned.empty() ? 0 : state.classes;
  if (!state.planned.empty()) binding.routes = route_set_digest(state.topology, state.planned);
  for (std::int32_t k = 0; k <= classes; ++k) {
    binding.classes.push_back({k, {{"NET_DEVICES", class_device(k)}}, std::nullopt});
  }
  const Result<std::optional<StateDirectory>> directory = StateDirectory::open(state.name);
  if (!directory) return directory.error();
  if (!directory->has_value()) return Error{"fabric '" + state.name + "' is not up any more"};
  return (*directory)->write("binding.toml", write_route_binding(binding));
}

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

/// The script that mpirun and mpiexec call in place of ssh.
Status write_agent(const FabricState& state) {
  const Result<std::string> command = own_path();
  if (!command) return command.error();
  const Result<std::optional<StateDirectory>> directory = StateDirectory::open(state.name);
  if (!directory) return directory.error();
  if (!directory->has_value()) return Error{"fabric '" + state.name + "' is not up any more"};
  return (*directory)
      ->write("agent",
              "exec " + shell_quoted(*command) + " fabric-agent " + shell_quoted((*directory)->path()) + " \"$@\"\n");
}

Json up_json(const FabricState& state, double seconds) {
  return {{"name", state.name},
          {"topology", state.topology.name()},
          {"directory", state_directory(state.name)},
          {"nodes", state.topology.node_count()},
          {"links", state.topology.link_count()},
          {"rate_bits_per_second", state.topology.unit_bandwidth_bytes_per_second() * 8},
          {"classes", state.classes},
          {"default_routes", state.default_routes},
          {"planned_routes", state.planned.size()},
          {"ranks_per_node", state.ranks_per_node},
          {"seconds", seconds}};
}

void print_up(const FabricState& state, double seconds) {
  std::printf("fabric '%s' is up: %s, %d nodes, %d links of %s, %d route class%s, %s default routes, %.1f s\n",
              state.name.c_str(), state.topology.name().c_str(), static_cast<int>(state.topology.node_count()),
              static_cast<int>(state.topology.link_count()),
              rate_text(8.0 * static_cast<double>(state.topology.unit_bandwidth_bytes_per_second())).c_str(),
              static_cast<int>(state.classes), state.classes == 1 ? "" : "es", state.default_routes.c_str(), seconds);
}

/// The working directory and the folder that this command is installed in come along, as with a shared file system.
Result<std::vector<std::string>> shared_directories(const FabricOptions& options) {
  namespace fs = std::filesystem;
  std::vector<std::string> directories;
  std::error_code error;
  for (const std::string& each : options.shared) {
    const fs::path path = fs::absolute(each, error);
    if (error || !fs::is_directory(path, error)) return Error{"--share " + each + ": found no such directory"};
    directories.push_back(path.lexically_normal().string());
  }
  const fs::path here = fs::current_path(error);
  if (!error) directories.push_back(here.string());
  const Result<std::string> command = own_path();
  if (command) directories.push_back(fs::path(*command).parent_path().parent_path().string());
  for (const std::string& directory : directories) {
    if (directory.find('\n') != std::string::npos) return Error{"found a line end in the name of a directory"};
  }
  return directories;
}

Result<FabricOrder> make_order(const FabricOptions& options) {
  const Result<std::int64_t> rate = parse_bandwidth(options.rate);
  if (!rate) return Error{"--rate: " + rate.error().message};
  const Result<Topology> topology = load_topology(options.topology);
  if (!topology) return topology.error();
  if (Status connected = check_connected(*topology); !connected) return connected.error();
  Result<Topology> emulated = emulated_topology(*topology, *rate);
  if (!emulated) return emulated.error();
  FabricOrder order;
  order.name = options.name;
  order.topology = std::move(emulated).value();
  order.ranks_per_node = options.ranks_per_node;
  Result<std::vector<std::string>> shared = shared_directories(options);
  if (!shared) return shared.error();
  order.shared_directories = std::move(shared).value();
  order.default_routes = options.default_routes.empty() ? "sssp" : options.default_routes;
  if (!options.routes.empty()) {
    Result<std::vector<Route>> planned = read_routes(options.routes, order.topology, order.topology);
    if (!planned) return planned.error();
    order.planned = std::move(planned).value();
  }
  const std::int32_t needed = std::max(1, classes_of(order.planned));
  if (options.layers > 0 && options.layers < needed) {
    return Error{"--layers " + std::to_string(options.layers) + " is too few: the routes need " +
                 std::to_string(needed)};
  }
  order.classes = std::max(needed, options.layers);
  if (order.classes > max_route_classes) {
    return Error{"found " + std::to_string(order.classes) + " route classes, expected at most " +
                 std::to_string(max_route_classes)};
  }
  Result<std::vector<Route>> defaults = default_routes(order.topology, order.default_routes);
  if (!defaults) return defaults.error();
  order.defaults = std::move(defaults).value();
  return order;
}

int up(const FabricOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Result<FabricOrder> order = make_order(options);
  if (!order) return fail(order.error().message, options.json);
  const Result<FabricState> state = bring_up(*order);
  if (!state) return fail(state.error().message, options.json);
  for (const auto& write : {write_binding, write_agent}) {
    if (const Status written = write(*state); !written) {
      static_cast<void>(take_down(options.name));
      return fail(written.error().message, options.json);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.json) {
    print_json(up_json(*state, seconds));
  } else {
    print_up(*state, seconds);
  }
  return ExitCode::good;
}

int down(const FabricOptions& options) {
  const std::vector<std::string> names = options.all ? known_fabrics() : std::vector<std::string>{options.name};
  Json gone = Json::array();
  for (const std::string& name : names) {
    const Result<bool> was_there = take_down(name);
    if (!was_there) return fail(was_there.error().message, options.json);
    if (*was_there) gone.push_back(name);
    if (!options.json) {
      std::printf("fabric '%s' %s\n", name.c_str(), *was_there ? "is down" : "was not up");
    }
  }
  if (options.json) print_json({{"down", gone}});
  return ExitCode::good;
}

int list(const FabricOptions& options) {
  Json fabrics = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : known_fabrics()) {
    const Result<FabricState> state = load_fabric(name);
    Json entry = {{"name", name}, {"up", state.ok()}};
    if (state.ok()) {
      entry["topology"] = current_topology(*state).name();
      entry["nodes"] = state->topology.node_count();
      rows.push_back({name, current_topology(*state).name(), std::to_string(state->topology.node_count()) + " nodes"});
    } else {
      rows.push_back({name, "left over", "libcoll fabric --name " + name + " down"});
    }
    fabrics.push_back(entry);
  }
  if (options.json) {
    print_json({{"fabrics", fabrics}});
  } else {
    std::fputs(rows.empty() ? "no fabric is up\n" : columns(rows).c_str(), stdout);
  }
  return ExitCode::good;
}

/// Both directions of a cable, or the one from→to.
Result<std::vector<LinkId>> links_between(const FabricState& state, const FabricOptions& options) {
  const NodeId from = find_node(state.topology, options.from);
  const NodeId to = find_node(state.topology, options.to);
  for (const auto& [node, text] : {std::pair{from, options.from}, std::pair{to, options.to}}) {
    if (node < 0) return Error{"found node '" + text + "', expected the name, host name or number of a node"};
  }
  std::vector<LinkId> links;
  if (const LinkId id = state.topology.find_link(from, to); id >= 0) links.push_back(id);
  if (const LinkId id = state.topology.find_link(to, from); id >= 0 && !options.oneway) links.push_back(id);
  if (links.empty()) return Error{"there is no link from '" + options.from + "' to '" + options.to + "'"};
  return links;
}

int change(const FabricOptions& options, LinkChange::Kind kind) {
  const Result<StateDirectory> lock = lock_fabric(options.name);
  if (!lock) return fail(lock.error().message, options.json);
  Result<FabricState> state = load_fabric(options.name);
  if (!state) return fail(state.error().message, options.json);
  const Result<std::vector<LinkId>> links = links_between(*state, options);
  if (!links) return fail(links.error().message, options.json);
  LinkChange order{*links, kind, 0};
  if (kind == LinkChange::Kind::rate) {
    const Result<std::int64_t> rate = parse_bandwidth(options.rate);
    if (!rate) return fail("rate: " + rate.error().message, options.json);
    order.bytes_per_second = *rate;
  }
  if (const Status changed = change_links(*state, order); !changed) return fail(changed.error().message, options.json);
  Json changed = Json::array();
  for (const LinkId id : *links) {
    const Link& link = state->topology.link(id);
    changed.push_back({{"from", state->topology.node(link.from).name},
                       {"to", state->topology.node(link.to).name},
                       {"state", state->cut[static_cast<std::size_t>(id)] ? "cut" : "up"},
                       {"rate_bits_per_second", link.bandwidth_bytes_per_second * 8}});
  }
  if (options.json) print_json({{"links", changed}});
  return ExitCode::good;
}

/// Planned routes that cross no cut link.
std::vector<Route> surviving(const FabricState& state) {
  std::vector<Route> routes;
  for (const Route& route : state.planned) {
    const bool whole = std::none_of(route.links.begin(), route.links.end(),
                                    [&](LinkId id) { return state.cut[static_cast<std::size_t>(id)]; });
    if (whole) routes.push_back(route);
  }
  return routes;
}

Result<Routing> make_routing(const FabricState& state, const FabricOptions& options) {
  const Topology current = current_topology(state);
  if (Status connected = check_connected(current); !connected) return connected.error();
  Routing routing;
  routing.algorithm = options.default_routes.empty() ? state.default_routes : options.default_routes;
  const Result<std::vector<Route>> defaults = default_routes(current, routing.algorithm);
  if (!defaults) return defaults.error();
  Result<std::vector<Route>> moved = moved_routes(current, state.topology, *defaults);
  if (!moved) return moved.error();
  routing.defaults = std::move(moved).value();
  if (options.none) return routing;
  if (options.routes.empty()) {
    routing.planned = surviving(state);
    return routing;
  }
  Result<std::vector<Route>> planned = read_routes(options.routes, current, state.topology);
  if (!planned) return planned.error();
  routing.planned = std::move(planned).value();
  if (const std::int32_t needed = classes_of(routing.planned); needed > state.classes) {
    return Error{"the routes need " + std::to_string(needed) + " classes, and the fabric was brought up with " +
                 std::to_string(state.classes) + "; 'libcoll fabric up --layers " + std::to_string(needed) +
                 "' makes room"};
  }
  return routing;
}

int routes(const FabricOptions& options) {
  const Result<StateDirectory> lock = lock_fabric(options.name);
  if (!lock) return fail(lock.error().message, options.json);
  Result<FabricState> state = load_fabric(options.name);
  if (!state) return fail(state.error().message, options.json);
  const std::size_t before = state->planned.size();
  const Result<Routing> routing = make_routing(*state, options);
  if (!routing) return fail(routing.error().message, options.json);
  Status done = change_routes(*state, routing->algorithm, routing->defaults, routing->planned);
  if (done.ok()) done = write_binding(*state);
  if (!done) return fail(done.error().message, options.json);
  const bool dropped = options.routes.empty() && !options.none && routing->planned.size() < before;
  if (dropped) {
    warn(std::to_string(before - routing->planned.size()) + " planned routes crossed cut links and are gone");
  }
  if (options.json) {
    print_json({{"default_routes", state->default_routes},
                {"planned_routes", state->planned.size()},
                {"classes", state->classes}});
  }
  return ExitCode::good;
}

// ---- command line ----------------------------------------------------------------------------------------------

using Shared = std::shared_ptr<FabricOptions>;

void add_json(CLI::App* sub, const Shared& options) {
  sub->add_flag("--json", options->json, "Machine-readable output");
}

void add_default_routes(CLI::App* sub, const Shared& options) {
  sub->add_option("--default-routes", options->default_routes, "Routing of class 0: sssp (default) or dor");
}

void add_up(CLI::App* fabric, const Shared& options, int& exit_code) {
  CLI::App* sub = fabric->add_subcommand("up", "Bring up a fabric: a namespace per node, a shaped cable per link");
  sub->add_option("topology,--topology", options->topology, "Specification such as torus:3x3x3, or a topology file")
      ->required();
  sub->add_option("--rate", options->rate, "Rate of the slowest link; others in proportion")->capture_default_str();
  sub->add_option("--layers", options->layers, "Route classes beside class 0; default: as many as the routes need")
      ->check(whole_in(1, max_route_classes));
  sub->add_option("--routes", options->routes,
                  "Schedule file whose routes the classes follow; auto: the all-to-all planned for this fabric")
      ->type_name("FILE");
  sub->add_option("--ranks-per-node", options->ranks_per_node, "MPI ranks that mpirun puts on a node")
      ->capture_default_str()
      ->check(whole_in(1, 1024));
  sub->add_option("--share", options->shared,
                  "Directory below /tmp, /run or /var that nodes see, too; may be given again")
      ->type_name("DIRECTORY")
      ->allow_extra_args(false);
  add_default_routes(sub, options);
  add_json(sub, options);
  sub->callback([options, &exit_code] { exit_code = up(*options); });
}

void add_routes(CLI::App* fabric, const Shared& options, int& exit_code) {
  CLI::App* sub = fabric->add_subcommand("routes", "Replace the routes of a fabric that is up, or compute them anew");
  CLI::Option* file =
      sub->add_option("file", options->routes,
                      "Schedule file whose routes the classes follow; auto: the all-to-all planned for it now");
  sub->add_flag("--none", options->none, "No planned routes: every class follows the default routes")->excludes(file);
  add_default_routes(sub, options);
  add_json(sub, options);
  sub->callback([options, &exit_code] { exit_code = routes(*options); });
}

void add_link_commands(CLI::App* fabric, const Shared& options, int& exit_code) {
  struct Entry {
    const char* name;
    const char* text;
    LinkChange::Kind kind;
  };
  for (const Entry& entry : {Entry{"cut", "Cut a cable: packets vanish, routes stay", LinkChange::Kind::cut},
                             Entry{"mend", "Mend a cut cable", LinkChange::Kind::mend},
                             Entry{"rate", "Give a cable another rate", LinkChange::Kind::rate}}) {
    CLI::App* sub = fabric->add_subcommand(entry.name, entry.text);
    sub->add_option("from", options->from, "Node at one end")->required();
    sub->add_option("to", options->to, "Node at the other end")->required();
    if (entry.kind == LinkChange::Kind::rate) {
      sub->add_option("rate", options->rate, "Rate such as 10mbit")->required();
    }
    sub->add_flag("--oneway", options->oneway, "One direction only: from the first node to the second");
    add_json(sub, options);
    sub->callback([options, kind = entry.kind, &exit_code] { exit_code = change(*options, kind); });
  }
}

void add_views(CLI::App* fabric, const Shared& options, int& exit_code) {
  CLI::App* status = fabric->add_subcommand("status", "What crossed each link, since up and since the last call");
  add_json(status, options);
  status->callback([options, &exit_code] { exit_code = fabric_status(options->name, options->json); });
  CLI::App* watch = fabric->add_subcommand("watch", "The busiest links, again and again");
  watch->add_option("--interval", options->interval, "Seconds between readings")
      ->capture_default_str()
      ->check(number_in(0.05, 3600));
  watch->add_option("--count", options->rounds, "Readings to show; 0, the default: until interrupted")
      ->check(whole_in(0, 1'000'000'000));
  watch->callback(
      [options, &exit_code] { exit_code = fabric_watch(options->name, options->interval, options->rounds); });
  CLI::App* names = fabric->add_subcommand("list", "Fabrics of this user that are up or left over");
  add_json(names, options);
  names->callback([options, &exit_code] { exit_code = list(*options); });
}

void add_commands(CLI::App* fabric, const Shared& options, const std::vector<std::string>& command, int& exit_code) {
  CLI::App* exec = fabric->add_subcommand("exec", "Run a command on a node: exec NODE -- COMMAND");
  exec->add_option("node", options->node, "Name, host name or number of a node")->required();
  exec->callback([options, &command, &exit_code] { exit_code = fabric_exec(options->name, options->node, command); });
  CLI::App* run = fabric->add_subcommand("run", "Run a command such as mpirun over the fabric: run -- COMMAND");
  run->callback([options, &command, &exit_code] { exit_code = fabric_run(options->name, command); });
}

}  // namespace

std::string rate_text(double bits_per_second) {
  static constexpr const char* units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
  std::size_t unit = 0;
  for (; bits_per_second >= 1000 && unit + 1 < std::size(units); ++unit) bits_per_second /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", bits_per_second, units[unit]);
  return text;
}

void add_fabric(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  auto options = std::make_shared<FabricOptions>();
  CLI::App* sub = app.add_subcommand("fabric", "Emulate a direct-connect fabric on this machine");
  CLI::Option* name = sub->add_option("--name", options->name, "Name of the fabric")->capture_default_str();
  sub->require_subcommand(1);
  add_up(sub, options, exit_code);
  add_routes(sub, options, exit_code);
  CLI::App* end = sub->add_subcommand("down", "End everything inside a fabric, and the fabric");
  end->add_flag("--all", options->all, "All fabrics of this user")->excludes(name);
  add_json(end, options);
  end->callback([options, &exit_code] { exit_code = down(*options); });
  add_commands(sub, options, command, exit_code);
  add_link_commands(sub, options, exit_code);
  add_views(sub, options, exit_code);
  // --name may stand behind the subcommand, too.
  for (CLI::App* child : sub->get_subcommands([](const CLI::App* /*child*/) { return true; })) child->fallthrough();
  sub->footer(
      "Examples\n  libcoll fabric up torus:2x2x2 --rate 200mbit\n"
      "  libcoll fabric run -- mpirun -n 8 ./app\n  libcoll fabric exec n3 -- ip route\n"
      "  libcoll fabric cut 0 1\n  libcoll fabric status --json\n  libcoll fabric down\n");
}

}  // namespace libcoll::command

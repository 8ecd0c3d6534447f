// libcoll topo: what a topology is, in figures; libcoll topo find: which topologies to build.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/planning.h"
#include "libcoll/command/text.h"
#include "libcoll/command/time_limit.h"
#include "libcoll/command/validators.h"
#include "planner/broadcast/bfb/finder.h"
#include "planner/broadcast/bfb/finder_database.h"
#include "planner/exchange/formats.h"
#include "planner/topology/expansion.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::command {

using namespace broadcast::bfb;
using namespace exchange;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

struct TopoOptions {
  std::string topology;
  std::string import_format;
  std::string export_format;
  std::string names;
  std::string host_switches;
  std::string output = "-";
  bool json = false;
};

Json topo_json(const Topology& topology) {
  const Facts facts = graph_facts(topology);
  return {{"name", topology.name()},
          {"nodes", facts.nodes},
          {"hosts", topology.host_count()},
          {"switches", topology.node_count() - topology.host_count()},
          {"links", facts.links},
          {"degree_min", facts.degree_min},
          {"degree_max", facts.degree_max},
          {"diameter", facts.diameter},
          {"connected", facts.connected},
          {"translations", !translations(topology).empty()},
          {"allgather_bound", allgather_bandwidth_bound(topology).to_string()}};
}

std::string gbps(std::int64_t bytes_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", static_cast<double>(bytes_per_second) * 8e-9);
  return text;
}

std::string range(const std::string& low, const std::string& high) { return low == high ? low : low + ".." + high; }

std::string bandwidths(const Topology& topology) {
  if (topology.link_count() == 0) return "none";
  const auto [slowest, fastest] = std::minmax_element(
      topology.links().begin(), topology.links().end(),
      [](const Link& a, const Link& b) { return a.bandwidth_bytes_per_second < b.bandwidth_bytes_per_second; });
  return range(gbps(slowest->bandwidth_bytes_per_second), gbps(fastest->bandwidth_bytes_per_second)) + " Gbps";
}

std::string topo_text(const Topology& topology) {
  const Facts facts = graph_facts(topology);
  const std::string switches = std::to_string(topology.node_count() - topology.host_count());
  return topology.name() + "\n" +
         columns({{"nodes", std::to_string(facts.nodes) + " (" + std::to_string(topology.host_count()) + " hosts, " +
                                switches + " switches)"},
                  {"links", std::to_string(facts.links) + " of " + bandwidths(topology)},
                  {"degree", range(std::to_string(facts.degree_min), std::to_string(facts.degree_max))},
                  {"diameter", std::to_string(facts.diameter)},
                  {"connected", facts.connected ? "yes" : "NO"},
                  {"symmetric", translations(topology).empty() ? "not known to be" : "yes, translations checked"},
                  {"allgather", "T_B at least " + allgather_bandwidth_bound(topology).to_string() + " M/B"}});
}

/// A file of others, in the format asked for.
Result<Topology> import_topology(const TopoOptions& options) {
  const Result<ImportFormat> format = find_import_format(options.import_format);
  if (!format) return Error{"--import: " + format.error().message};
  ImportOptions wanted;
  const Result<HostSwitches> host_switches = parse_host_switches(options.host_switches);
  if (!host_switches) return Error{"--host-switches: " + host_switches.error().message};
  wanted.host_switches = *host_switches;
  if (!options.names.empty()) {
    const Result<std::string> text = read_text(options.names);
    if (!text) return text.error();
    Result<NodeNameMap> names = read_node_name_map(*text, options.names);
    if (!names) return names.error();
    wanted.names = std::move(names).value();
  }
  const Result<std::string> text = read_text(options.topology);
  if (!text) return text.error();
  const std::string file = options.topology == "-" ? "standard input" : options.topology;
  Result<Topology> topology = format->read(*text, file, wanted);
  if (!topology) return topology;
  if (const Status connected = check_connected(*topology); !connected) {
    return Error{file + ": " + connected.error().message};
  }
  return topology;
}

int export_topology(const TopoOptions& options, const Topology& topology) {
  const Result<ExportFormat> format = find_export_format(options.export_format);
  if (!format) return fail("--export: " + format.error().message, options.json);
  const Result<std::string> text = format->write(topology);
  if (!text) return fail(text.error().message, options.json);
  if (const Status written = write_text(options.output, *text); !written) {
    return fail(written.error().message, options.json);
  }
  return ExitCode::good;
}

int topo(const TopoOptions& options) {
  const Result<Topology> topology =
      options.import_format.empty() ? load_topology(options.topology) : import_topology(options);
  if (!topology) return fail(topology.error().message, options.json);
  if (!options.export_format.empty()) return export_topology(options, *topology);
  if (options.json) {
    print_json(topo_json(*topology));
  } else {
    std::fputs(topo_text(*topology).c_str(), stdout);
  }
  return ExitCode::good;
}

struct FindOptions {
  std::int32_t nodes = 0;
  std::int32_t degree = 0;
  bool bidirectional = false;
  std::uint64_t size_bytes = 1 << 20;
  double alpha_seconds = 1e-5;
  double bandwidth_gbps = 25;
  std::int32_t threads = 1;
  std::int32_t sweep = 0;  ///< look for every number of nodes up to this one
  std::vector<std::int32_t> degrees{2, 4, 6, 8, 12};
  std::string database;
  double time_limit_seconds = 0;
  double alltoall_limit_seconds = 0;  ///< for planning the all-to-all of each member; 0: its bound will do
  bool json = false;

  [[nodiscard]] auto bytes() const { return static_cast<double>(size_bytes); }
  [[nodiscard]] Direction direction() const { return bidirectional ? Direction::cables_only : Direction::any; }
};

/// One line of the answer, times in seconds.
struct Choice {
  FoundTopology topology;
  Rational alltoall_bound;
  double allreduce = 0;
  double alltoall_at_least = 0;
  std::optional<double> alltoall;  ///< of a plan
};

double link_bytes_per_second(const FindOptions& options) { return options.bandwidth_gbps * 1e9 / 8; }

/// M/B: what T_B and the all-to-all bounds count in.
double unit_seconds(const FindOptions& options) {
  return options.bytes() / (options.degree * link_bytes_per_second(options));
}

Result<FinderDatabase> load_database(const FindOptions& options) {
  const Result<std::string> text = read_text(options.database);
  if (!text) return text.error();
  Result<FinderDatabase> database = read_database(*text, options.database);
  if (database.ok() && database->direction != options.direction()) {
    return Error{options.database + ": its topologies have links " +
                 (options.bidirectional ? "that go one way only, unlike --bidirectional" : "both ways only")};
  }
  return database;
}

/// From the database where it has them, otherwise by search.
Result<std::vector<FoundTopology>> frontier(const FindOptions& options, const Deadline& deadline) {
  if (!options.database.empty()) {
    const Result<FinderDatabase> database = load_database(options);
    if (!database) return database.error();
    const auto known = database->frontiers.find({options.nodes, options.degree});
    if (known != database->frontiers.end()) return known->second;
  }
  TopologyFinder finder(options.direction(), deadline);
  std::vector<FoundTopology> found = finder.frontier(options.nodes, options.degree);
  if (finder.left_out() > 0) {
    warn(limit_sentence(options.time_limit_seconds,
                        "no measurement of " + std::to_string(finder.left_out()) + " graphs, which are left out"));
  }
  return found;
}

/// Of the best plan within the limit: blocks of M/N at F·b (paper 003, (5)).
Result<double> planned_alltoall(const Topology& topology, const FindOptions& options, double seconds) {
  PlanOptions wanted;
  wanted.gap = 0.01;
  wanted.time_limit_seconds = seconds;
  wanted.schedule = false;
  const Result<Plan> plan = make_plan(topology, Collective::alltoall, "mcf-path", wanted);
  if (!plan) return plan.error();
  return options.bytes() / topology.host_count() / (plan->flow * link_bytes_per_second(options));
}

Result<std::vector<Choice>> find_options(const FindOptions& options, const Deadline& deadline) {
  Result<std::vector<FoundTopology>> members = frontier(options, deadline);
  if (!members) return members.error();
  std::vector<Choice> found;
  for (FoundTopology& member : *members) {
    if (!found.empty() && deadline.passed()) {
      warn(limit_sentence(options.time_limit_seconds,
                          "no figure of " + std::to_string(members->size() - found.size()) + " other topologies"));
      break;
    }
    const Result<Topology> topology = generate(member.specification);
    if (!topology) return topology.error();
    Choice& option = found.emplace_back();
    option.alltoall_bound = alltoall_time_bound(*topology);
    option.allreduce =
        allreduce_seconds(member.cost, options.bytes(), options.alpha_seconds, link_bytes_per_second(options));
    option.alltoall_at_least = option.alltoall_bound.to_double() * unit_seconds(options);
    if (options.alltoall_limit_seconds > 0 && !deadline.passed()) {
      // What is left is shared with the members to come.
      const double share = deadline.remaining() / static_cast<double>(members->size() - found.size() + 1);
      const double seconds =
          deadline.limited() ? std::min(share, options.alltoall_limit_seconds) : options.alltoall_limit_seconds;
      const Result<double> planned = planned_alltoall(*topology, options, seconds);
      if (!planned) return planned.error();
      option.alltoall = *planned;
    }
    option.topology = std::move(member);
  }
  return found;
}

bool is_expansion(const FoundTopology& topology) {
  const Result<ExpansionParts> parts = split_expansion(topology.specification);
  return parts.ok() && parts->kind != ExpansionParts::Kind::none && parts->kind != ExpansionParts::Kind::product;
}

std::string algorithm_of(const FoundTopology& topology) { return is_expansion(topology) ? "expansion" : "bfb"; }

Json option_json(const Choice& option) {
  const ExpansionCost& cost = option.topology.cost;
  Json json{{"topology", option.topology.specification},
            {"algorithm", algorithm_of(option.topology)},
            {"steps", cost.steps},
            {"bandwidth_time", cost.bandwidth_time.to_string()},
            {"bandwidth_time_float", cost.bandwidth_time.to_double()},
            {"alltoall_bound", option.alltoall_bound.to_string()},
            {"allreduce_seconds", option.allreduce},
            {"alltoall_seconds_bound", option.alltoall_at_least}};
  if (option.alltoall) json["alltoall_seconds"] = *option.alltoall;
  return json;
}

void print_find(const FindOptions& options, const std::vector<Choice>& found, const Choice& bound,
                const std::string& pick) {
  std::vector<std::vector<std::string>> rows = {{"topology", "T_L/alpha", "T_B in M/B", "allreduce", "all-to-all"}};
  const auto row = [](const std::string& name, const Choice& option) {
    return std::vector<std::string>{name, std::to_string(option.topology.cost.steps),
                                    with_decimals(option.topology.cost.bandwidth_time.to_double(), 4),
                                    with_decimals(1e6 * option.allreduce, 1, "us"),
                                    option.alltoall ? with_decimals(1e6 * *option.alltoall, 1, "us")
                                                    : ">= " + with_decimals(1e6 * option.alltoall_at_least, 1, "us")};
  };
  for (const Choice& option : found) rows.push_back(row(option.topology.specification, option));
  rows.push_back(row("(Moore bound)", bound));
  std::fputs((std::to_string(options.nodes) + " nodes of degree " + std::to_string(options.degree) + "\n" +
              columns(rows) + "best allreduce here: " + pick + "\n")
                 .c_str(),
             stdout);
}

int sweep_all(const FindOptions& options, const Deadline& deadline) {
  if (options.database.empty()) return fail("--sweep needs --database FILE to write", options.json);
  const auto start = std::chrono::steady_clock::now();
  const FinderDatabase database = sweep(options.direction(), options.sweep, options.degrees, options.threads, deadline);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (const Status written = write_text(options.database, write_database(database)); !written) {
    return fail(written.error().message, options.json);
  }
  std::size_t topologies = 0;
  for (const auto& [key, members] : database.frontiers) topologies += members.size();
  const std::size_t wanted = static_cast<std::size_t>(options.sweep - 1) * options.degrees.size();
  if (database.frontiers.size() < wanted) {
    warn(limit_sentence(options.time_limit_seconds,
                        "nothing of " + std::to_string(wanted - database.frontiers.size()) + " frontiers"));
  }
  if (options.json) {
    print_json({{"nodes_max", options.sweep},
                {"degrees", options.degrees},
                {"frontiers", database.frontiers.size()},
                {"topologies", topologies},
                {"seconds", spent.count()}});
  } else {
    std::printf("%zu topologies on %zu frontiers in %.1f s\n", topologies, database.frontiers.size(), spent.count());
  }
  return ExitCode::good;
}

int find(const FindOptions& options) {
  const TimeLimit limit(options.time_limit_seconds, "no topology found", options.json);
  if (options.sweep > 0) return sweep_all(options, limit.deadline());
  if (options.nodes == 0 || options.degree == 0) {
    return fail("--nodes and --degree are required (or: --sweep NODES --database FILE)", options.json);
  }
  const Result<std::vector<Choice>> found = find_options(options, limit.deadline());
  if (!found) return fail(found.error().message, options.json);
  if (found->empty()) {
    return fail(
        "no topology known for " + std::to_string(options.nodes) + " nodes of degree " + std::to_string(options.degree),
        options.json);
  }
  Choice bound;
  bound.topology.cost = moore_bound(options.nodes, options.degree);
  bound.alltoall_bound = alltoall_moore_bound(options.nodes, options.degree);
  bound.allreduce =
      allreduce_seconds(bound.topology.cost, options.bytes(), options.alpha_seconds, link_bytes_per_second(options));
  bound.alltoall_at_least = bound.alltoall_bound.to_double() * unit_seconds(options);
  const auto best = std::min_element(found->begin(), found->end(),
                                     [](const Choice& a, const Choice& b) { return a.allreduce < b.allreduce; });
  const std::string pick = best->topology.specification;
  if (!options.json) {
    print_find(options, *found, bound, pick);
    return ExitCode::good;
  }
  Json members = Json::array();
  for (const Choice& option : *found) members.push_back(option_json(option));
  Json limits = option_json(bound);
  limits.erase("topology");
  limits.erase("algorithm");
  print_json({{"nodes", options.nodes},
              {"degree", options.degree},
              {"size_bytes", options.size_bytes},
              {"alpha_seconds", options.alpha_seconds},
              {"bandwidth_gbps", options.bandwidth_gbps},
              {"frontier", members},
              {"bound", limits},
              {"pick", pick}});
  return ExitCode::good;
}

/// Reads a plain number as it is, in `unit`, and anything else by `read` ("10us", "100Gbps").
template <typename Read>
CLI::Validator number_or(const char* type_name, const char* unit, bool zero_allowed, const Read& read) {
  const auto check = [=](std::string& text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc() || stop != end) {
      const Result<double> with_unit = read(text);
      if (!with_unit) return with_unit.error().message;
      value = *with_unit;
    }
    if (!std::isfinite(value) || value < 0 || (!zero_allowed && !(value > 0))) {
      return "found '" + text + "', expected " + (zero_allowed ? "zero or more " : "more than 0 ") + unit;
    }
    std::ostringstream exact;
    exact.precision(std::numeric_limits<double>::max_digits10);
    exact << value;
    text = exact.str();
    return std::string();
  };
  return {check, type_name};
}

Result<double> read_gbps(const std::string& text) {
  const Result<std::int64_t> bytes_per_second = parse_bandwidth(text);
  if (!bytes_per_second) return bytes_per_second.error();
  return static_cast<double>(*bytes_per_second) * 8 / 1e9;
}

CLI::App* add_find(CLI::App& parent, const std::shared_ptr<FindOptions>& options) {
  CLI::App* sub = parent.add_subcommand("find",
                                        "Say which topologies of N nodes of a degree serve allgather, "
                                        "reduce-scatter and allreduce best");
  CLI::Option* nodes =
      sub->add_option("--nodes", options->nodes, "Number of nodes")->check(whole_in(2, max_finder_nodes));
  sub->add_option("--degree", options->degree, "Links out of (and into) each node")
      ->check(whole_in(1, max_finder_degree));
  sub->add_option("--database", options->database, "Topologies found before: look them up, or with --sweep write them")
      ->type_name("FILE");
  CLI::Option* sweep = sub->add_option("--sweep", options->sweep, "Find those of every number of nodes up to this one")
                           ->type_name("NODES")
                           ->check(whole_in(2, max_finder_nodes));
  sub->add_option("--degrees", options->degrees, "Of the sweep, default 2,4,6,8,12")
      ->delimiter(',')
      ->check(whole_in(1, max_finder_degree))
      ->needs(sweep);
  sub->add_option("--threads", options->threads, "Of the sweep: so many degrees at a time")
      ->check(whole_in(1, 64))
      ->needs(sweep)
      ->capture_default_str();
  sub->add_flag("--bidirectional", options->bidirectional, "Only topologies whose links all have their reverse");
  sub->add_option("--alltoall", options->alltoall_limit_seconds,
                  "Plan the all-to-all of each member to 1 %, for so long at most; left out: its lower bound")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  sub->add_option("--time-limit", options->time_limit_seconds, "For all of it: what was found by then; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  sub->add_option("--size", options->size_bytes, "Of the allreduce the pick is for: 64KiB; left out: 1 MiB")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false))
      ->check(bytes_from(1));
  sub->add_option("--alpha", options->alpha_seconds, "Of a step: 10us, or a number of seconds; left out: 10us")
      ->transform(number_or("TIME", "seconds", true, [](const std::string& text) { return parse_latency(text); }));
  sub->add_option("--bandwidth", options->bandwidth_gbps, "Of one link: 100Gbps, or a number of Gbps; left out: 25Gbps")
      ->transform(number_or("BANDWIDTH", "Gbps", false, read_gbps));
  for (CLI::Option* other : {nodes, sub->get_option("--degree"), sub->get_option("--alltoall"),
                             sub->get_option("--size"), sub->get_option("--alpha"), sub->get_option("--bandwidth")}) {
    sweep->excludes(other);
  }
  sub->add_flag("--json", options->json, "Machine-readable output");
  return sub;
}

template <class Format>
std::string format_names(std::span<const Format> formats) {
  std::vector<std::string> names;
  for (const Format& format : formats) names.emplace_back(format.name);
  return join(names, ", ");
}

void add_exchange(CLI::App& sub, TopoOptions& options) {
  CLI::Option* import_option =
      sub.add_option("--import", options.import_format,
                     "The topology is a file of another format: " + format_names(import_formats()))
          ->type_name("FORMAT");
  sub.add_option("--node-name-map", options.names, "Of --import ibnetdiscover: names by GUID")
      ->type_name("FILE")
      ->needs(import_option);
  sub.add_option("--host-switches", options.host_switches,
                 "Of --import ibnetdiscover: a switch of one host becomes one node with it (collapse), stays (keep), "
                 "or stays where the host link may be a bottleneck (auto)")
      ->type_name("HOW")
      ->default_val("auto")
      ->needs(import_option);
  CLI::Option* export_option =
      sub.add_option("--export", options.export_format, "Write the topology as " + format_names(export_formats()))
          ->type_name("FORMAT");
  sub.add_option("--output", options.output, "Of --export; left out: standard output")
      ->type_name("FILE")
      ->needs(export_option);
}

}  // namespace

void add_topo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TopoOptions>();
  CLI::App* sub = app.add_subcommand("topo", "Say what a topology is: nodes, links, degree, diameter, symmetry");
  sub->add_option("topology,--topology", options->topology, "Specification such as torus:3x3x3, or a topology file");
  add_exchange(*sub, *options);
  sub->add_flag("--json", options->json, "Machine-readable output");
  sub->footer("Topologies\n" + topologies_text());
  auto find_options = std::make_shared<FindOptions>();
  const CLI::App* finder = add_find(*sub, find_options);
  sub->callback([options, find_options, finder, &exit_code] {
    // --json may stand before `find`, too.
    find_options->json = find_options->json || options->json;
    if (finder->parsed() && !options->topology.empty()) {
      exit_code = fail("found the topology '" + options->topology + "', expected none: find searches for them",
                       find_options->json);
    } else if (finder->parsed()) {
      exit_code = find(*find_options);
    } else if (options->topology.empty()) {
      exit_code = fail("topology is required (or: libcoll topo find)", options->json);
    } else {
      exit_code = topo(*options);
    }
  });
}

}  // namespace libcoll::command

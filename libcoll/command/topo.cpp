// libcoll topo: what a topology is, in figures.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "libcoll/command/command.h"
#include "planner/topology/facts.h"
#include "planner/topology/reader.h"

namespace libcoll::command {
namespace {

struct Options {
  std::string topology;
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

int topo(const Options& options) {
  const Result<Topology> topology = load_topology(options.topology);
  if (!topology) return fail(topology.error().message, options.json);
  if (options.json) {
    print_json(topo_json(*topology));
  } else {
    std::fputs(topo_text(*topology).c_str(), stdout);
  }
  return ExitCode::good;
}

}  // namespace

void add_topo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("topo", "Say what a topology is: nodes, links, degree, diameter, symmetry");
  sub->add_option("topology,--topology", options->topology, "Specification such as torus:3x3x3, or a topology file")
      ->required();
  sub->add_flag("--json", options->json, "Machine-readable output");
  sub->footer("Topologies\n" + topologies_text());
  sub->callback([options, &exit_code] { exit_code = topo(*options); });
}

}  // namespace libcoll::command

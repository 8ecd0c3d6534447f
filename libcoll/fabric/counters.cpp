#include "libcoll/fabric/counters.h"

#include <time.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "libcoll/fabric/addressing.h"
#include "libcoll/fabric/namespaces.h"
#include "libcoll/fabric/processes.h"

namespace libcoll::fabric {

using namespace topology;

std::map<std::string, LinkCounters> parse_devices(const std::string& text) {
  std::map<std::string, LinkCounters> devices;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t first = line.find_first_not_of(' ');
    if (colon == std::string::npos || first >= colon) continue;
    std::istringstream numbers(line.substr(colon + 1));
    std::uint64_t received = 0;
    constexpr int receive_columns = 8;
    for (int i = 0; i < receive_columns; ++i) numbers >> received;
    LinkCounters counters;
    std::uint64_t errors = 0;
    if (numbers >> counters.bytes >> counters.packets >> errors >> counters.drops) {
      devices.emplace(line.substr(first, colon - first), counters);
    }
  }
  return devices;
}

std::uint64_t parse_retransmits(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    if (fields.empty() || fields.front() != "Tcp:") continue;
    for (std::size_t i = 1; i < fields.size() && i < names.size(); ++i) {
      if (names[i] == "RetransSegs") return std::stoull(fields[i]);
    }
    names = fields;
  }
  return 0;
}

FabricCounters read_counters(const FabricState& state) {
  FabricCounters counters;
  counters.links.resize(state.topology.links().size());
  for (NodeId node = 0; node < state.topology.node_count(); ++node) {
    const pid_t pid = state.holders[static_cast<std::size_t>(node)].pid;
    const auto devices = parse_devices(read_proc(pid, "net/dev"));
    for (const LinkId id : state.topology.out_links(node)) {
      const auto found = devices.find(link_device(state.topology.link(id).to));
      if (found != devices.end()) counters.links[static_cast<std::size_t>(id)] = found->second;
    }
    counters.retransmits.push_back(parse_retransmits(read_proc(pid, "net/snmp")));
  }
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  counters.seconds = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return counters;
}

std::map<std::string, std::uint64_t> parse_shapers(const std::string& text) {
  std::map<std::string, std::uint64_t> drops;
  const nlohmann::json shapers = nlohmann::json::parse(text, nullptr, false);
  if (!shapers.is_array()) return drops;
  for (const nlohmann::json& shaper : shapers) {
    if (!shaper.is_object() || !shaper.contains("dev") || !shaper.contains("drops")) continue;
    if (!shaper["dev"].is_string() || !shaper["drops"].is_number_unsigned()) continue;
    drops[shaper["dev"].get<std::string>()] += shaper["drops"].get<std::uint64_t>();
  }
  return drops;
}

Status add_shaper_drops(const FabricState& state, FabricCounters& counters) {
  const Result<std::string> tc = find_tool("tc", "iproute2");
  if (!tc) return tc.error();
  std::vector<InsideJob> jobs;
  for (const ProcessId& holder : state.holders) jobs.push_back({holder, {*tc, "-s", "-j", "qdisc", "show"}, ""});
  const Result<std::vector<std::string>> texts = run_inside(jobs);
  if (!texts) return texts.error();
  for (NodeId node = 0; node < state.topology.node_count(); ++node) {
    const auto drops = parse_shapers((*texts)[static_cast<std::size_t>(node)]);
    for (const LinkId id : state.topology.out_links(node)) {
      const auto found = drops.find(link_device(state.topology.link(id).to));
      if (found != drops.end()) counters.links[static_cast<std::size_t>(id)].drops += found->second;
    }
  }
  return {};
}

}  // namespace libcoll::fabric

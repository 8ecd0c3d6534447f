// libcoll fabric status and watch: what crosses the links.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "libcoll/command/fabric.h"
#include "libcoll/command/text.h"
#include "libcoll/fabric/addressing.h"
#include "libcoll/fabric/counters.h"
#include "libcoll/fabric/fabric.h"

namespace libcoll::command {

using namespace fabric;
using namespace topology;

namespace {

constexpr const char* last_file = "last.json";

double bits_per_second(const FabricState& state, LinkId id) {
  return 8.0 * static_cast<double>(state.topology.link(id).bandwidth_bytes_per_second);
}

/// Part of a link's capacity that `bytes` in `seconds` use.
double utilisation(const FabricState& state, LinkId id, std::uint64_t bytes, double seconds) {
  return seconds > 0 ? 8.0 * static_cast<double>(bytes) / (seconds * bits_per_second(state, id)) : 0.0;
}

std::uint64_t total(std::span<const LinkCounters> links, std::uint64_t LinkCounters::*what) {
  return std::accumulate(links.begin(), links.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, const LinkCounters& link) { return sum + link.*what; });
}

/// Time and bytes by link of the last call; those of the start when there was none.
FabricCounters last_counters(const FabricState& state, const StateDirectory& directory) {
  FabricCounters last;
  last.seconds = state.up_since;
  last.links.resize(state.topology.links().size());
  const auto text = directory.read(last_file);
  if (!text.ok() || !text->has_value()) return last;
  const Json json = Json::parse(**text, nullptr, false);
  if (!json.is_object() || !json.contains("seconds") || !json.contains("bytes")) return last;
  const Json& bytes = json["bytes"];
  if (!json["seconds"].is_number() || !bytes.is_array() || bytes.size() != last.links.size()) return last;
  last.seconds = json["seconds"].get<double>();
  for (std::size_t i = 0; i < last.links.size(); ++i) {
    if (bytes[i].is_number_unsigned()) last.links[i].bytes = bytes[i].get<std::uint64_t>();
  }
  return last;
}

std::string counters_json(const FabricCounters& counters) {
  Json bytes = Json::array();
  for (const LinkCounters& link : counters.links) bytes.push_back(link.bytes);
  return Json{{"seconds", counters.seconds}, {"bytes", bytes}}.dump() + "\n";
}

Json link_json(const FabricState& state, LinkId id, const FabricCounters& now, const FabricCounters& last) {
  const auto i = static_cast<std::size_t>(id);
  const Link& link = state.topology.link(id);
  const LinkCounters& counters = now.links[i];
  const std::uint64_t recent = counters.bytes - std::min(counters.bytes, last.links[i].bytes);
  return {{"from", state.topology.node(link.from).name},
          {"to", state.topology.node(link.to).name},
          {"device", link_device(link.to)},
          {"state", state.cut[i] ? "cut" : "up"},
          {"rate_bits_per_second", link.bandwidth_bytes_per_second * 8},
          {"bytes", counters.bytes},
          {"packets", counters.packets},
          {"drops", counters.drops},
          {"utilisation", utilisation(state, id, counters.bytes, now.seconds - state.up_since)},
          {"bytes_since_last", recent},
          {"utilisation_since_last", utilisation(state, id, recent, now.seconds - last.seconds)}};
}

Json status_json(const FabricState& state, const FabricCounters& now, const FabricCounters& last) {
  Json nodes = Json::array();
  for (NodeId node = 0; node < state.topology.node_count(); ++node) {
    const auto i = static_cast<std::size_t>(node);
    nodes.push_back({{"name", state.topology.node(node).name},
                     {"host", state.topology.node(node).host},
                     {"switch", state.topology.node(node).is_switch},
                     {"pid", state.holders[i].pid},
                     {"retransmits", now.retransmits[i]}});
  }
  Json links = Json::array();
  for (LinkId id = 0; id < state.topology.link_count(); ++id) links.push_back(link_json(state, id, now, last));
  return {{"name", state.name},
          {"topology", current_topology(state).name()},
          {"directory", state_directory(state.name)},
          {"control_pid", state.control.pid},
          {"uptime_seconds", now.seconds - state.up_since},
          {"seconds_since_last", now.seconds - last.seconds},
          {"classes", state.classes},
          {"default_routes", state.default_routes},
          {"planned_routes", state.planned.size()},
          {"ranks_per_node", state.ranks_per_node},
          {"nodes", nodes},
          {"links", links}};
}

/// Bytes by link between two readings.
std::vector<std::uint64_t> difference(const FabricCounters& now, const FabricCounters& before) {
  std::vector<std::uint64_t> bytes(now.links.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = now.links[i].bytes - std::min(now.links[i].bytes, before.links[i].bytes);
  }
  return bytes;
}

/// The busiest links first, at most `rows` of them.
std::string busiest_links(const FabricState& state, const FabricCounters& now, const FabricCounters& before,
                          std::size_t rows) {
  const std::vector<std::uint64_t> bytes = difference(now, before);
  const double seconds = now.seconds - before.seconds;
  const auto use = [&](LinkId id) { return utilisation(state, id, bytes[static_cast<std::size_t>(id)], seconds); };
  std::vector<LinkId> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](LinkId a, LinkId b) { return use(a) > use(b); });
  order.resize(std::min(order.size(), rows));
  std::vector<std::vector<std::string>> table = {{"LINK", "RATE", "USE", "KBYTES", "DROPS", ""}};
  for (const LinkId id : order) {
    const auto i = static_cast<std::size_t>(id);
    const Link& link = state.topology.link(id);
    const auto bar = static_cast<std::size_t>(std::lround(std::clamp(use(id), 0.0, 1.0) * 30));
    table.push_back({state.topology.node(link.from).host + " -> " + state.topology.node(link.to).host,
                     rate_text(bits_per_second(state, id)), with_decimals(100 * use(id), 1, "%"),
                     std::to_string(bytes[i] / 1000), std::to_string(now.links[i].drops),
                     state.cut[i] ? "cut" : std::string(bar, '#')});
  }
  return columns(table);
}

std::string summary(const FabricState& state, const FabricCounters& now) {
  const auto cut = std::count(state.cut.begin(), state.cut.end(), true);
  const std::uint64_t retransmits = std::accumulate(now.retransmits.begin(), now.retransmits.end(), std::uint64_t{0});
  char text[160];
  std::snprintf(text, sizeof text, "up %.0f s, %d nodes, %d links (%d cut), %d classes, %llu drops, %llu retransmits\n",
                now.seconds - state.up_since, static_cast<int>(state.topology.node_count()),
                static_cast<int>(state.topology.link_count()), static_cast<int>(cut), static_cast<int>(state.classes),
                static_cast<unsigned long long>(total(now.links, &LinkCounters::drops)),
                static_cast<unsigned long long>(retransmits));
  return state.name + ": " + current_topology(state).name() + ", " + text;
}

}  // namespace

int fabric_status(const std::string& fabric, bool json) {
  const Result<FabricState> state = load_fabric(fabric);
  if (!state) return fail(state.error().message, json);
  const Result<std::optional<StateDirectory>> directory = StateDirectory::open(fabric);
  if (!directory) return fail(directory.error().message, json);
  if (!directory->has_value()) return fail("fabric '" + fabric + "' is not up any more", json);
  const FabricCounters last = last_counters(*state, **directory);
  FabricCounters now = read_counters(*state);
  if (const Status added = add_shaper_drops(*state, now); !added) return fail(added.error().message, json);
  if (const Status written = (*directory)->write(last_file, counters_json(now)); !written) {
    return fail(written.error().message, json);
  }
  if (json) {
    print_json(status_json(*state, now, last));
  } else {
    std::fputs((summary(*state, now) + busiest_links(*state, now, last, state->topology.links().size())).c_str(),
               stdout);
  }
  return ExitCode::good;
}

int fabric_watch(const std::string& fabric, double interval_seconds, int rounds) {
  constexpr std::size_t rows = 20;
  FabricCounters before;
  for (int round = 0; rounds <= 0 || round <= rounds; ++round) {
    const Result<FabricState> state = load_fabric(fabric);
    if (!state) return fail(state.error().message);
    FabricCounters now = read_counters(*state);
    if (before.links.size() == now.links.size()) {
      const std::string clear = isatty(STDOUT_FILENO) != 0 ? "\033[H\033[2J" : "";
      std::fputs((clear + summary(*state, now) + busiest_links(*state, now, before, rows)).c_str(), stdout);
      if (std::fflush(stdout) != 0) break;  // main says why
    }
    before = std::move(now);
    if (rounds <= 0 || round < rounds) std::this_thread::sleep_for(std::chrono::duration<double>(interval_seconds));
  }
  return ExitCode::good;
}

}  // namespace libcoll::command

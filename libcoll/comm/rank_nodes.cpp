#include "libcoll/comm/rank_nodes.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace libcoll::comm {

using namespace topology;

namespace {

std::string_view short_name(std::string_view name) { return name.substr(0, name.find('.')); }

/// Empty where there is none.
std::string_view environment_value(char* const* environment, std::string_view name) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return entry.substr(name.size() + 1);
  }
  return {};
}

/// Each host once, in order: the file has a line for every process.
std::vector<std::string> hosts_of_nodefile(const std::string& path) {
  constexpr std::size_t most_lines = 1 << 20;
  std::vector<std::string> hosts;
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; lines < most_lines && std::getline(file, line); ++lines) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (!line.empty() && (hosts.empty() || hosts.back() != line)) hosts.push_back(line);
  }
  std::vector<std::string> once;
  for (std::string& host : hosts) {
    if (std::find(once.begin(), once.end(), host) == once.end()) once.push_back(std::move(host));
  }
  return once;
}

std::string name_in_nodefile(std::string_view host, char* const* environment) {
  const std::string path(environment_value(environment, "PBS_NODEFILE"));
  if (path.empty()) return {};
  const std::vector<std::string> hosts = hosts_of_nodefile(path);
  const std::string_view number = environment_value(environment, "PBS_NODENUM");
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  const bool is_number = !number.empty() && error == std::errc() && end == number.data() + number.size();
  if (is_number && index < hosts.size()) return hosts[index];
  const auto same = std::find_if(hosts.begin(), hosts.end(),
                                 [&](const std::string& each) { return short_name(each) == short_name(host); });
  return same == hosts.end() ? std::string() : *same;
}

/// Hosts of the topology, by name and by what names begin with.
class HostIndex {
 public:
  explicit HostIndex(const Topology& topology) {
    for (NodeId node = 0; node < topology.host_count(); ++node) {
      const std::string& host = topology.node(node).host;
      if (host.empty()) continue;
      by_name_.emplace(host, node);
      const auto [place, is_new] = by_short_name_.emplace(short_name(host), node);
      if (!is_new) place->second = ambiguous;
    }
  }

  [[nodiscard]] bool empty() const { return by_name_.empty(); }

  [[nodiscard]] std::optional<NodeId> find(std::string_view name) const {
    if (name.empty()) return std::nullopt;
    if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    const auto found = by_short_name_.find(short_name(name));
    if (found == by_short_name_.end() || found->second == ambiguous) return std::nullopt;
    return found->second;
  }

  /// By host, then by the aliases in their order.
  [[nodiscard]] std::optional<NodeId> find(const RankIdentity& rank) const {
    std::optional<NodeId> found = find(std::string_view(rank.host.data()));
    std::istringstream aliases(rank.aliases.data());
    for (std::string alias; !found && std::getline(aliases, alias);) found = find(alias);
    return found;
  }

 private:
  static constexpr NodeId ambiguous = -1;
  std::map<std::string, NodeId, std::less<>> by_name_;
  std::map<std::string, NodeId, std::less<>> by_short_name_;
};

/// The hosts that the ranks are on, numbered in the order of their first ranks in the world.
std::map<std::string_view, NodeId> hosts_in_world_order(std::span<const RankIdentity> ranks) {
  std::vector<std::pair<std::int32_t, std::string_view>> order;
  order.reserve(ranks.size());
  for (const RankIdentity& rank : ranks) order.emplace_back(rank.world_rank, rank.host.data());
  std::sort(order.begin(), order.end());
  std::map<std::string_view, NodeId> node_of_host;
  for (const auto& [world_rank, host] : order) {
    node_of_host.emplace(host, static_cast<NodeId>(node_of_host.size()));
  }
  return node_of_host;
}

template <class Find>
RankNodes each_by(std::span<const RankIdentity> ranks, const Find& find) {
  RankNodes result;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::optional<NodeId> node = find(ranks[rank]);
    if (!node) return {{}, rank};
    result.nodes.push_back(*node);
  }
  return result;
}

/// Where the topology has no names for hosts.
RankNodes by_order(const Topology& topology, std::span<const RankIdentity> ranks) {
  const std::int32_t world_size = ranks.front().world_size;
  const NodeId hosts = topology.host_count();
  const bool by_world_rank = world_size == hosts;
  const bool told = !by_world_rank &&
                    std::all_of(ranks.begin(), ranks.end(), [](const RankIdentity& rank) { return rank.told >= 0; });
  std::map<std::string_view, NodeId> node_of_host;
  if (!by_world_rank && !told) {
    // Part of the world need not see the hosts in the same order.
    if (ranks.size() != static_cast<std::size_t>(world_size)) return {};
    node_of_host = hosts_in_world_order(ranks);
    if (node_of_host.size() != static_cast<std::size_t>(hosts)) return {};
  }
  RankNodes result;
  for (const RankIdentity& rank : ranks) {
    NodeId node = told ? rank.told : rank.world_rank;
    if (!node_of_host.empty()) node = node_of_host.at(rank.host.data());
    if (node < 0 || node >= hosts) return {};
    result.nodes.push_back(node);
  }
  return result;
}

}  // namespace

std::vector<std::string> names_of_host(std::string_view host, char* const* environment) {
  std::vector<std::string> names;
  for (std::string name :
       {std::string(environment_value(environment, "PMIX_HOSTNAME")),
        std::string(environment_value(environment, "SLURMD_NODENAME")), name_in_nodefile(host, environment)}) {
    const bool is_new = name != host && std::find(names.begin(), names.end(), name) == names.end();
    if (!name.empty() && is_new) names.push_back(std::move(name));
  }
  return names;
}

void set_names(RankIdentity& identity, std::string_view host, std::span<const std::string> aliases) {
  host.copy(identity.host.data(), identity.host.size() - 1);
  std::string text;
  for (const std::string& alias : aliases) {
    if (text.size() + alias.size() + 2 <= identity.aliases.size()) text.append(alias).append("\n");
  }
  text.copy(identity.aliases.data(), identity.aliases.size() - 1);
}

std::optional<NodeId> find_host(const Topology& topology, std::string_view name) {
  return HostIndex(topology).find(name);
}

RankNodes nodes_of_ranks(const Topology& topology, std::span<const RankIdentity> ranks, bool several_worlds) {
  const bool placed =
      std::any_of(ranks.begin(), ranks.end(), [](const RankIdentity& rank) { return rank.placed != not_placed; });
  if (placed) {
    return each_by(ranks, [&](const RankIdentity& rank) {
      const bool good = rank.placed >= 0 && rank.placed < topology.host_count();
      return good ? std::optional(rank.placed) : std::nullopt;
    });
  }
  const HostIndex index(topology);
  if (!index.empty()) return each_by(ranks, [&](const RankIdentity& rank) { return index.find(rank); });
  return several_worlds ? RankNodes() : by_order(topology, ranks);
}

bool on_one_host(std::span<const RankIdentity> ranks) { return hosts_in_world_order(ranks).size() == 1; }

std::string unknown_host_sentence(const Topology& topology, const RankIdentity& rank) {
  constexpr NodeId most_named = 8;
  std::string text = "rank " + std::to_string(rank.world_rank) + " is on '" + std::string(rank.host.data()) + "', ";
  if (rank.placed != not_placed) return text + "and the placement file names no node of the topology for it";
  text += "which the topology '" + topology.name() + "' does not have; expected one of ";
  for (NodeId node = 0; node < std::min(most_named, topology.host_count()); ++node) {
    text += (node == 0 ? "" : ", ") + topology.node(node).host;
  }
  return text + (topology.host_count() > most_named ? ", ..." : "");
}

}  // namespace libcoll::comm

#include "libcoll/command/doctor_paths.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "libcoll/command/fabric.h"
#include "libcoll/command/text.h"
#include "planner/base/index.h"

namespace libcoll::command {

using namespace topology;

namespace {

/// A link that is slow is told from others of a path by another path.
constexpr std::int32_t paths_over_a_link = 2;

/// The shortest ways from a host through switches.
class Ways {
 public:
  Ways(const Topology& topology, NodeId source) : topology_(topology), reached_(at(topology.node_count())) {
    reached_[at(source)] = {0, 1, -1};
    std::vector<NodeId> open{source};
    for (std::size_t next = 0; next < open.size(); ++next) {
      const NodeId node = open[next];
      if (node != source && !topology.node(node).is_switch) continue;
      for (const LinkId id : topology.out_links(node)) visit(node, id, open);
    }
  }

  /// Empty: there is none, or several.
  [[nodiscard]] std::vector<LinkId> only_way_to(NodeId host) const {
    std::vector<LinkId> links;
    if (reached_[at(host)].ways != 1) return links;
    for (NodeId node = host; reached_[at(node)].last >= 0; node = topology_.link(links.back()).from)
      links.push_back(reached_[at(node)].last);
    std::reverse(links.begin(), links.end());
    return links;
  }

 private:
  struct Reached {
    std::int32_t hops = -1;
    std::int32_t ways = 0;  ///< 2: several
    LinkId last = -1;
  };

  void visit(NodeId from, LinkId id, std::vector<NodeId>& open) {
    const Reached& before = reached_[at(from)];
    Reached& after = reached_[at(topology_.link(id).to)];
    if (after.hops < 0) {
      after = {before.hops + 1, before.ways, id};
      open.push_back(topology_.link(id).to);
    } else if (after.hops == before.hops + 1) {
      after.ways = 2;
    }
  }

  const Topology& topology_;
  std::vector<Reached> reached_;
};

bool is_of_switch(const Topology& topology, LinkId id) {
  return topology.node(topology.link(id).from).is_switch || topology.node(topology.link(id).to).is_switch;
}

/// As wide as the narrowest, as long as all together.
Link as_link(const Topology& topology, NodeId from, NodeId to, const std::vector<LinkId>& links) {
  Link whole{from, to, topology.link(links.front()).bandwidth_bytes_per_second, 0};
  for (const LinkId id : links) {
    const Link& link = topology.link(id);
    whole.bandwidth_bytes_per_second = std::min(whole.bandwidth_bytes_per_second, link.bandwidth_bytes_per_second);
    whole.latency_seconds += link.latency_seconds;
  }
  return whole;
}

std::string listed_links(const Topology& topology, const std::vector<LinkId>& links) {
  std::vector<std::string> names;
  names.reserve(links.size());
  for (const LinkId id : links) names.push_back(link_text(topology, id));
  return join(names, ", ");
}

}  // namespace

SwitchPaths choose_paths(const Topology& topology, const std::vector<bool>& measures) {
  SwitchPaths paths;
  std::vector<Link> ends;
  std::vector<std::int32_t> crossed(at(topology.link_count()), 0);
  const NodeId hosts = topology.host_count();
  if (hosts == topology.node_count()) return paths;
  for (NodeId from = 0; from < hosts; ++from) {
    if (!measures[at(from)]) continue;
    const Ways ways(topology, from);
    for (NodeId step = 1; step < hosts; ++step) {
      const NodeId to = (from + step) % hosts;
      if (!measures[at(to)]) continue;
      std::vector<LinkId> links = ways.only_way_to(to);
      const bool adds =
          std::any_of(links.begin(), links.end(), [&](LinkId id) { return crossed[at(id)] < paths_over_a_link; });
      if (links.size() < 2 || !adds) continue;
      for (const LinkId id : links) ++crossed[at(id)];
      ends.push_back(as_link(topology, from, to, links));
      paths.links.push_back(std::move(links));
    }
  }
  for (LinkId id = 0; id < topology.link_count(); ++id) {
    if (!is_of_switch(topology, id)) continue;
    ++paths.links_of_switches;
    paths.links_on_paths += crossed[at(id)] > 0 ? 1 : 0;
  }
  const auto nodes = topology.nodes().first(at(hosts));
  // Each pair is there once, and no host is its own peer.
  paths.ends = Topology::make(topology.name() + ", paths through switches", {nodes.begin(), nodes.end()}, ends).value();
  return paths;
}

std::vector<Finding> judge_paths(const Topology& topology, const SwitchPaths& paths,
                                 const std::vector<LinkMeasurement>& measured, double tolerance) {
  std::vector<bool> is_good(at(topology.link_count()), false);
  for (const LinkMeasurement& path : measured) {
    if (is_suspicious(paths.ends, path, tolerance) || !path.alone_bytes_per_second) continue;
    for (const LinkId id : paths.links[at(path.link)]) is_good[at(id)] = true;
  }
  // What crosses the same suspects is one finding: the best of it says what they carry.
  std::map<std::vector<LinkId>, std::optional<double>> suspects;
  for (const LinkMeasurement& path : measured) {
    if (!is_suspicious(paths.ends, path, tolerance)) continue;
    std::vector<LinkId> left;
    for (const LinkId id : paths.links[at(path.link)]) {
      if (!is_good[at(id)]) left.push_back(id);
    }
    // All of its links carry others well: it does not go the way that it is thought to.
    if (left.empty()) left = paths.links[at(path.link)];
    std::optional<double>& best = suspects[left];
    if (path.carries && path.alone_bytes_per_second) best = std::max(best.value_or(0), *path.alone_bytes_per_second);
  }
  // Where a link is enough to explain a path, the path says nothing about others.
  std::vector<Finding> findings;
  for (const auto& [links, carried] : suspects) {
    const bool is_explained = links.size() > 1 && std::any_of(links.begin(), links.end(), [&](LinkId id) {
                                return suspects.contains(std::vector<LinkId>{id});
                              });
    if (is_explained) continue;
    const std::string what =
        carried ? "carries " + rate_text(bits_per_byte * *carried) : std::string("lets nothing through");
    const Link narrowest = as_link(topology, 0, 1, links);
    findings.push_back({Severity::fault, "link",
                        (links.size() == 1 ? "" : "one of ") + listed_links(topology, links) + ": " + what +
                            ", the topology file says " +
                            rate_text(bits_per_byte * static_cast<double>(narrowest.bandwidth_bytes_per_second)),
                        "Check the cables and the ports of these switches and hosts (speed, width, errors), and the "
                        "routes between the "
                        "hosts."});
  }
  return findings;
}

}  // namespace libcoll::command

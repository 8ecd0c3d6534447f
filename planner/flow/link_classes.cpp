#include "planner/flow/link_classes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

namespace libcoll {
namespace {

LinkId image_of_link(const Topology& topology, const Automorphism& image, LinkId link) {
  const Link& ends = topology.link(link);
  return topology.find_link(image[static_cast<std::size_t>(ends.from)], image[static_cast<std::size_t>(ends.to)]);
}

LinkClasses without_symmetry(const Topology& topology) {
  LinkClasses classes;
  classes.sources.resize(static_cast<std::size_t>(topology.host_count()));
  std::iota(classes.sources.begin(), classes.sources.end(), 0);
  Automorphism& identity = classes.images.emplace_back(static_cast<std::size_t>(topology.node_count()));
  std::iota(identity.begin(), identity.end(), 0);
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    classes.capacity.push_back(topology.capacity(link));
    classes.loads.push_back({{link, 1}});
  }
  return classes;
}

/// By link: how often each link of the solved source's flow is carried onto it.
std::vector<std::map<LinkId, std::int32_t>> carried_onto(const Topology& topology,
                                                         std::span<const Automorphism> translations) {
  std::vector<std::map<LinkId, std::int32_t>> carried(static_cast<std::size_t>(topology.link_count()));
  for (const Automorphism& translation : translations) {
    for (LinkId link = 0; link < topology.link_count(); ++link) {
      ++carried[static_cast<std::size_t>(image_of_link(topology, translation, link))][link];
    }
  }
  return carried;
}

}  // namespace

LinkClasses link_classes(const Topology& topology, std::span<const Automorphism> translations) {
  if (translations.empty()) return without_symmetry(topology);
  LinkClasses classes;
  classes.sources = {0};
  classes.images.assign(translations.begin(), translations.end());
  classes.loads.resize(static_cast<std::size_t>(topology.link_count()));
  const auto carried = carried_onto(topology, translations);
  std::map<std::pair<std::map<LinkId, std::int32_t>, Rational>, std::int32_t> known;
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    const std::map<LinkId, std::int32_t>& row = carried[static_cast<std::size_t>(link)];
    const auto id = static_cast<std::int32_t>(classes.capacity.size());
    if (!known.try_emplace({row, topology.capacity(link)}, id).second) continue;
    classes.capacity.push_back(topology.capacity(link));
    for (const auto& [origin, times] : row) classes.loads[static_cast<std::size_t>(origin)].push_back({id, times});
  }
  return classes;
}

double largest_load(const LinkClasses& classes, std::span<const double> amounts) {
  std::vector<double> load(classes.capacity.size(), 0);
  for (std::size_t link = 0; link < amounts.size(); ++link) {
    for (const ClassLoad& entry : classes.loads[link]) {
      load[static_cast<std::size_t>(entry.link_class)] += entry.times * amounts[link];
    }
  }
  double largest = 0;
  for (std::size_t i = 0; i < load.size(); ++i) largest = std::max(largest, load[i] / classes.capacity[i].to_double());
  return largest;
}

std::vector<LinkId> image_of(const Topology& topology, const Automorphism& image, std::span<const LinkId> links) {
  std::vector<LinkId> result;
  result.reserve(links.size());
  for (const LinkId link : links) result.push_back(image_of_link(topology, image, link));
  return result;
}

}  // namespace libcoll

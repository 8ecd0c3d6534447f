#include "planner/flow/problem/link_classes.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

LinkId image_of_link(const Topology& topology, const Automorphism& image, LinkId link) {
  const Link& ends = topology.link(link);
  return topology.find_link(image[static_cast<std::size_t>(ends.from)], image[static_cast<std::size_t>(ends.to)]);
}

/// Union–find; the smallest member represents a set.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }

  std::int32_t find(std::int32_t item) {
    while (parent_[at(item)] != item) item = parent_[at(item)] = parent_[at(parent_[at(item)])];
    return item;
  }

  void join(std::int32_t a, std::int32_t b) {
    a = find(a);
    b = find(b);
    parent_[at(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<std::int32_t> parent_;
};

/// By link: its image.
std::vector<LinkId> images_of_links(const Topology& topology, const Automorphism& image) {
  std::vector<LinkId> result(at(topology.link_count()));
  std::vector<LinkId> link_to(at(topology.node_count()), -1);  // of the node at hand
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    for (const LinkId link : topology.out_links(image[at(node)])) link_to[at(topology.link(link).to)] = link;
    for (const LinkId link : topology.out_links(node))
      result[at(link)] = link_to[at(image[at(topology.link(link).to)])];
  }
  return result;
}

}  // namespace

SourceOrbits source_orbits(const Topology& topology, std::span<const Automorphism> generators) {
  Sets hosts(at(topology.node_count()));
  Sets links(at(topology.link_count()));
  for (const Automorphism& generator : generators) {
    for (NodeId node = 0; node < topology.node_count(); ++node) hosts.join(node, generator[at(node)]);
    const std::vector<LinkId> image = images_of_links(topology, generator);
    for (LinkId link = 0; link < topology.link_count(); ++link) links.join(link, image[at(link)]);
  }
  SourceOrbits orbits;
  std::vector<std::size_t> orbit_of(at(topology.host_count()));
  for (NodeId host = 0; host < topology.host_count(); ++host) {
    const NodeId first = hosts.find(host);
    if (first == host) {
      orbit_of[at(host)] = orbits.sources.size();
      orbits.sources.push_back(host);
      orbits.sizes.push_back(0);
    }
    ++orbits.sizes[orbit_of[at(first)]];
  }
  orbits.link_class.resize(at(topology.link_count()));
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    const LinkId first = links.find(link);
    if (first == link) {
      orbits.link_class[at(link)] = static_cast<std::int32_t>(orbits.capacity.size());
      orbits.capacity.push_back(topology.capacity(link));
      orbits.links.push_back(0);
    }
    orbits.link_class[at(link)] = orbits.link_class[at(first)];
    ++orbits.links[at(orbits.link_class[at(link)])];
  }
  return orbits;
}

LinkClasses link_classes(const SourceOrbits& orbits, std::vector<Automorphism> images) {
  LinkClasses classes;
  classes.sources = orbits.sources;
  classes.images = std::move(images);
  classes.capacity = orbits.capacity;
  for (const std::int32_t link_class : orbits.link_class) classes.loads.push_back({{link_class, 1}});
  return classes;
}

LinkClasses link_classes(const Topology& topology, std::span<const Automorphism> translations) {
  std::vector<Automorphism> images(translations.begin(), translations.end());
  if (images.empty()) {
    Automorphism& identity = images.emplace_back(at(topology.node_count()));
    std::iota(identity.begin(), identity.end(), 0);
  }
  return link_classes(source_orbits(topology, translations), std::move(images));
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

}  // namespace libcoll::flow::problem

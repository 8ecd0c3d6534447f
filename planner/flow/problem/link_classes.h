// Symmetry of all-to-all flows: which sources must be solved for, and which links then share one capacity row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/rational.h"
#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// `times` units of load on the class for each unit of flow of a solved source.
struct ClassLoad {
  std::int32_t link_class = 0;
  std::int32_t times = 1;
};

/// The rows (7) of the master LP. Without symmetry every host is a source and every link its own class. With a group of
/// automorphisms, one source of every orbit of hosts is solved for, the flows of the others are its images, and the
/// links of one orbit, which then all carry the same, form one class.
struct LinkClasses {
  std::vector<topology::NodeId> sources;       ///< the sources solved for
  std::vector<topology::Automorphism> images;  ///< every solved path is used once through each of these
  std::vector<Rational> capacity;              ///< by class
  std::vector<std::vector<ClassLoad>> loads;   ///< by link: what a unit of flow on it does
};

/// The orbits of hosts and of links under a group of automorphisms: enough to find the optimum with one source per
/// orbit, since the average of an optimal flow over the group is optimal too.
struct SourceOrbits {
  std::vector<topology::NodeId> sources;  ///< the first host of every orbit
  std::vector<std::int64_t> sizes;        ///< hosts in its orbit
  std::vector<std::int32_t> link_class;   ///< by link: its orbit
  std::vector<std::int64_t> links;        ///< by class: how many links it has
  std::vector<Rational> capacity;         ///< by class: of each of its links
};

/// `generators` are automorphisms (is_automorphism); none: every host and every link for itself.
SourceOrbits source_orbits(const topology::Topology& topology, std::span<const topology::Automorphism> generators);

/// The rows for `images`, all elements of a group no element of which but the identity leaves a host in place (so that
/// every orbit of hosts and links has one member per element); one source per orbit. Just the identity: no symmetry.
LinkClasses link_classes(const SourceOrbits& orbits, std::vector<topology::Automorphism> images);

/// The same for `translations` as libcoll::translations makes them; empty for no symmetry.
LinkClasses link_classes(const topology::Topology& topology, std::span<const topology::Automorphism> translations);

/// Largest load of a class per unit capacity, when amounts[e] units of solved sources' flow cross link e in total.
double largest_load(const LinkClasses& classes, std::span<const double> amounts);

/// The links that `links` become under the automorphism.
std::vector<topology::LinkId> image_of(const topology::Topology& topology, const topology::Automorphism& image,
                                       std::span<const topology::LinkId> links);

}  // namespace libcoll::flow::problem

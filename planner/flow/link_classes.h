// Symmetry of all-to-all flows: which sources must be solved for, and which links then share one capacity row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/rational.h"
#include "planner/topology/facts.h"
#include "planner/topology/topology.h"

namespace libcoll {

/// `times` units of load on the class for each unit of flow of a solved source.
struct ClassLoad {
  std::int32_t link_class = 0;
  std::int32_t times = 1;
};

/// The rows (7) of the master LP. Without symmetry every host is a source and every link its own class. With
/// automorphisms g_s, g_s(0) = s, only source 0 is solved for, the flow of s is its image under g_s, and links e with
/// the same load Σ_s f_0(g_s⁻¹ e) and the same capacity form one class.
struct LinkClasses {
  std::vector<NodeId> sources;                ///< the sources solved for
  std::vector<Automorphism> images;           ///< every solved path is used once through each of these
  std::vector<Rational> capacity;             ///< by class
  std::vector<std::vector<ClassLoad>> loads;  ///< by link: what a unit of flow on it does
};

/// `translations` as libcoll::translations makes them; empty for no symmetry.
LinkClasses link_classes(const Topology& topology, std::span<const Automorphism> translations);

/// Largest load of a class per unit capacity, when amounts[e] units of solved sources' flow cross link e in total.
double largest_load(const LinkClasses& classes, std::span<const double> amounts);

/// The links that `links` become under the automorphism.
std::vector<LinkId> image_of(const Topology& topology, const Automorphism& image, std::span<const LinkId> links);

}  // namespace libcoll

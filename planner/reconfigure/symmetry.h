// Symmetries that a configuration and a step's demands have in common.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "planner/reconfigure/configuration.h"
#include "planner/reconfigure/staged_collective.h"

namespace libcoll::reconfigure {

/// Orbits under the group that the permutations below generate; each was checked on every wire and every demand.
struct StepSymmetry {
  std::vector<std::vector<topology::NodeId>> generators;
  std::vector<std::size_t> wire_orbit;    ///< by wire; numbered from 0
  std::vector<std::size_t> demand_orbit;  ///< by demand
  std::vector<std::size_t> wires_in;      ///< by orbit: how many
  std::vector<std::size_t> demands_in;
};

/// Tries what the patterns of collectives and the candidates are made of: rotations u + k, exclusive or with powers of
/// two, addition to a digit of u in mixed radix (grids), and −u + c. With `search` false the identity alone.
StepSymmetry step_symmetry(const Configuration& configuration, std::span<const Demand> demands, bool search = true);

}  // namespace libcoll::reconfigure

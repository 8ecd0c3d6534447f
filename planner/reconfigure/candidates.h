// The restricted set of topologies that appendix A of paper 002 searches, and what else suits a collective.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/base/result.h"
#include "planner/reconfigure/configuration.h"
#include "planner/reconfigure/staged_collective.h"

namespace libcoll::reconfigure {

/// The ring with all ports: half of them each way, the odd one forward.
Configuration ring_configuration(std::int32_t nodes, std::int32_t degree);

/// Tori of the given number of dimensions with `degree` ports, most nearly square first; empty when the ports do not
/// suffice for both directions of each dimension or N has no such factors.
std::vector<Configuration> torus_configurations(std::int32_t nodes, std::int32_t degree, std::int32_t dimensions);

/// Generalized Kautz: u → −d·u − a (mod N), a = 1..d (paper 000 §5.2); the paper's expander.
Configuration kautz_configuration(std::int32_t nodes, std::int32_t degree);

/// Direct wires for every demand of a step, each with as many ports as all of them can have. Precondition: the degree
/// suffices for the step (step_ports).
Configuration matching_configuration(std::string name, std::int32_t nodes, std::int32_t degree, const StagedStep& step);

/// The most partners that a node has in a step, out or in.
std::int32_t step_ports(std::int32_t nodes, const StagedStep& step);

/// Configurations to choose from, no two with the same wires, and which of them the baselines are.
struct Candidates {
  std::vector<Configuration> configurations;
  std::vector<std::size_t> fixed;    ///< ring (first), 2D and 3D tori, generalized Kautz: what static fabrics are
  std::vector<std::size_t> of_step;  ///< by step: its matching
};

/// (i) shifted rings, (ii) the expander, (iii) tori and shifted tori, (iv) the steps' matchings; and unions of the
/// matchings of successive steps as far as the ports go, alone and beside a ring. Error when a step needs more partners
/// than a node has ports, or degree < 1.
Result<Candidates> candidate_configurations(const StagedCollective& collective, std::int32_t degree);

}  // namespace libcoll::reconfigure

// What was measured about the ways of a job's calls, kept beside the plans for later jobs of the same shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/select/tuning_table.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::select {

/// Where choices are kept in the directory of plans: jobs of one shape share a file.
struct ChoicePlace {
  std::string directory;
  std::string topology;  ///< its topology_hash()
  std::int32_t ranks = 0;
  std::int32_t nodes = 0;
  std::string transport;
  std::string mpi;  ///< as mpi_name() has it
};

/// As the names of plan files have it: of the whole topology and the version.
std::string topology_hash(const topology::Topology& topology);

/// The table; nothing when there is none. The error is a sentence for a warning: the file cannot be read, or is not to
/// be trusted.
Result<std::optional<TuningTable>> load_choices(const ChoicePlace& place);
Status store_choices(const ChoicePlace& place, const TuningTable& table);

/// What is kept for a topology, job shape by job shape: by ranks, nodes, transport and MPI. Nothing where there is no
/// directory.
std::vector<ChoicePlace> kept_choices(const std::string& directory, const std::string& topology);

}  // namespace libcoll::select

// The reader of the plan cache: a file under the name of a wanted plan, whatever stands in it.
#include <fstream>

#include "libcoll/plan/plan_cache.h"
#include "planner/schedule/verify.h"
#include "planner/topology/generators.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using libcoll::fuzz::require;
  static const libcoll::topology::Topology topology = libcoll::topology::generate("ring:3").value();
  const std::string& directory = libcoll::fuzz::scratch_directory();
  const std::string name =
      libcoll::plan_file_name(topology, libcoll::schedule::Collective::allgather, libcoll::automatic_plan);
  std::ofstream(directory + "/" + name, std::ios::binary) << libcoll::fuzz::as_text(data, size);
  const auto plan =
      libcoll::plan::load_plan(directory, topology, libcoll::schedule::Collective::allgather, libcoll::automatic_plan);
  if (plan && plan->has_value()) require(libcoll::schedule::verify(**plan, 1).empty());
  return 0;
}

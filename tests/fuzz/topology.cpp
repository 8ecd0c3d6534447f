// The reader of topology files.
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using libcoll::fuzz::require;
  const libcoll::Result<libcoll::topology::Topology> topology =
      libcoll::topology::read_topology(libcoll::fuzz::as_text(data, size), "fuzz");
  if (!topology) {
    require(!topology.error().message.empty());
    return 0;
  }
  require(topology->host_count() >= 1 && topology->node_count() <= libcoll::topology::max_nodes);
  require(libcoll::topology::transpose(libcoll::topology::transpose(*topology)) == *topology);
  return 0;
}

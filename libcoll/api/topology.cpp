// The C API's topologies.
#include "libcoll/api/handles.h"
#include "planner/topology/reader.h"

using libcoll::api::guarded;
using libcoll::api::Outcome;

extern "C" {

libcoll_status libcoll_topology_open(const char* specification_or_path, libcoll_topology** topology) {
  return guarded([&]() -> Outcome {
    if (specification_or_path == nullptr || topology == nullptr) {
      return libcoll::api::refuse_argument("libcoll_topology_open: found NULL, expected a specification and a result");
    }
    libcoll::Result<libcoll::topology::Topology> read = libcoll::topology::load_topology(specification_or_path);
    if (!read) return libcoll::api::refuse(LIBCOLL_ERROR_INPUT, read.error().message);
    *topology = std::make_unique<libcoll_topology>(libcoll_topology{std::move(read).value()}).release();
    return {};
  });
}

void libcoll_topology_free(libcoll_topology* topology) { delete topology; }

int64_t libcoll_topology_hosts(const libcoll_topology* topology) {
  return topology == nullptr ? 0 : topology->topology.host_count();
}

int64_t libcoll_topology_links(const libcoll_topology* topology) {
  return topology == nullptr ? 0 : static_cast<int64_t>(topology->topology.links().size());
}

}  // extern "C"

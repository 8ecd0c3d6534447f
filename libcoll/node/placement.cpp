#include "libcoll/node/placement.h"

#include <hwloc.h>

#include <memory>
#include <type_traits>

namespace libcoll::node {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Structure = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

struct Free {
  void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using CpuSet = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, Free>;

/// An empty description: this machine.
Result<Structure> read_structure(const std::string& synthetic) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return Error{"hwloc cannot be set up"};
  Structure structure(topology);
  // Caches are of no interest here. The rest has to stay: memory is attached to it.
  hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(topology, synthetic.c_str()) != 0) {
    return Error{"hwloc does not understand \"" + synthetic + "\""};
  }
  if (hwloc_topology_load(topology) != 0) return Error{"hwloc cannot read the structure of this node"};
  return structure;
}

/// Memory without processors belongs to nobody; of several memories with the same processors the first counts.
std::int32_t domain_of(const Structure& structure, const CpuSet& cpus) {
  if (hwloc_bitmap_iszero(cpus.get()) != 0) return -1;
  hwloc_obj_t domain = nullptr;
  while ((domain = hwloc_get_next_obj_by_type(structure.get(), HWLOC_OBJ_NUMANODE, domain)) != nullptr) {
    if (hwloc_bitmap_isincluded(cpus.get(), domain->cpuset) != 0) {
      return static_cast<std::int32_t>(domain->logical_index);
    }
  }
  return -1;
}

}  // namespace

Result<std::int32_t> numa_domain() {
  const Result<Structure> structure = read_structure("");
  if (!structure) return structure.error();
  const CpuSet cpus(hwloc_bitmap_alloc());
  if (cpus == nullptr || hwloc_get_cpubind(structure->get(), cpus.get(), HWLOC_CPUBIND_THREAD) != 0) {
    return Error{"hwloc cannot read the processor binding"};
  }
  return domain_of(*structure, cpus);
}

Result<std::int32_t> numa_domain(const std::string& synthetic, const std::string& cpus) {
  const Result<Structure> structure = read_structure(synthetic);
  if (!structure) return structure.error();
  const CpuSet set(hwloc_bitmap_alloc());
  if (set == nullptr || hwloc_bitmap_list_sscanf(set.get(), cpus.c_str()) != 0) {
    return Error{"\"" + cpus + "\" is no list of processors"};
  }
  return domain_of(*structure, set);
}

}  // namespace libcoll::node

#include "libcoll/node/placement.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#include "planner/base/text_file.h"

namespace libcoll::node {
namespace {

constexpr std::size_t most_list_bytes = 65536;

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

Result<CpuSet> parse_list(const std::string& cpus) {
  CpuSet set(hwloc_bitmap_alloc());
  if (set == nullptr || hwloc_bitmap_list_sscanf(set.get(), cpus.c_str()) != 0) {
    return Error{"\"" + cpus + "\" is no list of processors"};
  }
  return set;
}

/// From a file of Linux, where it may be empty.
Result<CpuSet> read_list(const std::string& path) {
  Result<std::string> text = read_text_file(path, most_list_bytes);
  if (!text) return Error{path + ": " + text.error().message};
  text->erase(text->find_last_not_of('\n') + 1);
  return parse_list(*text);
}

bool is_told_of_another_structure() {
  return std::getenv("HWLOC_SYNTHETIC") != nullptr || std::getenv("HWLOC_XMLFILE") != nullptr ||
         std::getenv("HWLOC_FSROOT") != nullptr;
}

std::string list_of(hwloc_const_bitmap_t cpus) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, cpus) < 0) return {};
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return text;
}

/// Cores that have none of `used`, those of `domain` only where it is not negative.
/// Those that the calling thread is bound to; empty: Linux does not say.
std::string processors_of_thread() {
  constexpr int most_processors = 16384;
  const std::size_t bytes = CPU_ALLOC_SIZE(most_processors);
  std::vector<cpu_set_t> mask(bytes / sizeof(cpu_set_t));
  const CpuSet cpus(hwloc_bitmap_alloc());
  if (cpus == nullptr || sched_getaffinity(0, bytes, mask.data()) != 0) return {};
  for (int processor = 0; processor < most_processors; ++processor) {
    if (CPU_ISSET_S(processor, bytes, mask.data())) {
      hwloc_bitmap_set(cpus.get(), static_cast<unsigned>(processor));
    }
  }
  return list_of(cpus.get());
}

std::vector<hwloc_obj_t> cores_without(const Structure& structure, const CpuSet& used, std::int32_t domain) {
  std::vector<hwloc_obj_t> cores;
  const hwloc_obj_t node =
      domain < 0 ? hwloc_get_root_obj(structure.get())
                 : hwloc_get_obj_by_type(structure.get(), HWLOC_OBJ_NUMANODE, static_cast<unsigned>(domain));
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_inside_cpuset_by_type(structure.get(), node->cpuset, HWLOC_OBJ_CORE, core)) !=
         nullptr) {
    if (hwloc_bitmap_intersects(core->cpuset, used.get()) == 0) cores.push_back(core);
  }
  return cores;
}

Result<std::string> free_core(const Structure& structure, const std::vector<std::string>& bindings, std::size_t rank) {
  const CpuSet used(hwloc_bitmap_alloc());
  if (used == nullptr) return Error{"no memory for a set of processors"};
  std::vector<std::int32_t> domains;
  for (const std::string& binding : bindings) {
    if (binding.empty()) return std::string();
    const Result<CpuSet> cpus = parse_list(binding);
    if (!cpus) return cpus.error();
    hwloc_bitmap_or(used.get(), used.get(), cpus->get());
    domains.push_back(domain_of(structure, *cpus));
  }
  // Ranks whose domain has no free core take their turn among all.
  for (std::int32_t& domain : domains) {
    if (domain >= 0 && cores_without(structure, used, domain).empty()) domain = -1;
  }
  const std::vector<hwloc_obj_t> cores = cores_without(structure, used, domains[rank]);
  if (cores.empty()) return std::string();
  const auto mine = domains.begin() + static_cast<std::ptrdiff_t>(rank);
  const auto turn = static_cast<std::size_t>(std::count(domains.begin(), mine, *mine));
  return list_of(cores[turn % cores.size()]->cpuset);
}

}  // namespace

Result<std::int32_t> numa_domain_by_files(const std::string& directory, const std::string& cpus) {
  const Result<CpuSet> wanted = parse_list(cpus);
  if (!wanted) return wanted.error();
  const Result<CpuSet> online = read_list(directory + "/online");
  if (!online) return online.error();
  std::int32_t place = 0;
  for (int domain = hwloc_bitmap_first(online->get()); domain >= 0;
       domain = hwloc_bitmap_next(online->get(), domain), ++place) {
    const Result<CpuSet> processors = read_list(directory + "/node" + std::to_string(domain) + "/cpulist");
    if (!processors) return processors.error();
    const bool is_empty = hwloc_bitmap_iszero(wanted->get()) != 0;
    if (!is_empty && hwloc_bitmap_isincluded(wanted->get(), processors->get()) != 0) return place;
  }
  return -1;
}

Result<std::int32_t> numa_domain() {
  if (!is_told_of_another_structure()) {
    const std::string cpus = processors_of_thread();
    Result<std::int32_t> domain = numa_domain_by_files("/sys/devices/system/node", cpus);
    if (domain.ok() && !cpus.empty()) return domain;
  }
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
  const Result<CpuSet> set = parse_list(cpus);
  if (!set) return set.error();
  return domain_of(*structure, *set);
}

Result<std::string> bound_processors() {
  const Result<Structure> structure = read_structure("");
  if (!structure) return structure.error();
  const CpuSet cpus(hwloc_bitmap_alloc());
  // Of all its threads: one of them may be bound to less than the others.
  if (cpus == nullptr || hwloc_get_cpubind(structure->get(), cpus.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    return Error{"hwloc cannot read the processor binding"};
  }
  if (hwloc_bitmap_isincluded(hwloc_topology_get_topology_cpuset(structure->get()), cpus.get()) != 0) {
    return std::string();
  }
  return list_of(cpus.get());
}

Result<std::string> free_core(const std::vector<std::string>& bindings, std::size_t rank) {
  const Result<Structure> structure = read_structure("");
  if (!structure) return structure.error();
  return free_core(*structure, bindings, rank);
}

Result<std::string> free_core(const std::string& synthetic, const std::vector<std::string>& bindings,
                              std::size_t rank) {
  const Result<Structure> structure = read_structure(synthetic);
  if (!structure) return structure.error();
  return free_core(*structure, bindings, rank);
}

Status bind_thread(pthread_t thread, const std::string& processors) {
  const Result<CpuSet> set = parse_list(processors);
  if (!set) return set.error();
  const int last = hwloc_bitmap_last(set->get());
  if (last < 0) return Error{"no processors to bind a thread to"};
  const std::size_t bytes = CPU_ALLOC_SIZE(last + 1);
  std::vector<cpu_set_t> mask((bytes + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t));
  for (int processor = hwloc_bitmap_first(set->get()); processor >= 0;
       processor = hwloc_bitmap_next(set->get(), processor)) {
    CPU_SET_S(static_cast<std::size_t>(processor), bytes, mask.data());
  }
  const int error = pthread_setaffinity_np(thread, bytes, mask.data());
  if (error != 0) {
    return Error{"a thread cannot be bound to processors " + processors + ": " + std::strerror(error)};
  }
  return {};
}

}  // namespace libcoll::node

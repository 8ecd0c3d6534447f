// How much memory libcoll takes in a process of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcoll/base/config.h"
#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::command {

/// Resident memory of a process by what is behind it, in bytes.
struct ResidentMemory {
  std::int64_t anonymous = 0;  ///< the process's own
  std::int64_t shared = 0;     ///< shared memory of transports
  std::int64_t files = 0;      ///< code and constants, once per node for all its processes

  [[nodiscard]] std::int64_t total() const { return anonymous + shared + files; }
};

/// What one part of libcoll added.
struct MemoryPart {
  std::string name;
  ResidentMemory added;
};

struct MemoryReport {
  std::string transport;
  std::int32_t nodes = 0;
  std::int32_t route_classes = 0;
  std::int32_t connections = 0;
  std::vector<MemoryPart> parts;

  [[nodiscard]] std::int64_t total() const;
};

/// What a process may take at 64 nodes with 4 route classes before there are user data.
inline constexpr std::int64_t memory_limit_bytes = std::int64_t{32} << 20;

/// Does in this process what a rank of a job with one rank per node does before its first call, and looks at its
/// resident memory after each part: opens the transport with its route classes, connects to every other node by every
/// class and exchanges a message, reads and lowers the plans of all collectives, makes the task graphs of a call of
/// `call_bytes` for each. The other nodes are transports of child processes on this host. Where the configuration names
/// a route binding, its classes are taken, otherwise `route_classes` unsteered ones.
Result<MemoryReport> measure_memory(const topology::Topology& topology, const Config& config,
                                    std::int32_t route_classes, std::int64_t call_bytes);

}  // namespace libcoll::command

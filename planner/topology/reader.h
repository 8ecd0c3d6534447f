// The topology file (TOML): generator or explicit nodes and links, hosts, bandwidths, removals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"
#include "planner/topology/topology.h"

namespace libcoll::topology {

/// Reads the text of a topology file; `file` only names it in messages, and the topology where neither `name`
/// nor `generator` does. The format is described in config/topologies. Errors start with "FILE:LINE: ". Every
/// host of the result reaches every other.
Result<Topology> read_topology(std::string_view text, const std::string& file);

/// A specification ("torus:3x3x3") or the path of a topology file: what every command line accepts.
Result<Topology> load_topology(const std::string& specification_or_path);

/// "25Gbps", "3GB/s", "100mbit", "3GiB/s", a plain number of bytes per second → bytes per second, rounded to
/// whole ones, from 1 to max_bandwidth_bytes_per_second. b is bits and B is bytes; prefixes are case-insensitive.
Result<std::int64_t> parse_bandwidth(std::string_view text);

/// "1us", "500ns", "2ms", "0.5s", a plain number of seconds → seconds (>= 0).
Result<double> parse_latency(std::string_view text);

/// Slurm-style host list "c[101-103]-[001-009],login" → every host name, in order; with several
/// brackets the last runs fastest. At most max_nodes names.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

}  // namespace libcoll::topology

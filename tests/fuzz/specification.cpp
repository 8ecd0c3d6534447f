// The small grammars of command lines and files: specifications, host lists, bandwidths, latencies, sizes.
#include "libcoll/base/config.h"
#include "planner/topology/generators.h"
#include "planner/topology/reader.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using libcoll::fuzz::require;
  const std::string_view text = libcoll::fuzz::as_text(data, size);
  const auto hosts = libcoll::topology::expand_hostlist(text);
  if (hosts) require(hosts->size() <= static_cast<std::size_t>(libcoll::topology::max_nodes));
  const auto bandwidth = libcoll::topology::parse_bandwidth(text);
  if (bandwidth) require(*bandwidth > 0 && *bandwidth <= libcoll::topology::max_bandwidth_bytes_per_second);
  const auto latency = libcoll::topology::parse_latency(text);
  if (latency) require(*latency >= 0);
  const auto bytes = libcoll::parse_bytes(text);
  if (bytes) require(*bytes >= 0);
  const auto topology = libcoll::topology::generate(text);
  if (topology) require(topology->host_count() >= 2 && topology->link_count() <= libcoll::topology::max_links);
  return 0;
}

#include "libcoll/base/plan_name.h"

#include "libcoll/base/fingerprint.h"

namespace libcoll {

using namespace schedule;
using namespace topology;

namespace {

/// Fit for a file name whatever a caller passes.
std::string plain(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    const bool good = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
    if (!good) letter = '_';
  }
  return result;
}

}  // namespace

std::string canonical_text(const Topology& topology) {
  std::string text = "hosts " + std::to_string(topology.host_count()) + " nodes " +
                     std::to_string(topology.node_count()) + " forward " + (topology.nics_forward() ? "1" : "0") +
                     " injection " + std::to_string(topology.injection_bytes_per_second()) + "\n";
  for (const Link& link : topology.links()) {
    text += std::to_string(link.from) + ">" + std::to_string(link.to) + " " +
            std::to_string(link.bandwidth_bytes_per_second) + "\n";
  }
  return text;
}

std::string plan_file_name(const Topology& topology, Collective collective, std::string_view algorithm,
                           std::string_view version) {
  const std::string wanted = std::string(to_string(collective)) + " " + std::string(algorithm);
  const std::string hash =
      fingerprint("libcoll " + std::string(version) + "\n" + wanted + "\n" + canonical_text(topology));
  return plain(to_string(collective)) + "-" + plain(algorithm) + "-" + hash + ".xml";
}

}  // namespace libcoll

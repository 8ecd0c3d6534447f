// Where ranks are: the reader of placement files, and the names that schedulers have for a host.
#include <array>
#include <string>

#include "libcoll/comm/placement_file.h"
#include "libcoll/comm/rank_nodes.h"
#include "planner/topology/reader.h"
#include "tests/fuzz/fuzz.h"

namespace {

using libcoll::fuzz::require;

const libcoll::topology::Topology& fabric() {
  static const libcoll::topology::Topology topology =
      libcoll::topology::read_topology("generator = \"ring:8\"\nhosts = \"n[0-6],n7.example.org\"\n", "fabric").value();
  return topology;
}

void read_file(std::string_view text) {
  for (const std::int32_t rank : {0, 3, 7}) {
    const libcoll::Result<libcoll::topology::NodeId> place =
        libcoll::comm::read_placement(text, "fuzz", fabric(), rank);
    require(place.ok() ? *place >= 0 && *place < fabric().host_count() : !place.error().message.empty());
  }
}

/// A line each; the first is the host's own name.
void look_up_names(std::string text) {
  for (char& each : text) each = each == '\0' ? '_' : each;
  const std::size_t end = text.find('\n');
  const std::string host = text.substr(0, end);
  std::string aliases = "PMIX_HOSTNAME=" + (end == std::string::npos ? "" : text.substr(end + 1));
  std::array<char*, 2> environment{aliases.data(), nullptr};
  const std::vector<std::string> names = libcoll::comm::names_of_host(host, environment.data());
  libcoll::comm::RankIdentity identity;
  identity.world_size = 1;
  libcoll::comm::set_names(identity, host, names);
  require(identity.host.back() == '\0' && identity.aliases.back() == '\0');
  const libcoll::comm::RankNodes found = libcoll::comm::nodes_of_ranks(fabric(), std::span(&identity, 1), false);
  for (const libcoll::topology::NodeId node : found.nodes) require(node >= 0 && node < fabric().host_count());
  require(!found.nodes.empty() || found.unknown.has_value());
  require(!libcoll::comm::unknown_host_sentence(fabric(), identity).empty());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_file(libcoll::fuzz::as_text(data, size));
  look_up_names(std::string(libcoll::fuzz::as_text(data, size)));
  return 0;
}

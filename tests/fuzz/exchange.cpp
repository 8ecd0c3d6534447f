// The importers of other people's formats, and what the diagnostics of a subnet print.
#include "planner/exchange/formats.h"
#include "planner/exchange/graphml.h"
#include "planner/exchange/ibnetdiscover.h"
#include "planner/exchange/opensm.h"
#include "planner/exchange/port_fabric.h"
#include "planner/exchange/subnet_tables.h"
#include "planner/exchange/subnet_topology.h"
#include "tests/fuzz/fuzz.h"

namespace {

using libcoll::fuzz::require;

/// Two switches with a host each, for readers that need a subnet.
libcoll::exchange::Subnet small_subnet() {
  libcoll::exchange::Subnet subnet;
  subnet.devices.resize(4);
  for (libcoll::exchange::DeviceId id = 0; id < 2; ++id) {
    subnet.devices[static_cast<std::size_t>(id)] = {true,   0x200U + static_cast<unsigned>(id),     "s",
                                                    1 + id, {{1, 2 + id, 1, 1}, {2, 1 - id, 2, 1}}, 0};
    subnet.devices[static_cast<std::size_t>(id) + 2] = {false, 0x100U + static_cast<unsigned>(id), "h",
                                                        0,     {{1, id, 1, 1, 0x101, 4 + id, 0}},  0};
  }
  return subnet;
}

template <class Value>
void require_message(const libcoll::Result<Value>& result) {
  if (!result) require(!result.error().message.empty());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = libcoll::fuzz::as_text(data, size);
  for (const libcoll::exchange::ImportFormat& format : libcoll::exchange::import_formats()) {
    for (const auto host_switches :
         {libcoll::exchange::HostSwitches::automatic, libcoll::exchange::HostSwitches::collapse,
          libcoll::exchange::HostSwitches::keep}) {
      const libcoll::Result<libcoll::topology::Topology> topology = format.read(text, "fuzz", {{}, host_switches});
      require_message(topology);
      if (!topology) continue;
      for (const libcoll::exchange::ExportFormat& other : libcoll::exchange::export_formats())
        require_message(other.write(*topology));
    }
  }
  require_message(libcoll::exchange::read_node_name_map(text, "fuzz"));
  const libcoll::Result<libcoll::exchange::Subnet> read = libcoll::exchange::read_ibnetdiscover(text, "fuzz");
  if (read) {
    require_message(libcoll::exchange::assign_lids(*read, 2));
    const libcoll::Result<libcoll::exchange::SubnetTopology> fabric =
        libcoll::exchange::topology_of(*read, "fuzz", libcoll::exchange::HostSwitches::automatic);
    require_message(fabric);
    if (fabric && libcoll::exchange::has_port_fabric(*read, *fabric))
      require_message(libcoll::exchange::port_fabric(*read, *fabric));
  }
  static const libcoll::exchange::Subnet subnet = small_subnet();
  const libcoll::Result<libcoll::exchange::SubnetTables> tables = libcoll::exchange::read_lfts(text, "fuzz", subnet);
  require_message(tables);
  if (tables) {
    for (std::int32_t lid = 1; lid < 8; ++lid) {
      require_message(libcoll::exchange::trace(subnet, *tables, libcoll::exchange::present_lids(subnet), {2, 1}, lid));
    }
  }
  require_message(libcoll::exchange::read_ibtracert(text, "fuzz", subnet));
  return 0;
}

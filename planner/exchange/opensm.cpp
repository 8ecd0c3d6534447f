#include "planner/exchange/opensm.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>

#include "planner/base/index.h"
#include "planner/exchange/line_scanner.h"

namespace libcoll::exchange {
namespace {

constexpr std::int32_t lanes_at_most = 15;  // lane 15 is for management
constexpr std::int32_t all_service_levels = 16;

std::string hex(std::uint64_t number, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%0*llx", digits, static_cast<unsigned long long>(number));
  return text.data();
}

std::string guid_text(std::uint64_t guid) { return hex(guid, 16); }

/// What stands behind a LID: OpenSM checks LIDs by the GUID.
struct Owner {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::uint64_t guid = 0;
  const SubnetDevice* device = nullptr;
};

std::vector<Owner> owners(const Subnet& subnet, const SubnetLids& lids) {
  std::vector<Owner> all;
  for (std::size_t id = 0; id < subnet.devices.size(); ++id) {
    const SubnetDevice& device = subnet.devices[id];
    const std::int32_t count = device.is_switch ? 1 : std::int32_t{1} << static_cast<unsigned>(lids.lmc);
    for (std::size_t port = 0; port < lids.base[id].size(); ++port) {
      const std::int32_t base = lids.base[id][port];
      all.push_back({base, base + count - 1, device.is_switch ? device.guid : device.ports[port].guid, &device});
    }
  }
  std::sort(all.begin(), all.end(), [](const Owner& a, const Owner& b) { return a.first < b.first; });
  return all;
}

std::map<std::uint64_t, DeviceId> switches_by_guid(const Subnet& subnet) {
  std::map<std::uint64_t, DeviceId> found;
  for (DeviceId id = 0; at(id) < subnet.devices.size(); ++id) {
    if (subnet.devices[at(id)].is_switch) found.emplace(subnet.devices[at(id)].guid, id);
  }
  return found;
}

/// What stands between "{0x" and "}", behind `mark`.
std::optional<std::uint64_t> guid_behind(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  LineScanner scanner(line.substr(found + mark.size()));
  return scanner.take("0x") ? scanner.take_number(16) : std::nullopt;
}

class LftReader {
 public:
  LftReader(std::string_view text, const std::string& file, const Subnet& subnet)
      : lines_(text, file), switches_(switches_by_guid(subnet)) {
    tables_.port.resize(subnet.devices.size());
  }

  Result<SubnetTables> read() {
    while (const std::optional<std::string_view> line = lines_.next()) {
      LineScanner scanner(*line);
      Status status;
      if (scanner.take("Unicast lids")) {
        status = read_switch(scanner.rest());
      } else if (scanner.take("0x")) {
        status = read_entry(scanner);
      }
      if (!status) return status.error();
    }
    if (tables_read_ == 0) return lines_.error_in(1, "found no 'Unicast lids', expected forwarding tables");
    return std::move(tables_);
  }

 private:
  /// Unicast lids [0x4-0x9] of switch Lid 8 guid 0x0000000000200000 (S0):
  Status read_switch(std::string_view line) {
    const std::optional<std::uint64_t> guid = guid_behind(line, " guid ");
    const auto found = guid ? switches_.find(*guid) : switches_.end();
    if (found == switches_.end()) {
      return lines_.error("found forwarding tables of " +
                          (guid ? "switch " + guid_text(*guid) : std::string("no GUID")) +
                          ", expected a switch of the fabric");
    }
    table_ = &tables_.port[at(found->second)];
    table_->assign(at(largest_unicast_lid) + 1, no_port);
    ++tables_read_;
    return {};
  }

  /// 0x0024 005 : (Channel Adapter portguid 0x…: 'H4')
  Status read_entry(LineScanner& scanner) {
    if (table_ == nullptr) return lines_.error("found an entry of no switch, expected 'Unicast lids' before it");
    const std::optional<std::uint64_t> lid = scanner.take_number(16);
    if (!lid || *lid > static_cast<std::uint64_t>(largest_unicast_lid)) {
      return lines_.error("found no unicast LID, expected 0x0001 to 0xbfff");
    }
    if (scanner.rest().starts_with("UNREACHABLE")) return {};
    const std::optional<std::uint64_t> port = scanner.take_number();
    if (!port || *port > no_port) return lines_.error("found no port behind the LID, expected 0 to 255");
    (*table_)[*lid] = static_cast<std::uint8_t>(*port);
    return {};
  }

  Lines lines_;
  std::map<std::uint64_t, DeviceId> switches_;
  SubnetTables tables_;
  std::vector<std::uint8_t>* table_ = nullptr;
  int tables_read_ = 0;
};

class TraceReader {
 public:
  TraceReader(std::string_view text, const std::string& file, const Subnet& subnet)
      : lines_(text, file), subnet_(subnet) {}

  Result<std::vector<TracedPath>> read() {
    while (const std::optional<std::string_view> line = lines_.next()) {
      if (const Status status = read_line(*line); !status) return status.error();
    }
    if (paths_.empty()) return lines_.error_in(1, "found no line 'ibtracert FROM TO', expected one before every path");
    return std::move(paths_);
  }

 private:
  Status read_line(std::string_view line) {
    constexpr std::string_view command = "ibtracert ";
    if (const std::size_t found = line.find(command); found != std::string_view::npos) {
      // Complaints of ibtracert name it, too.
      LineScanner scanner(line.substr(found + command.size()));
      const std::optional<std::uint64_t> from = scanner.take_number();
      const std::optional<std::uint64_t> to = from ? scanner.take_number() : std::nullopt;
      if (!to || *from > at(largest_unicast_lid) || *to > at(largest_unicast_lid)) return {};
      device_ = -1;
      paths_.push_back({static_cast<std::int32_t>(*from), static_cast<std::int32_t>(*to), {}, lines_.number()});
      return {};
    }
    LineScanner scanner(line);
    if (scanner.rest().starts_with("From ")) return start(scanner.rest());
    if (scanner.rest().starts_with("[")) return hop(scanner);
    return {};
  }

  /// From ca {0x0000000000100000} portnum 1 lid 4-7 "H0"
  Status start(std::string_view line) {
    if (paths_.empty()) return lines_.error("found a path, expected a line 'ibtracert FROM TO' before it");
    const std::optional<std::uint64_t> guid = guid_behind(line, "{");
    const auto found = std::find_if(subnet_.devices.begin(), subnet_.devices.end(),
                                    [&](const SubnetDevice& device) { return guid && device.guid == *guid; });
    if (found == subnet_.devices.end()) return lines_.error("found no known device, expected one of the fabric");
    device_ = static_cast<DeviceId>(found - subnet_.devices.begin());
    return {};
  }

  /// [4] -> switch port {0x0000000000200001}[5] lid 9-9 "S1": the egress port of the device before.
  Status hop(LineScanner& scanner) {
    if (paths_.empty() || device_ < 0) return lines_.error("found a hop, expected a line 'From' before it");
    const std::optional<std::uint64_t> port = scanner.take_bracketed();
    const SubnetPort* cable =
        port && *port <= no_port ? find_port(subnet_.devices[at(device_)], static_cast<std::int32_t>(*port)) : nullptr;
    if (cable == nullptr) {
      return lines_.error("found a hop by a port that is not cabled, expected one of '" +
                          subnet_.devices[at(device_)].description + "'");
    }
    paths_.back().hops.push_back({device_, cable->number});
    device_ = cable->peer;
    return {};
  }

  Lines lines_;
  const Subnet& subnet_;
  std::vector<TracedPath> paths_;
  DeviceId device_ = -1;
};

/// "0:64,1:64": lanes with equal weights; those beyond have none.
std::string equal_weights(std::int32_t lanes, int weight) {
  std::string text;
  for (std::int32_t lane = 0; lane < lanes_at_most; ++lane) {
    text += (lane == 0 ? "" : ",") + std::to_string(lane) + ":" + std::to_string(lane < lanes ? weight : 0);
  }
  return text;
}

/// OpenSM's name for the least power of two of lanes: 1, 2, 4, 8 or 15.
std::int32_t lanes_to_enable(std::int32_t service_levels) {
  std::int32_t lanes = 1;
  while (lanes < service_levels) lanes *= 2;
  return std::min(lanes, lanes_at_most);
}

}  // namespace

std::string write_lfts(const Subnet& subnet, const SubnetTables& tables, const SubnetLids& lids,
                       const std::string& title) {
  const std::vector<Owner> all = owners(subnet, lids);
  const std::int32_t last = all.empty() ? 0 : all.back().last;
  std::string text = "# " + title + "\n";
  for (std::size_t id = 0; id < subnet.devices.size(); ++id) {
    const SubnetDevice& device = subnet.devices[id];
    if (!device.is_switch || tables.port[id].empty()) continue;
    text += "Unicast lids [0-" + std::to_string(last) + "] of switch Lid " + std::to_string(lids.base[id].front()) +
            " guid " + guid_text(device.guid) + " ('" + device.description + "'):\n";
    std::int64_t valid = 0;
    for (const Owner& owner : all) {
      for (std::int32_t lid = owner.first; lid <= owner.last; ++lid) {
        const std::uint8_t port = tables.port[id][at(lid)];
        if (port == no_port) continue;
        std::array<char, 16> number{};
        std::snprintf(number.data(), number.size(), " %03u : (", static_cast<unsigned>(port));
        text += hex(static_cast<std::uint64_t>(lid), 4) + number.data() +
                (owner.device->is_switch ? "Switch" : "Channel Adapter") + " portguid " + guid_text(owner.guid) +
                ": '" + owner.device->description + "')\n";
        ++valid;
      }
    }
    text += std::to_string(valid) + " lids dumped\n\n";
  }
  return text;
}

std::string write_guid2lid(const Subnet& subnet, const SubnetLids& lids) {
  std::string text;
  for (const Owner& owner : owners(subnet, lids)) {
    text += guid_text(owner.guid) + " " + hex(static_cast<std::uint64_t>(owner.first), 4) + " " +
            hex(static_cast<std::uint64_t>(owner.last), 4) + "\n\n";
  }
  return text;
}

std::string write_opensm_options(std::int32_t lmc, std::int32_t service_levels, const std::string& lfts_path,
                                 const std::string& title) {
  std::string text = "# " + title + "\nlmc " + std::to_string(lmc) + "\nrouting_engine file,no_fallback\nlfts_file " +
                     lfts_path + "\n";
  if (service_levels == 1) return text;
  constexpr int weight = 64;
  std::string lanes;
  for (std::int32_t level = 0; level < all_service_levels; ++level) {
    lanes += (level == 0 ? "" : ",") + std::to_string(level < service_levels ? level : 0);
  }
  return text + "qos TRUE\nqos_max_vls " + std::to_string(lanes_to_enable(service_levels)) +
         "\nqos_high_limit 0\nqos_vlarb_high " + equal_weights(service_levels, 0) + "\nqos_vlarb_low " +
         equal_weights(service_levels, weight) + "\nqos_sl2vl " + lanes + "\n";
}

Result<SubnetTables> read_lfts(std::string_view text, const std::string& file, const Subnet& subnet) {
  return LftReader(text, file, subnet).read();
}

Result<std::vector<TracedPath>> read_ibtracert(std::string_view text, const std::string& file, const Subnet& subnet) {
  return TraceReader(text, file, subnet).read();
}

}  // namespace libcoll::exchange

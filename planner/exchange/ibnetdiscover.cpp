#include "planner/exchange/ibnetdiscover.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/exchange/line_scanner.h"

namespace libcoll::exchange {
namespace {

constexpr std::uint64_t most_ports = 254;  // InfiniBand: port 255 stands for all

/// Data rate of one lane.
struct LaneSpeed {
  std::string_view name;
  std::int64_t bytes_per_second;
};
constexpr std::array<LaneSpeed, 9> lane_speeds = {{{"SDR", 250'000'000},
                                                   {"DDR", 500'000'000},
                                                   {"QDR", 1'000'000'000},
                                                   {"FDR10", 1'250'000'000},
                                                   {"FDR", 1'704'545'454},  // 14.0625 Gbps · 64/66 / 8
                                                   {"EDR", 3'125'000'000},
                                                   {"HDR", 6'250'000'000},
                                                   {"NDR", 12'500'000'000},
                                                   {"XDR", 25'000'000'000}}};

/// "4xEDR" → bytes per second.
std::optional<std::int64_t> bandwidth_of(std::string_view text) {
  LineScanner scanner(text);
  constexpr std::uint64_t most_lanes = 12;
  const std::optional<std::uint64_t> lanes = scanner.take_number();
  if (!lanes || *lanes == 0 || *lanes > most_lanes || !scanner.take("x")) return std::nullopt;
  const auto* const speed = std::find_if(lane_speeds.begin(), lane_speeds.end(),
                                         [&](const LaneSpeed& each) { return each.name == scanner.rest(); });
  if (speed == lane_speeds.end()) return std::nullopt;
  return static_cast<std::int64_t>(*lanes) * speed->bytes_per_second;
}

/// A cable's end as a line names it: the peer is known once all devices are.
struct End {
  DeviceId device = 0;
  std::size_t port = 0;  ///< index into its ports
  std::string peer;
  std::int32_t line = 0;
};

class DiscoveryReader {
 public:
  DiscoveryReader(std::string_view text, const std::string& file, const NodeNameMap& names)
      : lines_(text, file), names_(names) {}

  Result<Subnet> read() {
    while (const std::optional<std::string_view> line = lines_.next()) {
      if (const Status status = read_line(*line); !status) return status.error();
    }
    if (subnet_.devices.empty()) return lines_.error_in(1, "found no device, expected what ibnetdiscover prints");
    if (const Status status = join_ends(); !status) return status.error();
    return std::move(subnet_);
  }

 private:
  Status read_line(std::string_view line) {
    LineScanner scanner(line);
    if (scanner.at_end()) {
      open_ = false;
      return {};
    }
    // With --grouping, headings of chassis stand between the devices.
    if (scanner.rest().front() == '#' || scanner.take("Chassis") || scanner.take("Non-Chassis")) return {};
    if (scanner.rest().front() == '[') return read_port(scanner);
    if (scanner.take("Switch")) return read_device(scanner, true);
    if (scanner.take("Ca") || scanner.take("Rt")) return read_device(scanner, false);
    if (scanner.rest().find('=') != std::string_view::npos) return read_identity(scanner);
    return lines_.error("found '" + std::string(line) +
                        "', expected a line of ibnetdiscover: key=value, Switch, Ca or a port such as [1]");
  }

  /// "switchguid=0x2c90(2c90)": the GUID of the device to come.
  Status read_identity(LineScanner& scanner) {
    if (!scanner.take("switchguid=") && !scanner.take("caguid=") && !scanner.take("rtguid=")) return {};
    const std::optional<std::uint64_t> guid = scanner.take("0x") ? scanner.take_number(16) : std::nullopt;
    if (!guid) return lines_.error("found '" + std::string(scanner.rest()) + "' as a GUID, expected 0x and hex digits");
    guid_ = *guid;
    return {};
  }

  /// Switch	5 "S-0000000000200008"		# "leaf 8" base port 0 lid 25 lmc 0
  Status read_device(LineScanner& scanner, bool is_switch) {
    SubnetDevice device;
    device.is_switch = is_switch;
    device.line = lines_.number();
    const std::optional<std::uint64_t> ports = scanner.take_number();
    const std::optional<std::string_view> id = ports ? scanner.take_quoted() : std::nullopt;
    if (!id || id->empty()) {
      return lines_.error("found '" + std::string(scanner.rest()) +
                          "', expected a number of ports and the device's name in quotes");
    }
    const std::optional<std::string_view> description = scanner.take("#") ? scanner.take_quoted() : std::nullopt;
    device.description = std::string(description.value_or(*id));
    device.guid = guid_ ? *guid_ : guid_in(*id).value_or(0);
    if (device.guid == 0) return lines_.error("found no GUID of " + std::string(*id) + ", expected one in front of it");
    guid_.reset();
    if (const auto name = names_.find(device.guid); name != names_.end()) device.description = name->second;
    if (is_switch) device.lid = take_lid(scanner);
    const auto place = static_cast<DeviceId>(subnet_.devices.size());
    const auto [known, is_new] = ids_.emplace(std::string(*id), place);
    if (!is_new) {
      return lines_.error("found '" + std::string(*id) + "' a second time, expected it once (the first is in line " +
                          std::to_string(subnet_.devices[at(known->second)].line) + ")");
    }
    subnet_.devices.push_back(std::move(device));
    open_ = true;
    return {};
  }

  /// "S-0000000000200008" names its GUID.
  static std::optional<std::uint64_t> guid_in(std::string_view id) {
    LineScanner scanner(id);
    const bool named = scanner.take("S-") || scanner.take("H-") || scanner.take("R-");
    return named ? scanner.take_number(16) : std::nullopt;
  }

  /// The number behind the next "lid"; 0 where there is none.
  static std::int32_t take_lid(LineScanner& scanner) { return take_named(scanner, "lid", largest_unicast_lid); }

  static std::int32_t take_named(LineScanner& scanner, std::string_view name, std::int32_t most) {
    while (!scanner.at_end()) {
      if (scanner.take_word() != name) continue;
      const std::optional<std::uint64_t> number = scanner.take_number();
      return number && *number <= static_cast<std::uint64_t>(most) ? static_cast<std::int32_t>(*number) : 0;
    }
    return 0;
  }

  /// Switch: [1]	"H-0000000000100018"[1](100019) 		# "H8" lid 48 4xSDR
  /// Ca:     [1](100001) 	"S-0000000000200000"[1]		# lid 4 lmc 2 "S0" lid 8 4xSDR
  Status read_port(LineScanner& scanner) {
    if (!open_) return lines_.error("found a port outside a device, expected a line Switch or Ca before it");
    SubnetDevice& device = subnet_.devices.back();
    SubnetPort port;
    const std::optional<std::uint64_t> number = scanner.take_bracketed();
    if (!number || *number == 0 || *number > most_ports) {
      return lines_.error("found a port line that does not begin with [PORT], expected a port from 1 to 254");
    }
    port.number = static_cast<std::int32_t>(*number);
    if (find_port(device, port.number) != nullptr) {
      return lines_.error("found port " + std::to_string(port.number) + " of '" + device.description +
                          "' a second time, expected it once");
    }
    if (Status status = read_port_guid(scanner, port); !status) return status;
    const std::optional<std::string_view> peer = scanner.take_quoted();
    const std::optional<std::uint64_t> peer_port = peer ? scanner.take_bracketed() : std::nullopt;
    if (!peer_port || *peer_port == 0 || *peer_port > most_ports) {
      return lines_.error("found '" + std::string(scanner.rest()) + "', expected the other end as \"NAME\"[PORT]");
    }
    port.peer_port = static_cast<std::int32_t>(*peer_port);
    if (Status status = read_remark(scanner, device.is_switch, port); !status) return status;
    ends_.push_back(
        {static_cast<DeviceId>(subnet_.devices.size() - 1), device.ports.size(), std::string(*peer), lines_.number()});
    device.ports.push_back(port);
    return {};
  }

  Status read_port_guid(LineScanner& scanner, SubnetPort& port) const {
    if (!scanner.take("(")) return {};
    const std::optional<std::uint64_t> guid = scanner.take_number(16);
    if (!guid || !scanner.take(")")) return lines_.error("found no port GUID in parentheses, expected hex digits");
    port.guid = *guid;
    return {};
  }

  /// What follows the '#': LIDs, and width and speed as the last word.
  Status read_remark(LineScanner& scanner, bool is_switch, SubnetPort& port) const {
    const std::size_t mark = scanner.rest().find('#');
    const std::string_view remark = mark == std::string_view::npos ? "" : scanner.rest().substr(mark + 1);
    if (!is_switch) {
      // The peer's LID follows its description.
      LineScanner own(remark.substr(0, remark.find('"')));
      port.lid = take_lid(own);
      port.lmc = take_named(own, "lmc", largest_lmc);
    }
    const std::size_t last = remark.find_last_not_of(" \t");
    const std::string_view trimmed = last == std::string_view::npos ? "" : remark.substr(0, last + 1);
    const std::string_view rate = trimmed.substr(trimmed.find_last_of(" \t") + 1);
    const std::optional<std::int64_t> bandwidth = bandwidth_of(rate);
    if (!bandwidth) {
      return lines_.error("found '" + std::string(rate) + "' at the end of a port, expected width and speed: 4xEDR");
    }
    port.bandwidth_bytes_per_second = *bandwidth;
    return {};
  }

  /// Peers by number, once all are known; both ends of a cable have to agree.
  Status join_ends() {
    for (const End& end : ends_) {
      const auto peer = ids_.find(end.peer);
      if (peer == ids_.end()) {
        return lines_.error_in(end.line, "found a cable to '" + end.peer + "', expected a device of this file");
      }
      subnet_.devices[at(end.device)].ports[end.port].peer = peer->second;
    }
    for (const End& end : ends_) {
      const SubnetPort& port = subnet_.devices[at(end.device)].ports[end.port];
      const SubnetPort* back = find_port(subnet_.devices[at(port.peer)], port.peer_port);
      if (back == nullptr || back->peer != end.device || back->peer_port != port.number) {
        return lines_.error_in(end.line, "found a cable to port " + std::to_string(port.peer_port) + " of '" +
                                             end.peer + "', which does not lead back, expected it at both ends");
      }
    }
    return {};
  }

  Lines lines_;
  const NodeNameMap& names_;
  Subnet subnet_;
  std::map<std::string, DeviceId, std::less<>> ids_;
  std::vector<End> ends_;
  std::optional<std::uint64_t> guid_;
  bool open_ = false;  ///< whether ports may follow
};

}  // namespace

Result<NodeNameMap> read_node_name_map(std::string_view text, const std::string& file) {
  NodeNameMap names;
  Lines lines(text, file);
  while (const std::optional<std::string_view> line = lines.next()) {
    LineScanner scanner(*line);
    if (scanner.at_end() || scanner.rest().front() == '#') continue;
    const std::optional<std::uint64_t> guid = scanner.take("0x") ? scanner.take_number(16) : std::nullopt;
    const std::optional<std::string_view> name = guid ? scanner.take_quoted() : std::nullopt;
    if (!name || name->empty()) return lines.error("found '" + std::string(*line) + "', expected 0xGUID \"name\"");
    if (!names.emplace(*guid, *name).second) return lines.error("found a GUID a second time, expected it once");
  }
  return names;
}

Result<Subnet> read_ibnetdiscover(std::string_view text, const std::string& file, const NodeNameMap& names) {
  return DiscoveryReader(text, file, names).read();
}

}  // namespace libcoll::exchange

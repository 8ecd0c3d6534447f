#include "planner/exchange/lldp.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "planner/exchange/named_graph.h"
#include "planner/exchange/natural_order.h"

namespace libcoll::exchange {

using namespace topology;

namespace {

using Json = nlohmann::json;

/// Where a text stops being JSON.
struct ParseFault : nlohmann::json_sax<Json> {
  std::size_t position = 0;
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return true; }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*elements*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t place, const std::string& /*token*/, const nlohmann::detail::exception& /*e*/) override {
    position = place;
    return false;
  }
};

/// Cables by the chassis at their ends, as one of the two lists them.
using Seen = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// Reports of interfaces: an array of objects with one key each, or one such object where there is one interface.
Status read_interface(const Json& report, const std::string& host, const std::string& where, Seen& seen) {
  if (!report.is_object()) return Error{where + ": found no object, expected an interface by its name"};
  for (const auto& [name, interface] : report.items()) {
    std::string place = where;
    place.append("/").append(name);
    if (!interface.is_object() || !interface.contains("chassis") || !interface["chassis"].is_object() ||
        interface["chassis"].size() != 1) {
      return Error{place + ": found no chassis by its name, expected one neighbour"};
    }
    const std::string& neighbour = interface["chassis"].begin().key();
    if (neighbour.empty() || neighbour == host) {
      return Error{place.append(": found '").append(neighbour).append("', expected the name of another chassis")};
    }
    ++seen[{host, neighbour}];
  }
  return {};
}

Status read_host(const Json& report, const std::string& host, const std::string& file, Seen& seen) {
  const std::string where = file + ": " + host;
  if (!report.is_object() || !report.contains("lldp") || !report["lldp"].is_object()) {
    return Error{where + ": found no object 'lldp', expected what lldpctl -f json prints"};
  }
  const Json& lldp = report["lldp"];
  if (!lldp.contains("interface")) return {};
  const Json& interfaces = lldp["interface"];
  if (!interfaces.is_array()) return read_interface(interfaces, host, where, seen);
  for (const Json& each : interfaces) {
    if (Status status = read_interface(each, host, where, seen); !status) return status;
  }
  return {};
}

}  // namespace

Result<Topology> read_lldp(std::string_view text, const std::string& file) {
  ParseFault fault;
  if (!Json::sax_parse(text, &fault)) {
    const std::size_t end = std::min(fault.position, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return Error{file + ":" + std::to_string(line) + ": found no JSON, expected what lldpctl -f json prints by host"};
  }
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object()) return Error{file + ":1: found no object, expected {\"HOST\": {\"lldp\": …}, …}"};
  Seen seen;
  std::vector<std::string> hosts;
  for (const auto& [host, report] : document.items()) {
    if (host.empty()) return Error{file + ": found a host without a name, expected one"};
    hosts.push_back(host);
    if (const Status status = read_host(report, host, file, seen); !status) return status.error();
  }
  std::sort(hosts.begin(), hosts.end(), natural_less);
  NamedGraph graph;
  for (const std::string& host : hosts) graph.add_node({host, host, false});
  std::map<std::pair<std::string, std::string>, std::int64_t> cables;
  for (const auto& [ends, count] : seen) {
    graph.add_node({ends.second, "", true});  // unless it is a host
    std::int64_t& known = cables[std::minmax(ends.first, ends.second)];
    known = std::max(known, count);
  }
  for (const auto& [ends, count] : cables) {
    graph.add_cable(ends.first, ends.second, count * default_bandwidth_bytes_per_second);
  }
  return graph.topology(file_stem(file), file);
}

}  // namespace libcoll::exchange

#include "libcoll/command/doctor_messages.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <type_traits>

namespace libcoll::command {
namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef";

/// What fits into the type.
template <class Integer>
Integer integer(const Json& json, Integer otherwise) {
  if (!json.is_number_integer()) return otherwise;
  const bool is_large =
      json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (is_large) return otherwise;
  const auto value = json.get<std::int64_t>();
  const bool fits = value >= static_cast<std::int64_t>(std::numeric_limits<Integer>::min()) &&
                    value <= static_cast<std::int64_t>(std::numeric_limits<Integer>::max());
  return fits ? static_cast<Integer>(value) : otherwise;
}

template <class Integer>
Integer integer_field(const Json& json, const char* name, Integer otherwise) {
  if (!json.is_object()) return otherwise;
  const auto found = json.find(name);
  return found == json.end() ? otherwise : integer(*found, otherwise);
}

bool is_said(const Json& json, const char* name) {
  if (!json.is_object()) return false;
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

template <class Value>
void read(const Json& json, const char* name, Value& value) {
  if (!json.is_object()) return;
  const auto found = json.find(name);
  if (found == json.end()) return;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (found->is_string()) value = found->template get<std::string>();
  } else if constexpr (std::is_same_v<Value, std::int32_t>) {
    value = integer(*found, value);
  } else if (found->is_array()) {
    for (const Json& each : *found) {
      if (each.is_string()) value.push_back(each.template get<std::string>());
    }
  }
}

}  // namespace

std::string to_hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += hexadecimal[value >> 4U];
    text += hexadecimal[value & 15U];
  }
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

std::string text_field(const Json& json, const char* name, const std::string& otherwise) {
  std::string text = otherwise;
  read(json, name, text);
  return text;
}

double number_field(const Json& json, const char* name, double otherwise) {
  if (!json.is_object()) return otherwise;
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::vector<Json> list_field(const Json& json, const char* name) {
  if (!json.is_object()) return {};
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) return {};
  return {found->begin(), found->end()};
}

Json greeting(const std::string& token, const RankReport& report) {
  return {{"token", token}, {"report", to_json(report)}};
}

bool is_greeting(const Json& json, const std::string& token) {
  return text_field(json, "token") == token && json.contains("report");
}

Json to_json(const RankReport& report) {
  return {{"rank", report.rank},
          {"ranks", report.ranks},
          {"names", report.names},
          {"placed", report.placed},
          {"version", report.version},
          {"preload", report.preload},
          {"preload_version", report.preload_version},
          {"preload_obstacle", report.preload_obstacle},
          {"core_version", report.core_version},
          {"core_error", report.core_error},
          {"topology", report.topology},
          {"topology_error", report.topology_error},
          {"binding_error", report.binding_error},
          {"device_faults", report.device_faults},
          {"cache", report.cache},
          {"cache_error", report.cache_error},
          {"warnings", report.warnings}};
}

RankReport report_from(const Json& json) {
  RankReport report;
  read(json, "rank", report.rank);
  read(json, "ranks", report.ranks);
  read(json, "names", report.names);
  read(json, "placed", report.placed);
  read(json, "version", report.version);
  read(json, "preload", report.preload);
  read(json, "preload_version", report.preload_version);
  read(json, "preload_obstacle", report.preload_obstacle);
  read(json, "core_version", report.core_version);
  read(json, "core_error", report.core_error);
  read(json, "topology", report.topology);
  read(json, "topology_error", report.topology_error);
  read(json, "binding_error", report.binding_error);
  read(json, "device_faults", report.device_faults);
  read(json, "cache", report.cache);
  read(json, "cache_error", report.cache_error);
  read(json, "warnings", report.warnings);
  return report;
}

Json order_json(const LinkOrder& order) {
  return {{"measurement", order.measurement},     {"sends", order.sends},       {"peer", to_hex(order.peer)},
          {"message_bytes", order.message_bytes}, {"messages", order.messages}, {"pings", order.pings}};
}

LinkOrder order_from(const Json& json) {
  constexpr std::int64_t usual_bytes = 8;
  LinkOrder order;
  order.measurement = integer_field(json, "measurement", 0U);
  order.sends = is_said(json, "sends");
  order.peer = from_hex(text_field(json, "peer"));
  order.message_bytes =
      std::clamp<std::int64_t>(integer_field(json, "message_bytes", usual_bytes), 1, longest_message_bytes);
  order.messages = std::clamp(integer_field(json, "messages", 1), 1, most_messages);
  order.pings = std::clamp(integer_field(json, "pings", 1), 1, most_messages);
  return order;
}

Json figure_json(const LinkFigure& figure) {
  return {{"measurement", figure.measurement},
          {"good", figure.good},
          {"latency_seconds", figure.latency_seconds},
          {"bytes_per_second", figure.bytes_per_second}};
}

LinkFigure figure_from(const Json& json) {
  return {integer_field(json, "measurement", 0U), is_said(json, "good"), number_field(json, "latency_seconds", 0),
          number_field(json, "bytes_per_second", 0)};
}

}  // namespace libcoll::command

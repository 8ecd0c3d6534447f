// What `libcoll doctor` takes from processes that connect to it, and they from it.
#include <nlohmann/json.hpp>

#include "libcoll/command/doctor_messages.h"
#include "tests/fuzz/fuzz.h"

namespace {

using libcoll::command::Json;

/// The first reading forgets what is of no use; the second has to be the same.
template <class Read, class Write>
void round_trip(const Json& json, Read read, Write write) {
  const Json once = write(read(json));
  libcoll::fuzz::require(write(read(once)) == once);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace libcoll::command;
  const Json json = Json::parse(libcoll::fuzz::as_text(data, size), nullptr, false);
  if (!json.is_object()) return 0;  // a channel passes nothing else on
  static_cast<void>(is_greeting(json, "token"));
  round_trip(json, &report_from, [](const RankReport& report) { return to_json(report); });
  round_trip(json, &order_from, &order_json);
  round_trip(json, &figure_from, &figure_json);
  for (const char* name : {"report", "measure", "figures"}) {
    if (!json.contains(name)) continue;
    round_trip(json[name], &report_from, [](const RankReport& report) { return to_json(report); });
    for (const Json& each : list_field(json, name)) {
      round_trip(each, &order_from, &order_json);
      round_trip(each, &figure_from, &figure_json);
    }
  }
  static_cast<void>(text_field(json, "address"));
  static_cast<void>(number_field(json, "limit_seconds", 1));
  return 0;
}

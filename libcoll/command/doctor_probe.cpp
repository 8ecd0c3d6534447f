#include "libcoll/command/doctor_probe.h"

#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "libcoll/base/config.h"
#include "libcoll/command/doctor_messages.h"
#include "libcoll/command/doctor_report.h"
#include "libcoll/command/line_channel.h"
#include "libcoll/transport/ofi/ofi_transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "planner/schedule/route_binding.h"

namespace libcoll::command {

using namespace schedule;
using namespace transport;
using namespace transport::ofi;
using namespace transport::ucx;

namespace {

constexpr double connect_seconds = 30;
/// Between two looks at the transport, while others may be measuring.
constexpr double idle_seconds = 0.002;
/// Of a probe that has nothing open.
constexpr double patience_seconds = 1;

/// As the runtime chooses: what is named, or the first that works.
Result<std::unique_ptr<Transport>> open_transport(const Config& config) {
  RouteBinding binding;
  if (!config.route_binding.empty()) {
    Result<RouteBinding> loaded = load_route_binding(config.route_binding);
    if (!loaded) return loaded.error();
    binding = std::move(loaded).value();
  }
  if (config.transport == "mpi") return Error{"LIBCOLL_TRANSPORT=mpi: links are measured over UCX or libfabric alone"};
  if (config.transport != "ofi") {
    disable_ucx_signal_handlers();
    Result<std::unique_ptr<Transport>> transport = make_ucx_transport(binding);
    if (transport.ok() || config.transport == "ucx" || !binding.classes.empty()) return transport;
  }
  OfiOptions options;
  options.provider = config.ofi_provider;
  options.largest_message_bytes = longest_message_bytes;
  return make_ofi_transport(binding, options);
}

class Probe {
 public:
  Probe(LineChannel channel, Config config) : channel_(std::move(channel)), config_(std::move(config)) {}

  /// Until the doctor goes.
  void run() {
    for (;;) {
      const Result<std::optional<Json>> message = channel_.receive(links_ ? idle_seconds : patience_seconds);
      if (!message) return;
      if (!message->has_value()) {
        if (links_) links_->progress();
        continue;
      }
      const Json answer = (*message)->contains("measure") ? measure(**message) : open();
      if (!channel_.send(answer)) return;
    }
  }

 private:
  Json open() {
    Result<std::unique_ptr<Transport>> transport = open_transport(config_);
    if (!transport) return {{"error", transport.error().message}};
    links_.emplace(std::move(transport).value());
    return {{"address", to_hex(links_->address())}, {"transport", links_->transport_name()}};
  }

  Json measure(const Json& message) {
    std::vector<LinkOrder> orders;
    for (const Json& order : list_field(message, "measure")) orders.push_back(order_from(order));
    Json figures = Json::array();
    if (links_) {
      const Deadline deadline(number_field(message, "limit_seconds", 1));
      for (const LinkFigure& figure : links_->measure(orders, deadline)) figures.push_back(figure_json(figure));
    }
    return {{"figures", figures}};
  }

  LineChannel channel_;
  const Config config_;
  std::optional<LinkProbe> links_;
};

std::vector<std::string> parse_addresses(const std::string& list) {
  std::vector<std::string> addresses;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) addresses.push_back(word);
  return addresses;
}

}  // namespace

int doctor_probe(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) return fail("doctor-probe: expected ADDRESS,... PORT TOKEN");
  std::uint16_t port = 0;
  const std::string& number = arguments[1];
  if (std::from_chars(number.data(), number.data() + number.size(), port).ptr != number.data() + number.size()) {
    return fail("doctor-probe: found port '" + number + "', expected a number");
  }
  Result<LineChannel> channel = connect_channel(parse_addresses(arguments[0]), port, Deadline(connect_seconds));
  if (!channel) return fail("doctor-probe: " + channel.error().message);
  const LoadedConfig loaded = load_config(environ);
  if (!channel->send(greeting(arguments[2], look_around(loaded, environ)))) return ExitCode::bad;
  Probe(std::move(channel).value(), loaded.config).run();
  return ExitCode::good;
}

}  // namespace libcoll::command

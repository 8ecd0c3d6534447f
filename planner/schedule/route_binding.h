// What a route class is on the wire: only the fabric's owner knows, so it is a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// How messages of one class are sent. Class 0 is the fabric's default routing.
struct RouteClassBinding {
  std::int32_t route_class = 0;
  /// UCX settings of this class's own context, as {"NET_DEVICES", "L1"}, {"IB_LID_PATH_BITS", "3"},
  /// {"IB_GID_INDEX", "2"}, {"IB_SL", "1"}, {"IB_TRAFFIC_CLASS", "32"}; names without the UCX_ prefix, in capitals,
  /// each once, in the order of the file.
  std::vector<std::pair<std::string, std::string>> settings;
  /// UCT path index of this class's endpoints, for hardware whose devices have several paths; 0 to 65535.
  std::optional<std::int32_t> path_index;
  /// The layer (virtual lane) of the routes that are sent so; nothing: those of the class in all layers.
  std::optional<std::int32_t> layer = {};
  friend bool operator==(const RouteClassBinding&, const RouteClassBinding&) = default;
};

/// The value of a setting, if the class has one.
std::optional<std::string> setting_of(const RouteClassBinding& binding, std::string_view name);

/// Which back end tells classes apart.
enum class SteeringBackend : std::uint8_t {
  ucp,  ///< one UCP context and worker per class, with its settings
  uct,  ///< one UCT interface, endpoints by path index
};

/// A route binding file.
struct RouteBinding {
  SteeringBackend backend = SteeringBackend::ucp;
  /// route_set_digest() of the routes these classes realise; empty: whatever is planned (the fabric has every route).
  std::string routes;
  /// Ascending, classes 0, 1, … without gaps; a class with several entries has a layer in each. Transports make a
  /// context for each entry.
  std::vector<RouteClassBinding> classes;
  friend bool operator==(const RouteBinding&, const RouteBinding&) = default;
};

/// Reads a binding from TOML text: `backend` ("ucp" or "uct"; left out: "ucp"), `routes` (16 hexadecimal digits), and
/// a [[class]] table for each class, or each layer of a class, with its number in `class`, `layer`, `path_index` and
/// settings. Class 0 may be left out, it then has no settings; with "uct" every other class needs a path index, being
/// nothing without it. Errors name `origin`, the line, what was found and what was expected.
Result<RouteBinding> read_route_binding(std::string_view text, std::string_view origin);
/// The same from a file.
Result<RouteBinding> load_route_binding(const std::string& path);
/// The text of a binding whose classes start with 0; reading it gives the same binding.
std::string write_route_binding(const RouteBinding& binding);

/// The place in binding.classes whose context sends what takes the route: the entry of its class and layer, or the one
/// of its class where layers are not told apart. Nothing: the binding has none.
std::optional<std::int32_t> context_of(const RouteBinding& binding, const Route& route);

/// Identifies a set of routes with their classes on a topology, whatever their order: 16 hexadecimal digits over
/// (source, destination, nodes on the way, class). Layers do not matter, nor how often a route is given.
/// Precondition: the routes' links exist.
std::string route_set_digest(const topology::Topology& topology, std::span<const Route> routes);

}  // namespace libcoll::schedule

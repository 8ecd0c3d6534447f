#include "libcoll/plan/steering.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace libcoll::plan {

using namespace schedule;

namespace {

Result<std::vector<std::int32_t>> contexts_of(const Schedule& schedule, const RouteBinding& binding,
                                              std::int32_t contexts) {
  std::vector<std::int32_t> all;
  all.reserve(schedule.routes.size());
  for (const Route& route : schedule.routes) {
    const std::optional<std::int32_t> context = context_of(binding, route);
    if (!context || *context >= contexts) {
      return Error{"they need route class " + std::to_string(route.route_class) + " in layer " +
                   std::to_string(route.layer) + ", which the route binding does not have"};
    }
    all.push_back(*context);
  }
  if (!binding.routes.empty() && binding.routes != route_set_digest(schedule.topology, schedule.routes)) {
    return Error{"the route binding is for other routes"};
  }
  return all;
}

}  // namespace

Status steer(Schedule& schedule, const RouteBinding& binding, std::int32_t contexts) {
  const bool wants_steering = std::any_of(schedule.routes.begin(), schedule.routes.end(),
                                          [](const Route& route) { return route.route_class != 0; });
  if (!wants_steering) return {};
  const Result<std::vector<std::int32_t>> chosen = contexts_of(schedule, binding, contexts);
  for (std::size_t i = 0; i < schedule.routes.size(); ++i) schedule.routes[i].route_class = chosen ? (*chosen)[i] : 0;
  return chosen ? Status() : chosen.error();
}

}  // namespace libcoll::plan

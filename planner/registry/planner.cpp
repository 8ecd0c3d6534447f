#include "planner/registry/planner.h"

namespace libcoll::registry {

using namespace schedule;

Result<Planner> find_planner(std::span<const Planner> table, Collective collective, std::string_view name) {
  std::string known;
  for (const Planner& planner : table) {
    if (planner.collective != collective) continue;
    if (name.empty() || planner.name == name) return planner;
    known += known.empty() ? "" : ", ";
    known += planner.name;
  }
  const std::string what(to_string(collective));
  if (known.empty()) return Error{"no planner here for " + what};
  return Error{"no planner \"" + std::string(name) + "\" for " + what + ", expected one of: " + known};
}

}  // namespace libcoll::registry

#include "planner/registry/planner_needs.h"

#include <array>
#include <string_view>
#include <utility>

namespace libcoll::registry {

std::string to_string(Needs needs) {
  static constexpr std::array<std::pair<Need, std::string_view>, 12> names{
      {{Need::lp_solver, "GLPK"},
       {Need::lp_bound, "GLPK (for the bound)"},
       {Need::hosts_only, "hosts only (no switches)"},
       {Need::forwarding, "NICs or switches that forward"},
       {Need::small_fabric, "a small fabric"},
       {Need::expanded_topology, "a topology named line:, degree:, power:, product:, bidirectional:"},
       {Need::hamiltonian_cycle, "a Hamiltonian cycle"},
       {Need::grid, "a torus, mesh, ring or hypercube"},
       {Need::whole_grid, "a whole torus, mesh, ring or hypercube"},
       {Need::bigraph, "a bigraph of powers of two"},
       {Need::lockstep, "lockstep (a model: not for the runtime)"},
       {Need::rewiring, "a fabric that can be rewired (a model: not for the runtime)"}}};
  std::string text;
  for (const auto& [need, name] : names) {
    if (needs.has(need)) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace libcoll::registry

// What a planner needs beside a topology whose hosts reach each other.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace libcoll::registry {

enum class Need : std::uint8_t {
  lp_solver,          ///< GLPK: the planner is in the `libcoll` command only
  lp_bound,           ///< GLPK for the certified bound of a plan that takes none
  hosts_only,         ///< no switches
  forwarding,         ///< NICs that forward, or switches: its routes have several links
  small_fabric,       ///< its linear program grows with the square of the number of hosts, or faster
  expanded_topology,  ///< a specification that names an expansion
  hamiltonian_cycle,
  grid,        ///< a torus, mesh, ring or hypercube
  whole_grid,  ///< one of these without removed links
  bigraph,
  lockstep,  ///< its schedules are right in lockstep only (verify_lockstep): a cost model's baseline, not for the
             ///< runtime
  rewiring,  ///< links change during the collective: not for the runtime, and not comparable on one topology
};

/// A set of needs, for constant tables.
class Needs {
 public:
  constexpr Needs() = default;
  constexpr Needs(std::initializer_list<Need> needs) {
    for (const Need need : needs) bits_ |= bit(need);
  }
  [[nodiscard]] constexpr bool has(Need need) const { return (bits_ & bit(need)) != 0; }
  [[nodiscard]] constexpr bool none() const { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(Need need) { return std::uint32_t{1} << static_cast<unsigned>(need); }
  std::uint32_t bits_ = 0;
};

/// "GLPK, hosts only (no switches)"; empty when there are none.
std::string to_string(Needs needs);

}  // namespace libcoll::registry

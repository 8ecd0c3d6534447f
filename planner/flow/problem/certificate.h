// The certified upper bound on the max concurrent flow, free of floating-point error.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/rational.h"
#include "planner/flow/problem/link_classes.h"
#include "planner/topology/topology.h"

namespace libcoll::flow::problem {

/// For any link lengths ℓ ≥ 0, F ≤ Σ_e cap_e·ℓ_e / Σ_{s,d} dist_ℓ(s,d), sums over all links and all ordered pairs of
/// hosts: every pair's flow occupies at least dist_ℓ of the Σ cap_e·ℓ_e there is. The lengths are integers, so the sums
/// are exact and anyone can check them.
struct FlowCertificate {
  std::vector<std::int64_t> lengths;  ///< ℓ by link
  double flow_upper_bound = 0;        ///< rounded up
  Rational load_lower_bound;          ///< on U = 1/F; exact where its denominator is below 10⁹, else rounded down
};

/// Turns dual prices (≥ 0, by link, any scale) into integer lengths and their bound: small integers when the prices
/// are close to multiples of one number, otherwise prices scaled to 10⁹; whichever bounds better. Precondition: every
/// host reaches every other, N ≥ 2.
FlowCertificate certify_flow(const topology::Topology& topology, std::span<const double> prices);

/// The same from one price for every orbit of links, by the distances of one source for every orbit of hosts: exact
/// too, since automorphisms keep lengths that are equal on each orbit.
FlowCertificate certify_flow(const topology::Topology& topology, const SourceOrbits& orbits,
                             std::span<const double> prices);

}  // namespace libcoll::flow::problem

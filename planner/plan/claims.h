// The figures that a schedule claims, computed again from nothing but its transfers, its topology and its certificate.
#pragma once

#include <string>
#include <vector>

#include "planner/schedule/schedule.h"

namespace libcoll::default_plan {

/// A figure by its name in schedule files, what the schedule claims it to be and what it is.
struct FalseClaim {
  std::string name;
  std::string claimed;
  std::string found;
};

/// Every claim of the schedule that does not hold, none when all do:
/// - steps: the last step of a transfer;
/// - max_link_load and bandwidth_time: those of the transfers, exactly;
/// - bandwidth_bound: a bound that is proved here: the bottleneck cut (paper 004) or the cuts around single hosts;
/// where
///   the fabric is rewired what holds on any topology; of all-to-all the certificate's; 0: no claim;
/// - flow: of all-to-all, 1 / max_link_load, the rate that the transfers reach; 0: no claim, as for other collectives;
/// - flow_upper_bound: Σ cap·ℓ / Σ dist_ℓ for the link lengths ℓ that the schedule carries (Proof::lengths); 0: no
///   claim.
/// Doubles may be off by 10⁻⁹ of their value. Precondition: verify() or verify_lockstep() finds the schedule right.
std::vector<FalseClaim> false_claims(const schedule::Schedule& schedule);

/// "bandwidth_bound: claimed 3/2, found 1"
std::string to_string(const FalseClaim& claim);

/// The schedule with claims about F that its transfers and its certificate prove: flow becomes what the transfers
/// reach. Planners' own is that of the fluid plan, before it was rounded to chunks.
void claim_what_is_reached(schedule::Schedule& schedule);

}  // namespace libcoll::default_plan

// Proves a schedule right or says where it is wrong, without running it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// Symbolic execution. For every node, shard and chunk it tracks which contributions the node's copy holds;
/// transfers of a step see the state before the step. Returns every fault found (at most `limit`), none when
/// the schedule is right. Refused: ids, chunks, steps or routes out of range; links that do not exist; routes
/// that are no path from→to of their links or pass twice through a node; data sent before it arrived; a chunk
/// delivered twice; a contribution missing or counted twice in a reduction; a result missing at the end
/// (broadcast: at any host, reduce: at the root); link loads above what the proof claims (Σ_t max load, or for
/// pipelined schedules the largest total, against bandwidth_time; total against max_link_load); transfers over links
/// that are not live in the wiring of their step; routes of one layer whose channel dependencies form a cycle;
/// different routes of one pair in one class. The same on any number of threads.
std::vector<std::string> verify(const Schedule& schedule, std::size_t limit = 20, std::int32_t threads = 1);

/// The same for schedules whose nodes keep step: every transfer of a step carries its sender's value from before the
/// step. Two nodes may then reduce each other's value in one step, a value may be passed on and reduced again, and a
/// partial sum may be copied over another it contains. The runtime runs programs as data-flow, without common steps,
/// and in place: it takes only what verify() finds right.
std::vector<std::string> verify_lockstep(const Schedule& schedule, std::size_t limit = 20, std::int32_t threads = 1);

}  // namespace libcoll::schedule

// Schedule files: our self-describing XML, and MSCCL XML for other runtimes.
#pragma once

#include <string>
#include <string_view>

#include "planner/base/result.h"
#include "planner/schedule/schedule.h"

namespace libcoll::schedule {

/// The native file: topology, proof, routes and transfers. read_schedule(write_schedule(s)) == s, bit for bit.
std::string write_schedule(const Schedule& schedule);

/// Errors start with "FILE:LINE: " and say what was found and expected. The result is well-formed (ids in
/// range) but not verified.
Result<Schedule> read_schedule(std::string_view text, const std::string& file);

/// The reader a MSCCL file is for; they differ in attributes and spelling.
enum class Dialect : std::uint8_t { msccl, rccl, verifier };
Result<Dialect> parse_dialect(std::string_view text);

/// MSCCL XML with one thread block per connection, FIFO order kept, dependencies as depid/deps/nop chains.
/// Error where the dialect cannot say it (e.g. reductions for `verifier`, offsets or sizes above its limits).
Result<std::string> write_msccl(const Schedule& schedule, Dialect dialect);

}  // namespace libcoll::schedule

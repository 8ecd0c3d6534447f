// What runs in every process of the job that `libcoll doctor` starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcoll/command/line_channel.h"
#include "libcoll/command/link_probe.h"

namespace libcoll::command {

/// The hidden subcommand: ADDRESS,… PORT TOKEN. Uses no MPI: any launcher starts it, and no fault of MPI's is in its
/// way. It connects to the doctor, says {"token", "report"}, then does what it is told:
///   {"open": true}                            opens the transport; answers {"address", "transport"} or {"error"}
///   {"measure": [order…], "limit_seconds"}    answers {"figures": [figure…]}
/// until the connection ends.
inline constexpr const char* probe_subcommand = "doctor-probe";
int doctor_probe(const std::vector<std::string>& arguments);

/// What an order may ask for.
inline constexpr std::int64_t longest_message_bytes = 1 << 20;

/// Orders and figures as they are sent. The peer's address is what its probe answered: hexadecimal digits.
Json order_json(const LinkOrder& order);
Json figure_json(const LinkFigure& figure);
LinkFigure figure_from(const Json& json);

}  // namespace libcoll::command

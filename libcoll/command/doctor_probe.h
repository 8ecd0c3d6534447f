// What runs in every process of the job that `libcoll doctor` starts.
#pragma once

#include <string>
#include <vector>

namespace libcoll::command {

/// The hidden subcommand: ADDRESS,… PORT TOKEN. Uses no MPI: any launcher starts it, and no fault of MPI's is in its
/// way. It connects to the doctor, says {"token", "report"}, then does what it is told:
///   {"open": true}                            opens the transport; answers {"address", "transport"} or {"error"}
///   {"measure": [order…], "limit_seconds"}    answers {"figures": [figure…]}
/// until the connection ends.
inline constexpr const char* probe_subcommand = "doctor-probe";
int doctor_probe(const std::vector<std::string>& arguments);

}  // namespace libcoll::command

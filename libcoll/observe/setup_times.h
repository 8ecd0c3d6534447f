// Where the time before a communicator's first call goes.
#pragma once

#include <cstdint>
#include <string>

namespace libcoll::observe {

/// Of one communicator and plan, as its rank 0 sees them, nanoseconds.
struct SetupTimes {
  /// Settings, topology and above all the transport's contexts, on the rank where they took longest; once per process.
  std::int64_t contexts = 0;
  std::int64_t addresses = 0;    ///< ranks agreeing whether and how they are served; once per communicator
  std::int64_t plan = 0;         ///< finding or making it, and giving it to all
  std::int64_t connections = 0;  ///< to all whom the plan or small calls have messages for

  [[nodiscard]] std::int64_t total() const { return contexts + addresses + plan + connections; }
};

/// "0.412"
std::string in_seconds(std::int64_t nanoseconds);

/// "0.412 s: contexts 0.020, addresses 0.051, plan 0.040, connections 0.301"
std::string to_string(const SetupTimes& times);

}  // namespace libcoll::observe

// Which processes of the job have libcoll, as the preloaded library has found out (preload/presence.h).
#pragma once

#include <string>
#include <vector>

namespace libcoll::serve {

/// A process that cannot agree on anything: it has no libcoll, or another version.
struct Absentee {
  int world_rank = 0;
  std::string host;     ///< empty: not known
  std::string version;  ///< of its libcoll; empty: it has none
};

/// What the processes of a job announced; equal in all that have libcoll.
struct Presence {
  std::vector<Absentee> absentees;  ///< in the order of their ranks
  bool serves = false;              ///< some process is set up to serve calls
  bool root_reports = false;        ///< rank 0 is set up to write the job's statistics
};

}  // namespace libcoll::serve

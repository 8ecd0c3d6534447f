// Which processes of the job have libcoll: said by each before the others can ask, in the job's key-value space (PMIx).
//
// A process says so from within PMIx_Init, which MPI_Init calls whatever language the program is written in. MPI's
// fence comes after that, so a key that is not there afterwards never comes. No message is sent and nobody is waited
// for.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace libcoll::pmpi {

/// A process that cannot agree on anything: it has no libcoll, or another version.
struct Absentee {
  int world_rank = 0;
  std::string host;     ///< empty: not known
  std::string version;  ///< of its libcoll; empty: it has none
};

/// What the processes of a job said; equal in all that have libcoll.
struct Presence {
  std::vector<Absentee> absentees;  ///< in the order of their ranks
  bool serves = false;              ///< some process is set up to serve calls
  bool root_reports = false;        ///< rank 0 is set up to write the job's statistics
};

/// Of a job of so many processes. Nothing when it cannot be known: the job has no PMIx, or one that cannot be asked.
std::optional<Presence> find_presence(int world_size);

}  // namespace libcoll::pmpi

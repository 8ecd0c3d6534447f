// What is written when the program ends: statistics of the whole job, and every rank's trace.
#pragma once

#include "libcoll/base/config.h"
#include "libcoll/observe/statistics.h"
#include "libcoll/observe/trace.h"

namespace libcoll::serve {

/// Called by every rank on its way through MPI_Finalize, while MPI still works. Rank 0 waits for the reports of the
/// others, but not for ever: a rank may have other settings, or no libcoll. `trace` may be null.
void write_reports(const observe::Statistics& statistics, const observe::Trace* trace, const Config& config) noexcept;

}  // namespace libcoll::serve

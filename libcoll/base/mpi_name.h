// What stands for the program's MPI in the names of files with what was measured of it.
#pragma once

#include <string>
#include <string_view>

namespace libcoll {

/// `version`: as MPI_Get_library_version() has it. `environment`: as environ; what its variables say about messages and
/// algorithms counts, as a number at the end, but not which devices and hosts they name. "Open_MPI_v4.1.4",
/// "MPICH_Version_4.0.2_3f1c09ab": letters, digits, dots and underscores.
std::string mpi_name(std::string_view version, const char* const* environment);

}  // namespace libcoll

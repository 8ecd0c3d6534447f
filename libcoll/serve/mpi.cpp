#include "libcoll/serve/mpi.h"

namespace libcoll::serve {
namespace {

int read_int(const MpiStatus* status, std::size_t offset) noexcept {
  int value = 0;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(status) + offset, sizeof value);
  return value;
}

void write_int(MpiStatus* status, std::size_t offset, int value) noexcept {
  std::memcpy(reinterpret_cast<std::byte*>(status) + offset, &value, sizeof value);
}

}  // namespace

const char* find_mpi(const libcoll_mpi_interface& description, void* (*find)(const char* name)) {
  mpi.description = &description;
  mpi.handle_mask = description.handle_bytes == sizeof(std::uint64_t) ? ~std::uint64_t{0} : 0xffffffffU;
// NOLINTBEGIN(bugprone-macro-parentheses): names of types
#define LIBCOLL_MPI_HANDLE(name, type, symbol) mpi.name = type{description.name};
#define LIBCOLL_MPI_ADDRESS(name, type, symbol) mpi.name = static_cast<type*>(description.name);
// NOLINTEND(bugprone-macro-parentheses)
#define LIBCOLL_MPI_NUMBER(name, symbol) mpi.name = description.name;
#include "pmpi/mpi_constants.def"
#undef LIBCOLL_MPI_HANDLE
#undef LIBCOLL_MPI_ADDRESS
#undef LIBCOLL_MPI_NUMBER
#define LIBCOLL_MPI_FUNCTION(name, Name, parameters)                    \
  mpi.name = reinterpret_cast<decltype(mpi.name)>(find("PMPI_" #Name)); \
  if (mpi.name == nullptr) return "PMPI_" #Name;
#include "libcoll/serve/mpi_functions.def"
#undef LIBCOLL_MPI_FUNCTION
  return nullptr;
}

int source_of(const MpiStatus* status) noexcept { return read_int(status, mpi.description->status_source); }
int error_of(const MpiStatus* status) noexcept { return read_int(status, mpi.description->status_error); }

void set_status(MpiStatus* status, int source, int tag, int error) noexcept {
  write_int(status, mpi.description->status_source, source);
  write_int(status, mpi.description->status_tag, tag);
  write_int(status, mpi.description->status_error, error);
}

MpiStatus* Statuses::at(std::size_t place) noexcept {
  return reinterpret_cast<MpiStatus*>(memory_.data() + place * mpi.description->status_bytes);
}

}  // namespace libcoll::serve

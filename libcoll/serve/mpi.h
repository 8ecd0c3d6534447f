// The MPI of the process, whichever it is: its functions, and its constants as the shim describes them
// (pmpi/mpi_interface.h). No mpi.h is needed.
//
// Handles have types of their own, of 64 bits. Where those of MPI are ints, the upper half is 0. As arguments they are
// passed in the same registers either way, and a variable of ours whose address MPI gets has the int in its first
// bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "pmpi/mpi_interface.h"

namespace libcoll::serve {

static_assert(std::endian::native == std::endian::little && sizeof(void*) == sizeof(std::uint64_t));

enum class MpiComm : std::uint64_t {};
enum class MpiGroup : std::uint64_t {};
enum class MpiDatatype : std::uint64_t {};
enum class MpiOp : std::uint64_t {};
enum class MpiRequest : std::uint64_t {};
enum class MpiErrhandler : std::uint64_t {};
enum class MpiInfo : std::uint64_t {};

/// Of any type.
template <class Handle>
constexpr std::uint64_t number_of(Handle handle) noexcept {
  return static_cast<std::uint64_t>(handle);
}

/// In memory of MPI's layout: see Statuses.
struct MpiStatus;

/// Handles in memory of MPI's layout, the program's or ours, as a pointer to the first. Passed as that pointer is.
template <class Handle>
class HandlePointer {
 public:
  constexpr HandlePointer() noexcept = default;
  /// To one variable of ours.
  constexpr HandlePointer(Handle* own) noexcept : data_(own) {}  // NOLINT(google-explicit-constructor)
  constexpr explicit HandlePointer(void* data) noexcept : data_(data) {}

  [[nodiscard]] constexpr bool given() const noexcept { return data_ != nullptr; }
  [[nodiscard]] Handle get(std::size_t place = 0) const noexcept;
  void set(std::size_t place, Handle handle) const noexcept;
  [[nodiscard]] HandlePointer from(std::size_t place) const noexcept;

 private:
  [[nodiscard]] std::byte* at(std::size_t place) const noexcept;

  void* data_ = nullptr;
};
using MpiRequests = HandlePointer<MpiRequest>;
using MpiDatatypes = HandlePointer<MpiDatatype>;

// What pmpi/entry_points.def and pmpi/request_points.def call them.
using MPI_Comm = MpiComm;
using MPI_Datatype = MpiDatatype;
using MPI_Op = MpiOp;
using MPI_Status = MpiStatus;
using MPI_Count = std::int64_t;
using MPI_Aint = std::int64_t;
#undef LIBCOLL_DATATYPES
#undef LIBCOLL_REQUESTS
#define LIBCOLL_DATATYPES MpiDatatypes
#define LIBCOLL_REQUESTS MpiRequests

using MpiCopyFunction = int(MpiComm, int, void*, void*, void*, int*);
using MpiDeleteFunction = int(MpiComm, int, void*, void*);
using MpiQueryFunction = int(void*, MpiStatus*);
using MpiFreeFunction = int(void*);
using MpiCancelFunction = int(void*, int);

constexpr int mpi_success = 0;
/// Of names of processors and communicators, with the 0: more than any MPI has.
constexpr std::size_t mpi_longest_name = 1024;

/// MPI's constants, and its functions by what follows "PMPI_". What is found so is never intercepted by libcoll.
struct Mpi {
#define LIBCOLL_MPI_HANDLE(name, type, symbol) type name;
#define LIBCOLL_MPI_ADDRESS(name, type, symbol) type* name;
#define LIBCOLL_MPI_NUMBER(name, symbol) int name;
#include "pmpi/mpi_constants.def"
#undef LIBCOLL_MPI_HANDLE
#undef LIBCOLL_MPI_ADDRESS
#undef LIBCOLL_MPI_NUMBER
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define LIBCOLL_MPI_FUNCTION(name, Name, parameters) int(*name) parameters;
#include "libcoll/serve/mpi_functions.def"
#undef LIBCOLL_MPI_FUNCTION
  std::uint64_t handle_mask;                 ///< the bits of a handle that mean something
  const libcoll_mpi_interface* description;  ///< all of it
};

/// Set by find_mpi(), before anything else here is used. Not at static initialisation.
inline constinit Mpi mpi{};

/// Takes over the description, and looks the functions up. The name of one that is missing, or null.
const char* find_mpi(const libcoll_mpi_interface& description, void* (*find)(const char* name));

/// An argument as the program has passed it: of a handle, without what the register holds besides.
template <class Argument>
constexpr Argument cleaned(Argument argument) noexcept {
  if constexpr (std::is_enum_v<Argument>) {
    return Argument{number_of(argument) & mpi.handle_mask};
  } else {
    return argument;
  }
}

/// Of a status that MPI has filled in.
int source_of(const MpiStatus* status) noexcept;
int error_of(const MpiStatus* status) noexcept;
void set_status(MpiStatus* status, int source, int tag, int error) noexcept;

/// Statuses of ours in a row.
class Statuses {
 public:
  void resize(std::size_t number) { memory_.resize(number * mpi.description->status_bytes); }
  /// The first.
  [[nodiscard]] MpiStatus* data() noexcept { return at(0); }
  [[nodiscard]] MpiStatus* at(std::size_t place) noexcept;

 private:
  std::vector<std::byte> memory_;
};

/// Handles of ours in a row, in MPI's layout.
template <class Handle>
class HandleVector {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Valid until the next push_back().
  [[nodiscard]] HandlePointer<Handle> data() const noexcept { return HandlePointer<Handle>(memory_.data()); }
  [[nodiscard]] Handle at(std::size_t place) const noexcept { return data().get(place); }
  void push_back(Handle handle) {
    memory_.resize((size_ + 1) * mpi.description->handle_bytes);
    data().set(size_++, handle);
  }
  void pop_back() noexcept { --size_; }
  void clear() noexcept { size_ = 0; }

 private:
  mutable std::vector<std::byte> memory_;  ///< at least so much
  std::size_t size_ = 0;
};

template <class Handle>
std::byte* HandlePointer<Handle>::at(std::size_t place) const noexcept {
  return static_cast<std::byte*>(data_) + place * mpi.description->handle_bytes;
}
template <class Handle>
Handle HandlePointer<Handle>::get(std::size_t place) const noexcept {
  if (mpi.description->handle_bytes == sizeof(Handle)) {
    Handle handle{};
    std::memcpy(&handle, at(place), sizeof handle);
    return handle;
  }
  std::uint32_t number = 0;
  std::memcpy(&number, at(place), sizeof number);
  return Handle{number};
}
template <class Handle>
void HandlePointer<Handle>::set(std::size_t place, Handle handle) const noexcept {
  if (mpi.description->handle_bytes == sizeof handle) {
    std::memcpy(at(place), &handle, sizeof handle);
  } else {
    std::memcpy(at(place), &handle, sizeof(std::uint32_t));
  }
}
template <class Handle>
HandlePointer<Handle> HandlePointer<Handle>::from(std::size_t place) const noexcept {
  return HandlePointer(static_cast<void*>(at(place)));
}

}  // namespace libcoll::serve

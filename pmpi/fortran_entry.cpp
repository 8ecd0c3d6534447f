// The Fortran entry points. Open MPI's Fortran library calls PMPI directly, so C wrappers do not see these calls:
// mpif.h and `use mpi` come in as mpi_x_ (under four manglings), mpi_f08 as mpi_x_f08_.
#include <algorithm>
#include <iterator>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include "pmpi/entrance.h"
#include "pmpi/fortran_names.h"
#include "pmpi/next.h"
#include "pmpi/persistent.h"
#include "pmpi/process.h"
#include "pmpi/serve.h"

// NOLINTBEGIN(readability-identifier-naming): Fortran's names
extern "C" {
// Defined by Open MPI's libmpi, or by the program itself (common blocks). Only their addresses mean something.
extern MPI_Fint mpi_fortran_in_place_ __attribute__((weak));
extern MPI_Fint mpi_fortran_bottom_ __attribute__((weak));
}

namespace libcoll::pmpi {
namespace {

static_assert(std::is_same_v<MPI_Fint, int>, "arrays of counts are passed on as they are");

/// A buffer argument with Fortran's constants in C form.
void* buffer(void* argument) {
  if (argument == &mpi_fortran_in_place_) return MPI_IN_PLACE;
  if (argument == &mpi_fortran_bottom_) return MPI_BOTTOM;
  return argument;
}

/// A Fortran argument as the C parameter of that type.
template <class Parameter>
Parameter from_fortran(void* argument) {
  const auto handle = [argument] { return *static_cast<const MPI_Fint*>(argument); };
  if constexpr (std::is_same_v<Parameter, int>) {
    return handle();
  } else if constexpr (std::is_same_v<Parameter, const int*>) {
    return static_cast<const int*>(argument);
  } else if constexpr (std::is_same_v<Parameter, MPI_Datatype>) {
    return PMPI_Type_f2c(handle());
  } else if constexpr (std::is_same_v<Parameter, MPI_Op>) {
    return PMPI_Op_f2c(handle());
  } else if constexpr (std::is_same_v<Parameter, MPI_Comm>) {
    return PMPI_Comm_f2c(handle());
  } else {
    static_assert(std::is_same_v<Parameter, void*> || std::is_same_v<Parameter, const void*>);
    return buffer(argument);
  }
}

/// An argument for the duration of the call.
template <class Parameter>
class Argument {
 public:
  explicit Argument(void* argument) : value_(from_fortran<Parameter>(argument)) {}
  operator Parameter() const { return value_; }  // NOLINT(google-explicit-constructor): it stands for its value

 private:
  Parameter value_;
};

/// A request that the call may give; nothing is stored when it does not.
template <>
class Argument<MPI_Request*> {
 public:
  explicit Argument(void* argument) : handle_(static_cast<MPI_Fint*>(argument)) {}
  ~Argument() {
    if (given_ != nullptr) *handle_ = PMPI_Request_c2f(given_);
  }
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  operator MPI_Request*() { return &given_; }  // NOLINT(google-explicit-constructor): it stands for its value

 private:
  MPI_Fint* handle_;
  MPI_Request given_ = nullptr;
};

/// As many types as the communicator has ranks; one of an inter-communicator's, which nobody looks at.
std::vector<MPI_Datatype> types_from_fortran(const void* argument, MPI_Comm comm) {
  int inter = 0;
  int number = 1;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter == 0) PMPI_Comm_size(comm, &number);
  const auto* const handles = static_cast<const MPI_Fint*>(argument);
  std::vector<MPI_Datatype> types;
  std::transform(handles, handles + number, std::back_inserter(types),
                 [](MPI_Fint handle) { return PMPI_Type_f2c(handle); });
  return types;
}

/// Has `serve` called with the arguments of Fortran in C form.
template <class Result, class... Parameters, class... Arguments>
Result call_in_c(Result (*serve)(Parameters...) noexcept, Arguments*... arguments) {
  const auto remember_and_serve = [serve](Parameters... in_c) {
    Entrance::remember(in_c...);
    return serve(in_c...);
  };
  return remember_and_serve(Argument<Parameters>(arguments)...);
}

/// All-to-all with a type for every block. In place, those that are sent are of no meaning.
template <class Result, class... Parameters, class... Arguments>
Result call_in_c(Result (*serve)(const void*, const int*, const int*, const MPI_Datatype*, void*, const int*,
                                 const int*, const MPI_Datatype*, MPI_Comm, Parameters...) noexcept,
                 void* sendbuf, void* sendcounts, void* sdispls, void* sendtypes, void* recvbuf, void* recvcounts,
                 void* rdispls, void* recvtypes, void* comm, Arguments*... more) try {
  const auto communicator = from_fortran<MPI_Comm>(comm);
  if (communicator == MPI_COMM_NULL) return {};
  const void* const send = buffer(sendbuf);
  std::vector<MPI_Datatype> send_types;
  if (send != MPI_IN_PLACE) send_types = types_from_fortran(sendtypes, communicator);
  const std::vector<MPI_Datatype> receive_types = types_from_fortran(recvtypes, communicator);
  Entrance::remember(communicator);
  return serve(send, static_cast<const int*>(sendcounts), static_cast<const int*>(sdispls), send_types.data(),
               buffer(recvbuf), static_cast<const int*>(recvcounts), static_cast<const int*>(rdispls),
               receive_types.data(), communicator, Argument<Parameters>(more)...);
} catch (const std::bad_alloc&) {
  return {};
}

/// What C's serve function returns; nothing while MPI does not run, for handles cannot be looked up then.
template <class... Parameters, class... Arguments>
std::optional<int> serve_fortran(std::optional<int> (*serve)(Parameters...) noexcept, Arguments*... arguments) {
  if (!Entrance::is_program() || runtime() == nullptr) return std::nullopt;
  return call_in_c(serve, arguments...);
}

/// What the init of a persistent call is to keep.
template <class... Parameters, class... Arguments>
PersistentPointer plan_fortran(PersistentPointer (*plan)(Parameters...) noexcept, Arguments*... arguments) {
  if (!Entrance::is_program() || runtime() == nullptr) return nullptr;
  return call_in_c(plan, arguments...);
}

}  // namespace
}  // namespace libcoll::pmpi

#define LIBCOLL_FORTRAN_PROCEDURE(symbol, name, addresses, ...)                                      \
  LIBCOLL_EXPORT void symbol(LIBCOLL_LIST addresses, MPI_Fint* ierror) {                             \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);              \
    const libcoll::pmpi::Entrance entrance;                                                          \
    if (const auto code = libcoll::pmpi::serve_fortran(&libcoll::pmpi::serve_##name, __VA_ARGS__)) { \
      libcoll::pmpi::store(ierror, *code);                                                           \
    } else {                                                                                         \
      fall_through(__VA_ARGS__, ierror);                                                             \
    }                                                                                                \
  }
#define LIBCOLL_FORTRAN_ENTRY(symbol, name, number, ...) \
  LIBCOLL_FORTRAN_PROCEDURE(symbol, name, (LIBCOLL_ADDRESSES_##number(__VA_ARGS__)), __VA_ARGS__)
#define LIBCOLL_FORTRAN_NONBLOCKING_ENTRY(symbol, name, number, ...)                                                \
  LIBCOLL_FORTRAN_PROCEDURE(symbol, i##name, (LIBCOLL_ADDRESSES_##number(__VA_ARGS__), void* request), __VA_ARGS__, \
                            request)

#define LIBCOLL_FORTRAN_INIT(symbol, name, number, ...) \
  LIBCOLL_FORTRAN_INIT_PROCEDURE(symbol, name, (LIBCOLL_ADDRESSES_##number(__VA_ARGS__)), __VA_ARGS__)
#define LIBCOLL_FORTRAN_INIT_PROCEDURE(symbol, name, addresses, ...)                                              \
  LIBCOLL_EXPORT void symbol(LIBCOLL_LIST addresses, void* info, MPI_Fint* request, MPI_Fint* ierror) {           \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);                           \
    const libcoll::pmpi::Entrance entrance;                                                                       \
    const auto call = libcoll::pmpi::plan_fortran(&libcoll::pmpi::plan_##name, __VA_ARGS__);                      \
    MPI_Fint code = MPI_SUCCESS;                                                                                  \
    fall_through(__VA_ARGS__, info, request, &code);                                                              \
    if (call != nullptr && code == MPI_SUCCESS) libcoll::pmpi::keep_persistent(call, PMPI_Request_f2c(*request)); \
    libcoll::pmpi::store(ierror, code);                                                                           \
  }

#define LIBCOLL_FORTRAN_BARRIER(symbol)                                                   \
  LIBCOLL_EXPORT void symbol(MPI_Fint* comm, MPI_Fint* ierror) {                          \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);   \
    if (libcoll::pmpi::has_wishes()) libcoll::pmpi::before_barrier(PMPI_Comm_f2c(*comm)); \
    fall_through(comm, ierror);                                                           \
  }

#define LIBCOLL_FORTRAN_MPI_INIT(symbol)                                                \
  LIBCOLL_EXPORT void symbol(MPI_Fint* ierror) {                                        \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol); \
    fall_through(ierror);                                                               \
    libcoll::pmpi::after_init();                                                        \
  }

#define LIBCOLL_FORTRAN_MPI_INIT_THREAD(symbol)                                          \
  LIBCOLL_EXPORT void symbol(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) { \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol);  \
    fall_through(required, provided, ierror);                                            \
    libcoll::pmpi::after_init();                                                         \
  }

#define LIBCOLL_FORTRAN_FINALIZE(symbol)                                                \
  LIBCOLL_EXPORT void symbol(MPI_Fint* ierror) {                                        \
    static const auto fall_through = libcoll::pmpi::next<decltype(&(symbol))>(#symbol); \
    libcoll::pmpi::before_finalize();                                                   \
    fall_through(ierror);                                                               \
    libcoll::pmpi::after_finalize();                                                    \
  }

#define LIBCOLL_ENTRY(name, Name, NAME, number, parameters, ...)                                                \
  LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_ENTRY, mpi_##name, MPI_##NAME, name, number, __VA_ARGS__)               \
  LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_NONBLOCKING_ENTRY, mpi_i##name, MPI_I##NAME, name, number, __VA_ARGS__) \
  LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_INIT, mpix_##name##_init, MPIX_##NAME##_INIT, name, number, __VA_ARGS__)
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY

LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_BARRIER, mpi_barrier, MPI_BARRIER)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_MPI_INIT, mpi_init, MPI_INIT)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_MPI_INIT_THREAD, mpi_init_thread, MPI_INIT_THREAD)
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_FINALIZE, mpi_finalize, MPI_FINALIZE)
// NOLINTEND(readability-identifier-naming)

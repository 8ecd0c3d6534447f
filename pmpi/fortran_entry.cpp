// The Fortran entry points. Open MPI's Fortran library calls PMPI directly, so C wrappers do not see these calls:
// mpif.h and `use mpi` come in as mpi_x_ (under four manglings), mpi_f08 as mpi_x_f08_.
#include <type_traits>

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
  } else if constexpr (std::is_same_v<Parameter, const MPI_Datatype*>) {
    return nullptr;  // only of calls that are not served
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

/// What C's serve function returns; nothing while MPI does not run, for handles cannot be looked up then.
template <class... Parameters, class... Arguments>
std::optional<int> serve_fortran(std::optional<int> (*serve)(Parameters...) noexcept, Arguments*... arguments) {
  if (!Entrance::is_program() || runtime() == nullptr) return std::nullopt;
  const auto remember_and_serve = [serve](Parameters... in_c) {
    Entrance::remember(in_c...);
    return serve(in_c...);
  };
  return remember_and_serve(Argument<Parameters>(arguments)...);
}

/// What the init of a persistent call is to keep.
template <class... Parameters, class... Arguments>
PersistentPointer plan_fortran(PersistentPointer (*plan)(Parameters...) noexcept, Arguments*... arguments) {
  if (!Entrance::is_program() || runtime() == nullptr) return nullptr;
  return plan(Argument<Parameters>(arguments)...);
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
LIBCOLL_ALL_MANGLINGS(LIBCOLL_FORTRAN_FINALIZE, mpi_finalize, MPI_FINALIZE)
// NOLINTEND(readability-identifier-naming)

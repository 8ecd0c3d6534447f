#include "pmpi/shim/accepted_pairs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "pmpi/shim/operands.h"

#ifdef OPEN_MPI
extern "C" {
// Open MPI's setting mpi_param_check: whether a call's arguments are looked at before they are used.
extern bool ompi_mpi_param_check __attribute__((weak));
}
#endif

namespace libcoll::pmpi {
namespace {

struct Pair {
  MPI_Op op;
  MPI_Datatype type;
};
std::vector<Pair> accepted;
std::uint64_t digest;

/// MPI_COMM_WORLD's error handler hears of the arguments of MPI_Reduce_local.
class SilentErrors {
 public:
  SilentErrors() {
    good_ = PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_) == MPI_SUCCESS &&
            PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS;
  }
  ~SilentErrors() {
    if (good_) PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    if (before_ != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&before_);
  }
  SilentErrors(const SilentErrors&) = delete;
  SilentErrors& operator=(const SilentErrors&) = delete;
  [[nodiscard]] bool good() const { return good_; }

 private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
  bool good_ = false;
};

bool reduces(MPI_Op op, MPI_Datatype type) {
  constexpr std::size_t most_bytes = 64;
  alignas(most_bytes) std::array<std::byte, most_bytes> input{};
  alignas(most_bytes) std::array<std::byte, most_bytes> in_out{};
  // Types that this MPI was built without have no size.
  if (size_of(type) <= 0 || extent_of(type) > static_cast<std::int64_t>(most_bytes)) return false;
  return PMPI_Reduce_local(input.data(), in_out.data(), 1, type, op) == MPI_SUCCESS;
}

/// Whether MPI looks at arguments before it uses them. Precondition: errors are silent.
bool checks_arguments() {
#ifdef OPEN_MPI
  return &ompi_mpi_param_check != nullptr && ompi_mpi_param_check;
#else
  // MPICH can be built without. Such a build adds a number to itself where others see that buffers must not be the
  // same.
  int number = 0;
  return PMPI_Reduce_local(&number, &number, 1, MPI_INT, MPI_SUM) != MPI_SUCCESS;
#endif
}

/// Whether MPI answers, and does not end the process.
bool can_ask([[maybe_unused]] MPI_Datatype type) {
#ifdef OPEN_MPI
  return true;
#else
  // MPICH 4.0 accepts pairs that its operations then stop at by an assertion. What programs use is MPI_CHAR.
  return type == MPI_CHAR;
#endif
}

}  // namespace

void find_accepted_pairs() {
  const SilentErrors silence;
  // Without that look MPI would call what is not there.
  if (!silence.good() || !checks_arguments()) return;
  for_each_undefined_pair([](MPI_Op op, MPI_Datatype type) {
    if (!can_ask(type)) return;
    const bool answer = reduces(op, type);
    constexpr std::uint64_t fnv_prime = 0x100000001b3U;
    digest = (digest ^ (answer ? 2U : 1U)) * fnv_prime;
    if (answer) accepted.push_back({op, type});
  });
}

bool accepts_pair(MPI_Op op, MPI_Datatype type) {
  return std::any_of(accepted.begin(), accepted.end(),
                     [&](const Pair& each) { return each.op == op && each.type == type; });
}

std::uint64_t digest_of_accepted_pairs() { return digest; }

}  // namespace libcoll::pmpi

#include "libcoll/serve/accepted_pairs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "libcoll/serve/next.h"
#include "libcoll/serve/operands.h"

namespace libcoll::serve {
namespace {

struct Pair {
  MpiOp op;
  MpiDatatype type;
};
std::vector<Pair> accepted;
std::uint64_t digest;

/// MPI_COMM_WORLD's error handler hears of the arguments of MPI_Reduce_local.
class SilentErrors {
 public:
  SilentErrors() {
    good_ = mpi.comm_get_errhandler(mpi.comm_world, &before_) == mpi_success &&
            mpi.comm_set_errhandler(mpi.comm_world, mpi.errors_return) == mpi_success;
  }
  ~SilentErrors() {
    if (good_) mpi.comm_set_errhandler(mpi.comm_world, before_);
    if (before_ != mpi.errhandler_null) mpi.errhandler_free(&before_);
  }
  SilentErrors(const SilentErrors&) = delete;
  SilentErrors& operator=(const SilentErrors&) = delete;
  [[nodiscard]] bool good() const { return good_; }

 private:
  MpiErrhandler before_ = mpi.errhandler_null;
  bool good_ = false;
};

bool reduces(MpiOp op, MpiDatatype type) {
  constexpr std::size_t most_bytes = 64;
  alignas(most_bytes) std::array<std::byte, most_bytes> input{};
  alignas(most_bytes) std::array<std::byte, most_bytes> in_out{};
  // Types that this MPI was built without have no size.
  if (size_of(type) <= 0 || extent_of(type) > static_cast<std::int64_t>(most_bytes)) return false;
  return mpi.reduce_local(input.data(), in_out.data(), 1, type, op) == mpi_success;
}

/// Whether MPI looks at arguments before it uses them. Precondition: errors are silent.
bool checks_arguments() {
  if (mpi.description->argument_check != nullptr) {
    const auto* setting = static_cast<const bool*>(preload->next_symbol(mpi.description->argument_check));
    return setting != nullptr && *setting;
  }
  // MPICH can be built without. Such a build adds a number to itself where others see that buffers must not be the
  // same.
  int number = 0;
  return mpi.reduce_local(&number, &number, 1, mpi.int_type, mpi.sum) != mpi_success;
}

/// Whether MPI answers, and does not end the process: MPICH 4.0 accepts pairs that its operations then stop at by an
/// assertion. What programs use is MPI_CHAR.
bool can_ask(MpiDatatype type) { return mpi.description->answers_for_any_pair != 0 || type == mpi.char_type; }

}  // namespace

void find_accepted_pairs() {
  const SilentErrors silence;
  // Without that look MPI would call what is not there.
  if (!silence.good() || !checks_arguments()) return;
  for_each_undefined_pair([](MpiOp op, MpiDatatype type) {
    if (!can_ask(type)) return;
    const bool answer = reduces(op, type);
    constexpr std::uint64_t fnv_prime = 0x100000001b3U;
    digest = (digest ^ (answer ? 2U : 1U)) * fnv_prime;
    if (answer) accepted.push_back({op, type});
  });
}

bool accepts_pair(MpiOp op, MpiDatatype type) {
  return std::any_of(accepted.begin(), accepted.end(),
                     [&](const Pair& each) { return each.op == op && each.type == type; });
}

std::uint64_t digest_of_accepted_pairs() { return digest; }

}  // namespace libcoll::serve

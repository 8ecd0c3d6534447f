#include "pmpi/choice.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/runtime/clock.h"
#include "libcoll/runtime/crossover.h"
#include "libcoll/runtime/log.h"
#include "libcoll/runtime/plan_cache.h"
#include "libcoll/runtime/plan_source.h"

namespace libcoll::pmpi {
namespace {

constexpr std::int64_t word_bytes = 8;
constexpr std::int64_t largest_vector = 256 * 1024;
constexpr std::int64_t largest_buffer = 4 * 1024 * 1024;  ///< of all blocks together
constexpr std::int64_t budget_nanoseconds = 50'000'000;

/// What rank 0 says when it knows nothing yet.
constexpr std::int64_t not_tried = -2;

void or_words(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  auto* to = static_cast<std::uint64_t*>(destination);
  const auto* a = static_cast<const std::uint64_t*>(left);
  const auto* b = static_cast<const std::uint64_t*>(right);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = a[i] | b[i];
}

/// Calls of one kind with memory of their own, both ways. The root of rooted ones is rank 0.
class Trial {
 public:
  Trial(Communicator& communicator, CallKind kind, MPI_Comm comm)
      : communicator_(communicator), kind_(kind), comm_(comm), ranks_(communicator.size()) {
    const auto words = static_cast<std::size_t>(ranks_ * largest_bytes() / word_bytes);
    input_.resize(words);
    output_.resize(words);
  }

  [[nodiscard]] std::int64_t largest_bytes() const {
    return std::max(word_bytes, std::min(largest_vector, largest_buffer / ranks_));
  }

  bool plan(std::int64_t bytes) {
    Call call;
    call.collective = *collective_of(kind_);
    call.input = reinterpret_cast<const std::byte*>(input_.data());
    call.output = reinterpret_cast<std::byte*>(output_.data());
    call.elements = bytes / word_bytes;
    call.element_bytes = word_bytes;
    call.reducer = {&or_words, nullptr};
    if (kind_ == CallKind::bcast || kind_ == CallKind::reduce) {
      call.counts.assign(static_cast<std::size_t>(ranks_), 0);
      call.counts.front() = call.elements;
      std::vector<std::int64_t>& offsets = kind_ == CallKind::bcast ? call.output_offsets : call.input_offsets;
      offsets.assign(static_cast<std::size_t>(ranks_), 0);
    }
    return communicator_.run(call, {&progress_mpi});
  }

  bool native(std::int64_t bytes) {
    const auto type = OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_byte);
    const auto op = OMPI_PREDEFINED_GLOBAL(MPI_Op, ompi_mpi_op_bor);
    const int count = static_cast<int>(bytes);
    switch (kind_) {
      case CallKind::allreduce:
        return PMPI_Allreduce(input_.data(), output_.data(), count, type, op, comm_) == MPI_SUCCESS;
      case CallKind::allgather:
        return PMPI_Allgather(input_.data(), count, type, output_.data(), count, type, comm_) == MPI_SUCCESS;
      case CallKind::alltoall:
        return PMPI_Alltoall(input_.data(), count, type, output_.data(), count, type, comm_) == MPI_SUCCESS;
      case CallKind::reduce_scatter_block:
        return PMPI_Reduce_scatter_block(input_.data(), output_.data(), count, type, op, comm_) == MPI_SUCCESS;
      case CallKind::bcast:
        return PMPI_Bcast(output_.data(), count, type, 0, comm_) == MPI_SUCCESS;
      case CallKind::reduce:
        return PMPI_Reduce(input_.data(), output_.data(), count, type, op, 0, comm_) == MPI_SUCCESS;
      default:
        return false;
    }
  }

 private:
  Communicator& communicator_;
  const CallKind kind_;
  const MPI_Comm comm_;
  const std::int64_t ranks_;
  std::vector<std::uint64_t> input_;
  std::vector<std::uint64_t> output_;
};

/// Calls whose size is known to be equal on all ranks.
bool can_be_tried(CallKind kind) {
  constexpr std::array kinds{CallKind::allreduce, CallKind::allgather,
                             CallKind::alltoall,  CallKind::reduce_scatter_block,
                             CallKind::bcast,     CallKind::reduce};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

CrossoverPlace place_of(Runtime& process, const CommunicatorState& state, CallKind kind) {
  CrossoverPlace place;
  const Collective collective = *collective_of(kind);
  const std::string& directory = process.config().cache_dir;
  place.directory = directory.empty() ? default_cache_dir() : directory;
  place.plan_file = plan_file_name(process.topology(), collective, algorithm_setting(process.config(), collective));
  place.call = kind;
  place.ranks = state.communicator->size();
  place.nodes = state.communicator->nodes();
  place.transport = process.transport().name();
  return place;
}

/// The same on all ranks; collective.
std::int64_t obtain(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm) {
  MpiHost host(comm);
  const bool root = host.rank() == 0;
  const CrossoverPlace place = root ? place_of(process, state, kind) : CrossoverPlace();
  std::int64_t known = root ? load_crossover(place).value_or(not_tried) : not_tried;
  if (!host.broadcast(&known, sizeof known)) return never_native;
  if (known != not_tried) return known;
  // These calls are not the program's.
  state.communicator->keep_record(nullptr);
  Trial trial(*state.communicator, kind, comm);
  const Contest contest{[&](std::int64_t bytes) { return trial.plan(bytes); },
                        [&](std::int64_t bytes) { return trial.native(bytes); }, trial.largest_bytes(),
                        budget_nanoseconds, &steady_nanoseconds};
  const std::optional<std::int64_t> found = find_crossover(host, contest);
  state.communicator->keep_record(state.record);
  if (root && found) {
    const Status stored = store_crossover(place, *found);
    if (!stored) log(LogLevel::info, "measured times not kept: " + stored.error().message);
  }
  return found.value_or(never_native);
}

}  // namespace

bool measured_to_native(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm, std::int64_t bytes) {
  if (!can_be_tried(kind)) return false;
  std::optional<std::int64_t>& up_to = state.native_up_to[static_cast<std::size_t>(kind)];
  if (!up_to) {
    up_to = obtain(process, state, kind, comm);
    const MpiHost host(comm);
    if (host.rank() == 0) {
      log(LogLevel::info, host.name() + ": " + std::string(to_string(kind)) +
                              (*up_to >= 0 ? " is left to MPI up to " + std::to_string(*up_to) + " bytes, as measured"
                                           : " is served at any size, as measured"));
    }
  }
  return bytes <= *up_to;
}

}  // namespace libcoll::pmpi

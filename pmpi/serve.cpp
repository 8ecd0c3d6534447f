#include "pmpi/serve.h"

#include <cstring>
#include <memory>

#include "libcoll/runtime/log.h"
#include "pmpi/operands.h"
#include "pmpi/process.h"

namespace libcoll::pmpi {
namespace {

/// Blocks are moved in words where their size allows, so that chunks begin at word boundaries.
constexpr std::int64_t word_bytes = 8;

std::optional<int> fall_through(Runtime& process, Collective collective, Reason reason) {
  process.statistics().count_fallen_through(collective, reason);
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace, std::string(to_string(collective)) + ": falls through, " + std::string(to_string(reason)));
  }
  return std::nullopt;
}

/// The communicator when it serves this collective; otherwise counts why not.
Communicator* find_communicator(Runtime& process, Collective collective, MPI_Comm comm) {
  CommunicatorState* state = state_of(process, comm);
  Reason reason = state == nullptr ? Reason::transport : state->obstacle;
  if (reason == Reason::count_) {
    MpiHost host(comm);
    reason = state->communicator->ready(collective, host);
  }
  if (reason == Reason::count_) return state->communicator.get();
  fall_through(process, collective, reason);
  return nullptr;
}

int raise(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

int run(Runtime& process, Communicator& communicator, const Call& call, MPI_Comm comm) {
  if (!communicator.run(call, {&progress_mpi})) {
    log(LogLevel::error, std::string(to_string(call.collective)) + ": a message could not be delivered");
    return raise(comm, MPI_ERR_OTHER);
  }
  process.statistics().count_served(call.collective);
  if (log_enabled(LogLevel::trace)) {
    log(LogLevel::trace, std::string(to_string(call.collective)) + ": served, " +
                             std::to_string(call.elements * call.element_bytes) + " bytes");
  }
  return MPI_SUCCESS;
}

/// Memory for packed data; not zeroed.
std::unique_ptr<std::byte[]> make_buffer(std::int64_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
}

/// Allgather and all-to-all: blocks of equal size per rank.
struct BlockArguments {
  Collective collective;
  const void* send_buffer;
  std::int64_t send_count;
  MPI_Datatype send_type;
  void* receive_buffer;
  std::int64_t receive_count;
  MPI_Datatype receive_type;
  MPI_Comm comm;

  [[nodiscard]] bool in_place() const { return send_buffer == MPI_IN_PLACE; }
  [[nodiscard]] bool plausible() const {
    return comm != MPI_COMM_NULL && receive_count >= 0 && receive_type != MPI_DATATYPE_NULL &&
           (in_place() || (send_count >= 0 && send_type != MPI_DATATYPE_NULL));
  }
};

/// Contiguous images of the user's buffers; the buffers themselves where they are contiguous.
struct BlockImages {
  std::unique_ptr<std::byte[]> input_memory;
  std::unique_ptr<std::byte[]> output_memory;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// The input as the executor wants it. In place, an allgather's input is its own block of the output; an
/// all-to-all's is a copy, for its blocks are overwritten while they wait to be sent.
bool prepare_input(const BlockArguments& call, std::int64_t block_bytes, std::int64_t ranks, std::int64_t rank,
                   BlockImages& images) {
  const bool alltoall = call.collective == Collective::alltoall;
  const std::int64_t blocks = alltoall ? ranks : 1;
  const std::int64_t input_bytes = blocks * block_bytes;
  if (!call.in_place()) {
    if (is_contiguous(call.send_type)) {
      images.input = static_cast<const std::byte*>(call.send_buffer);
      return true;
    }
    images.input_memory = make_buffer(input_bytes);
    images.input = images.input_memory.get();
    return pack(call.send_buffer, blocks * call.send_count, call.send_type, images.input_memory.get(), call.comm);
  }
  const std::int64_t first_element = alltoall ? 0 : rank * call.receive_count;
  const std::byte* own =
      static_cast<const std::byte*>(call.receive_buffer) + first_element * extent_of(call.receive_type);
  const bool contiguous = is_contiguous(call.receive_type);
  if (!alltoall && contiguous) {
    images.input = own;
    return true;
  }
  images.input_memory = make_buffer(input_bytes);
  images.input = images.input_memory.get();
  if (!contiguous)
    return pack(own, blocks * call.receive_count, call.receive_type, images.input_memory.get(), call.comm);
  std::memcpy(images.input_memory.get(), own, static_cast<std::size_t>(input_bytes));
  return true;
}

int run_blocks(Runtime& process, Communicator& communicator, const BlockArguments& call, std::int64_t block_bytes) {
  const MpiHost host(call.comm);
  const std::int64_t ranks = host.size();
  BlockImages images;
  if (!prepare_input(call, block_bytes, ranks, host.rank(), images)) return raise(call.comm, MPI_ERR_TYPE);
  const bool contiguous = is_contiguous(call.receive_type);
  if (contiguous) {
    images.output = static_cast<std::byte*>(call.receive_buffer);
  } else {
    images.output_memory = make_buffer(ranks * block_bytes);
    images.output = images.output_memory.get();
  }
  const std::int64_t element_bytes = block_bytes % word_bytes == 0 ? word_bytes : 1;
  const int code =
      run(process, communicator,
          {call.collective, images.input, images.output, block_bytes / element_bytes, element_bytes, {}}, call.comm);
  if (code != MPI_SUCCESS || contiguous) return code;
  const bool unpacked =
      unpack(images.output, call.receive_buffer, ranks * call.receive_count, call.receive_type, call.comm);
  return unpacked ? MPI_SUCCESS : raise(call.comm, MPI_ERR_TYPE);
}

std::optional<int> serve_blocks(const BlockArguments& call) {
  Runtime* process = runtime();
  if (process == nullptr) return std::nullopt;
  if (!call.plausible()) return fall_through(*process, call.collective, Reason::bad_arguments);
  // MPI demands that what a rank receives of each other is as long everywhere.
  const std::int64_t block_bytes = call.receive_count * size_of(call.receive_type);
  if (block_bytes == 0) return fall_through(*process, call.collective, Reason::no_bytes);
  Communicator* communicator = find_communicator(*process, call.collective, call.comm);
  if (communicator == nullptr) return std::nullopt;
  return run_blocks(*process, *communicator, call, block_bytes);
}

std::optional<int> try_allreduce(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype datatype,
                                 MPI_Op op, MPI_Comm comm) {
  constexpr Collective collective = Collective::allreduce;
  Runtime* process = runtime();
  if (process == nullptr) return std::nullopt;
  if (comm == MPI_COMM_NULL || count < 0 || datatype == MPI_DATATYPE_NULL || op == MPI_OP_NULL) {
    return fall_through(*process, collective, Reason::bad_arguments);
  }
  if (count == 0) return fall_through(*process, collective, Reason::no_bytes);
  Reduction reduction;
  const ReductionKind kind = classify(op, datatype, reduction);
  if (kind == ReductionKind::user_operation) return fall_through(*process, collective, Reason::user_operation);
  if (kind == ReductionKind::undefined) return fall_through(*process, collective, Reason::unsupported_type);
  Communicator* communicator = find_communicator(*process, collective, comm);
  if (communicator == nullptr) return std::nullopt;
  const void* input = send_buffer == MPI_IN_PLACE ? receive_buffer : send_buffer;
  return run(*process, *communicator,
             {collective, static_cast<const std::byte*>(input), static_cast<std::byte*>(receive_buffer), count,
              reduction.element_bytes, reduction.reducer()},
             comm);
}

/// What an exception (out of memory) becomes at the C border.
template <class Body>
std::optional<int> guarded(MPI_Comm comm, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return raise(comm, MPI_ERR_NO_MEM);
  }
}

}  // namespace

std::optional<int> serve_allreduce(const void* send_buffer, void* receive_buffer, int count, MPI_Datatype datatype,
                                   MPI_Op op, MPI_Comm comm) noexcept {
  return guarded(comm, [&] { return try_allreduce(send_buffer, receive_buffer, count, datatype, op, comm); });
}

std::optional<int> serve_allgather(const void* send_buffer, int send_count, MPI_Datatype send_type,
                                   void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                                   MPI_Comm comm) noexcept {
  return guarded(comm, [&] {
    return serve_blocks(
        {Collective::allgather, send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm});
  });
}

std::optional<int> serve_alltoall(const void* send_buffer, int send_count, MPI_Datatype send_type, void* receive_buffer,
                                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm) noexcept {
  return guarded(comm, [&] {
    return serve_blocks(
        {Collective::alltoall, send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, comm});
  });
}

}  // namespace libcoll::pmpi

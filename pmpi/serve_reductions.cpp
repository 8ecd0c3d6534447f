// Calls that reduce: allreduce, reduce_scatter(_block), reduce.
#include <cstring>
#include <numeric>

#include "pmpi/operands.h"
#include "pmpi/serve.h"
#include "pmpi/serving.h"

namespace libcoll::pmpi {
namespace {

struct ReductionArguments {
  CallKind kind;
  const void* send_buffer;
  void* receive_buffer;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;

  [[nodiscard]] bool in_place() const { return send_buffer == MPI_IN_PLACE; }
  [[nodiscard]] const std::byte* input() const {
    return static_cast<const std::byte*>(in_place() ? receive_buffer : send_buffer);
  }
  [[nodiscard]] std::byte* output() const { return static_cast<std::byte*>(receive_buffer); }
};

/// What a call that is served needs; without a communicator it falls through, and why is counted.
struct Preparation {
  Runtime* process = nullptr;
  Reduction reduction;
  Communicator* communicator = nullptr;
};

Reason obstacle_of(const ReductionArguments& arguments, bool plausible, bool empty, Reduction& reduction) {
  if (!plausible || arguments.comm == MPI_COMM_NULL || arguments.type == MPI_DATATYPE_NULL ||
      arguments.op == MPI_OP_NULL) {
    return Reason::bad_arguments;
  }
  if (empty) return Reason::no_bytes;
  switch (classify(arguments.op, arguments.type, reduction)) {
    case ReductionKind::user_operation:
      return Reason::user_operation;
    case ReductionKind::undefined:
      return Reason::unsupported_type;
    case ReductionKind::predefined:
      break;
  }
  return Reason::count_;
}

/// Looks at what MPI demands to be equal on all ranks: operation, datatype, and how much there is to reduce where one
/// number says so.
Preparation prepare(const ReductionArguments& arguments, bool plausible, std::optional<std::int64_t> elements) {
  Preparation result;
  result.process = runtime();
  if (result.process == nullptr) return result;
  const Reason obstacle = obstacle_of(arguments, plausible, elements == 0, result.reduction);
  if (obstacle == Reason::count_) {
    std::optional<std::int64_t> bytes = elements;
    if (bytes) *bytes *= result.reduction.element_bytes;
    result.communicator = find_communicator(*result.process, arguments.kind, arguments.comm, bytes);
  } else {
    fall_through(*result.process, arguments.kind, obstacle);
  }
  return result;
}

Call make_call(Collective collective, const ReductionArguments& arguments, const Reduction& reduction) {
  Call call;
  call.collective = collective;
  call.input = arguments.input();
  call.output = arguments.output();
  call.element_bytes = reduction.element_bytes;
  call.reducer = reduction.reducer();
  return call;
}

/// In place, the own block of the result of a reduce-scatter goes to the beginning of the input. On rank 0 that is
/// where its own block of the input was; on the others data lies there that may still have to be sent, so their result
/// waits elsewhere. So does one whose elements have gaps, for what the program keeps in these is not ours to change.
int run_reduction(const Preparation& ready, const ReductionArguments& arguments, Call call, std::int64_t own_elements) {
  const bool is_scattered =
      arguments.kind == CallKind::reduce_scatter || arguments.kind == CallKind::reduce_scatter_block;
  const bool waits = is_scattered && arguments.in_place() && MpiHost(arguments.comm).rank() != 0;
  if (!waits && !has_gaps(ready.reduction)) {
    return run(*ready.process, *ready.communicator, arguments.kind, call, arguments.comm);
  }
  const std::unique_ptr<std::byte[]> result = make_buffer(own_elements * call.element_bytes);
  call.output = result.get();
  const int code = run(*ready.process, *ready.communicator, arguments.kind, call, arguments.comm);
  if (code != MPI_SUCCESS) return code;
  const bool copied = copy_elements(ready.reduction, result.get(), arguments.output(), own_elements, arguments.comm);
  return copied ? MPI_SUCCESS : raise(arguments.comm, MPI_ERR_TYPE);
}

std::optional<int> try_allreduce(const ReductionArguments& arguments, int count) {
  const Preparation ready = prepare(arguments, count >= 0, count);
  if (ready.communicator == nullptr) return std::nullopt;
  Call call = make_call(Collective::allreduce, arguments, ready.reduction);
  call.elements = count;
  return run_reduction(ready, arguments, std::move(call), count);
}

std::optional<int> try_reduce_scatter_block(const ReductionArguments& arguments, int count) {
  const Preparation ready = prepare(arguments, count >= 0, count);
  if (ready.communicator == nullptr) return std::nullopt;
  Call call = make_call(Collective::reduce_scatter, arguments, ready.reduction);
  call.elements = count;
  return run_reduction(ready, arguments, std::move(call), count);
}

std::optional<int> try_reduce_scatter(const ReductionArguments& arguments, const int* counts) {
  const Preparation ready = prepare(arguments, counts != nullptr, std::nullopt);
  if (ready.communicator == nullptr) return std::nullopt;
  // Only now it is sure that the communicator is no inter-communicator, and how many counts there are.
  const MpiHost host(arguments.comm);
  Call call = make_call(Collective::reduce_scatter, arguments, ready.reduction);
  std::int64_t elements = 0;
  for (int rank = 0; rank < host.size(); ++rank) {
    if (counts[rank] < 0) return fall_through(*ready.process, arguments.kind, Reason::bad_arguments);
    call.counts.push_back(counts[rank]);
    call.input_offsets.push_back(elements * call.element_bytes);
    elements += counts[rank];
  }
  if (elements == 0) return fall_through(*ready.process, arguments.kind, Reason::no_bytes);
  return run_reduction(ready, arguments, std::move(call), counts[host.rank()]);
}

/// A reduce-scatter in which the root alone receives something: at large sizes that is what one link carries, M/b.
std::optional<int> try_reduce(const ReductionArguments& arguments, int count, int root) {
  const Preparation ready = prepare(arguments, count >= 0, count);
  if (ready.communicator == nullptr) return std::nullopt;
  const MpiHost host(arguments.comm);
  const int ranks = host.size();
  if (root < 0 || root >= ranks) return fall_through(*ready.process, arguments.kind, Reason::bad_arguments);
  Call call = make_call(Collective::reduce_scatter, arguments, ready.reduction);
  call.counts.assign(static_cast<std::size_t>(ranks), 0);
  call.counts[static_cast<std::size_t>(root)] = count;
  call.input_offsets.assign(static_cast<std::size_t>(ranks), 0);
  return run_reduction(ready, arguments, std::move(call), host.rank() == root ? count : 0);
}

}  // namespace

std::optional<int> serve_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                   MPI_Comm comm) noexcept {
  return guarded(comm, [&] {
    return try_allreduce({CallKind::allreduce, sendbuf, recvbuf, datatype, op, comm}, count);
  });
}

std::optional<int> serve_reduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts,
                                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) noexcept {
  return guarded(comm, [&] {
    return try_reduce_scatter({CallKind::reduce_scatter, sendbuf, recvbuf, datatype, op, comm}, recvcounts);
  });
}

std::optional<int> serve_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                              MPI_Op op, MPI_Comm comm) noexcept {
  return guarded(comm, [&] {
    return try_reduce_scatter_block({CallKind::reduce_scatter_block, sendbuf, recvbuf, datatype, op, comm}, recvcount);
  });
}

std::optional<int> serve_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                int root, MPI_Comm comm) noexcept {
  return guarded(comm, [&] {
    return try_reduce({CallKind::reduce, sendbuf, recvbuf, datatype, op, comm}, count, root);
  });
}

}  // namespace libcoll::pmpi

// Calls that reduce: allreduce, reduce_scatter(_block), reduce.

#include <optional>

#include "libcoll/serve/mpi_host.h"
#include "libcoll/serve/operands.h"
#include "libcoll/serve/process.h"
#include "libcoll/serve/serve.h"
#include "libcoll/serve/serving.h"

namespace libcoll::serve {

using namespace comm;
using namespace execute;
using namespace observe;
using namespace schedule;

namespace {

struct ReductionArguments {
  const CallContext& context;
  const void* send_buffer;
  void* receive_buffer;
  MpiDatatype type;
  MpiOp op;

  [[nodiscard]] bool in_place() const { return send_buffer == mpi.in_place; }
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

std::optional<Reason> obstacle_of(const ReductionArguments& arguments, bool plausible, bool empty,
                                  Reduction& reduction) {
  if (!plausible || arguments.context.comm == mpi.comm_null || arguments.type == mpi.datatype_null ||
      arguments.op == mpi.op_null) {
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
  return std::nullopt;
}

/// Where no one number says how much there is to reduce.
constexpr std::int64_t unknown_elements = -1;

/// Looks at what MPI demands to be equal on all ranks: operation, datatype, and how much there is to reduce, as one
/// number says it or `counts`.
Preparation prepare(const ReductionArguments& arguments, bool plausible, std::int64_t elements, Integers counts = {}) {
  Preparation result;
  result.process = runtime();
  if (result.process == nullptr) return result;
  const std::optional<Reason> obstacle = obstacle_of(arguments, plausible, elements == 0, result.reduction);
  if (!obstacle) {
    const std::int64_t bytes = elements == unknown_elements ? unknown_bytes : elements * result.reduction.element_bytes;
    CallContext context = arguments.context;
    context.order_matters = result.reduction.order_matters;
    context.calls_mpi = result.reduction.kernel == nullptr;
    context.blocks = {counts, result.reduction.element_bytes};
    result.communicator =
        find_communicator(*result.process, context, {arguments.send_buffer, arguments.receive_buffer}, bytes);
  } else {
    fall_through(*result.process, arguments.context, *obstacle);
  }
  return result;
}

class ReductionOperands final : public Operands {
 public:
  ReductionOperands(Collective collective, const ReductionArguments& arguments, const Reduction& reduction)
      : reduction_(reduction), user_output_(arguments.output()) {
    prepared.collective = collective;
    prepared.input = arguments.input();
    prepared.output = arguments.output();
    prepared.element_bytes = reduction.element_bytes;
    prepared.reducer = reduction_.reducer();
    prepared.order_matters = reduction.order_matters;
  }

  /// The result waits in memory of ours until the input is no longer needed.
  void set_result_aside(std::int64_t elements) {
    elements_aside_ = elements;
    aside_ = make_buffer(elements * reduction_.element_bytes);
    prepared.output = aside_.get();
  }

  Call call() override { return std::move(prepared); }
  [[nodiscard]] bool are_in_program(Reduction& reduction) const override {
    reduction = reduction_;
    return aside_ == nullptr;
  }
  bool finish(MpiComm comm) override {
    return aside_ == nullptr || copy_elements(reduction_, aside_.get(), user_output_, elements_aside_, comm);
  }

  Call prepared;

 private:
  Reduction reduction_;
  std::byte* user_output_;
  std::unique_ptr<std::byte[]> aside_;
  std::int64_t elements_aside_ = 0;
};

using OperandsPointer = std::unique_ptr<ReductionOperands>;

OperandsPointer make_operands(Collective collective, const ReductionArguments& arguments, const Preparation& ready) {
  return std::make_unique<ReductionOperands>(collective, arguments, ready.reduction);
}

/// In place, the own block of the result of a reduce-scatter goes to the beginning of the input. On rank 0 that is
/// where its own block of the input was; on the others data lies there that may still have to be sent, so their result
/// waits elsewhere. So does one whose elements have gaps, for what the program keeps in these is not ours to change.
std::optional<int> run_reduction(const Preparation& ready, const ReductionArguments& arguments,
                                 OperandsPointer operands, std::int64_t own_elements) {
  const CallKind kind = blocking_variant(arguments.context.kind);
  const bool is_scattered = kind == CallKind::reduce_scatter || kind == CallKind::reduce_scatter_block;
  const bool waits = is_scattered && arguments.in_place() && MpiHost(arguments.context.comm).rank() != 0;
  if (waits || has_gaps(ready.reduction)) operands->set_result_aside(own_elements);
  return run(*ready.process, *ready.communicator, arguments.context, std::move(operands));
}

}  // namespace

std::optional<int> try_allreduce(const CallContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                                 MpiDatatype datatype, MpiOp op, MpiComm) {
  const ReductionArguments arguments{context, sendbuf, recvbuf, datatype, op};
  const Preparation ready = prepare(arguments, count >= 0, count);
  if (ready.communicator == nullptr) return std::nullopt;
  OperandsPointer operands = make_operands(Collective::allreduce, arguments, ready);
  operands->prepared.elements = count;
  return run_reduction(ready, arguments, std::move(operands), count);
}

std::optional<int> try_reduce_scatter_block(const CallContext& context, const void* sendbuf, void* recvbuf,
                                            std::int64_t recvcount, MpiDatatype datatype, MpiOp op, MpiComm) {
  const ReductionArguments arguments{context, sendbuf, recvbuf, datatype, op};
  const Preparation ready = prepare(arguments, recvcount >= 0, recvcount);
  if (ready.communicator == nullptr) return std::nullopt;
  OperandsPointer operands = make_operands(Collective::reduce_scatter, arguments, ready);
  operands->prepared.elements = recvcount;
  return run_reduction(ready, arguments, std::move(operands), recvcount);
}

std::optional<int> try_reduce_scatter(const CallContext& context, const void* sendbuf, void* recvbuf,
                                      Integers recvcounts, MpiDatatype datatype, MpiOp op, MpiComm comm) {
  const ReductionArguments arguments{context, sendbuf, recvbuf, datatype, op};
  const Preparation ready = prepare(arguments, recvcounts.given(), unknown_elements, recvcounts);
  if (ready.communicator == nullptr || !recvcounts.given()) return std::nullopt;
  // Only now it is sure that the communicator is no inter-communicator, and how many counts there are.
  const MpiHost host(comm);
  OperandsPointer operands = make_operands(Collective::reduce_scatter, arguments, ready);
  Call& call = operands->prepared;
  std::int64_t elements = 0;
  for (int rank = 0; rank < host.size(); ++rank) {
    if (recvcounts[rank] < 0) return fall_through(*ready.process, context, Reason::bad_arguments);
    call.counts.push_back(recvcounts[rank]);
    call.input_offsets.push_back(elements * call.element_bytes);
    elements += recvcounts[rank];
  }
  if (elements == 0) return fall_through(*ready.process, context, Reason::no_bytes);
  return run_reduction(ready, arguments, std::move(operands), recvcounts[host.rank()]);
}

/// A reduce-scatter in which the root alone receives something: as run_bcast(), backwards.
std::optional<int> try_reduce(const CallContext& context, const void* sendbuf, void* recvbuf, std::int64_t count,
                              MpiDatatype datatype, MpiOp op, int root, MpiComm comm) {
  const ReductionArguments arguments{context, sendbuf, recvbuf, datatype, op};
  const Preparation ready = prepare(arguments, count >= 0, count);
  if (ready.communicator == nullptr) return std::nullopt;
  const MpiHost host(comm);
  const int ranks = host.size();
  if (root < 0 || root >= ranks) return fall_through(*ready.process, context, Reason::bad_arguments);
  OperandsPointer operands = make_operands(Collective::reduce_scatter, arguments, ready);
  Call& call = operands->prepared;
  call.is_rooted = true;
  call.root = root;
  call.elements = count;
  call.counts.assign(static_cast<std::size_t>(ranks), 0);
  call.counts[static_cast<std::size_t>(root)] = count;
  call.input_offsets.assign(static_cast<std::size_t>(ranks), 0);
  return run_reduction(ready, arguments, std::move(operands), host.rank() == root ? count : 0);
}

}  // namespace libcoll::serve

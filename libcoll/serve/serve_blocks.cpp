// Calls that move blocks and change nothing in them: allgather(v), alltoall(v, w), bcast.
#include <array>
#include <vector>

#include "libcoll/serve/blocks.h"
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

/// Blocks are moved in words where their sizes allow, so that chunks begin at word boundaries.
constexpr std::int64_t word_bytes = 8;

struct BlockCall {
  const CallContext& context;
  BlockList send;  ///< of no meaning in place
  BlockList receive;
  bool in_place;

  [[nodiscard]] std::array<const void*, 2> buffers() const {
    return {in_place ? nullptr : send.buffer, receive.buffer};
  }
  /// The blocking call that does the same.
  [[nodiscard]] CallKind kind() const { return blocking_variant(context.kind); }
  /// Blocks of other lengths for every pair of ranks.
  [[nodiscard]] bool exchanges_unequal() const {
    return kind() == CallKind::alltoallv || kind() == CallKind::alltoallw;
  }
};

/// The input as the executor wants it. In place, an allgather's input is its own block of the output; an all-to-all's
/// is a copy, for its blocks are overwritten while they wait to be sent. At the init of a persistent call there is
/// none.
struct Input {
  std::optional<Image> image;
  const std::byte* base = nullptr;
};

bool prepare_input(const BlockCall& call, Image& output, std::int64_t rank, Input& input) {
  const bool gathers = collective_of(call.kind()) == Collective::allgather;
  if (call.in_place && gathers) {
    input.base = output.base() + output.offset(rank);
    return call.context.is_init() || output.pack(rank, rank + 1, call.context.comm);
  }
  const BlockList& list = call.in_place ? call.receive : call.send;
  input.image.emplace(list, call.in_place);
  input.base = input.image->base();
  return call.context.is_init() || input.image->pack(0, list.number, call.context.comm);
}

std::vector<std::int64_t> offsets_of(const Image& image, std::int64_t blocks) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t block = 0; block < blocks; ++block) offsets.push_back(image.offset(block));
  return offsets;
}

/// Allgatherv: what every rank receives of each is the same everywhere.
void describe_gathered(const Image& output, std::int64_t ranks, Call& call) {
  bool words = true;
  for (std::int64_t rank = 0; rank < ranks; ++rank) words = words && output.bytes(rank) % word_bytes == 0;
  call.element_bytes = words ? word_bytes : 1;
  for (std::int64_t rank = 0; rank < ranks; ++rank) call.counts.push_back(output.bytes(rank) / call.element_bytes);
  call.output_offsets = offsets_of(output, ranks);
}

/// Alltoallv and alltoallw: a rank knows what it sends and what it receives, in bytes, for datatypes may differ between
/// the ranks.
void describe_exchanged(const Image& input, const Image& output, std::int64_t ranks, std::int64_t rank, Call& call) {
  call.counts.assign(static_cast<std::size_t>(ranks * ranks), 0);
  for (std::int64_t peer = 0; peer < ranks; ++peer) {
    call.counts[static_cast<std::size_t>(rank * ranks + peer)] = input.bytes(peer);
    call.counts[static_cast<std::size_t>(peer * ranks + rank)] = output.bytes(peer);
  }
  call.input_offsets = offsets_of(input, ranks);
  call.output_offsets = offsets_of(output, ranks);
}

void describe_equal(std::int64_t block_bytes, Call& call) {
  call.element_bytes = block_bytes % word_bytes == 0 ? word_bytes : 1;
  call.elements = block_bytes / call.element_bytes;
}

class BlockOperands final : public Operands {
 public:
  BlockOperands(const BlockList& receive, std::int64_t ranks) : output(receive), ranks_(ranks) {}

  Call call() override { return std::move(prepared); }
  [[nodiscard]] bool are_in_program(Reduction& /*reduction*/) const override {
    return !output.is_own_memory() && !(input.image && input.image->is_own_memory());
  }
  bool hold_types() override { return output.hold_types(); }
  bool finish(MpiComm comm) override { return output.unpack(0, ranks_, comm); }

  Image output;
  Input input;
  Call prepared;

 private:
  std::int64_t ranks_;
};

/// As far as hosts have to know the lengths of what they forward: the program leaves a persistent call's as they are,
/// and its init may wait for the others.
bool agree_counts(Communicator& communicator, const CallContext& context, Call& call) {
  if (context.is_start()) call.counts = context.persistence->counts;
  if (!context.is_init()) return true;
  MpiHost host(context.comm);
  if (!communicator.agree_counts(call, host)) return false;
  context.persistence->counts = call.counts;
  return true;
}

std::optional<int> run_blocks(Runtime& process, Communicator& communicator, const BlockCall& arguments) {
  const MpiHost host(arguments.context.comm);
  const std::int64_t ranks = host.size();
  const std::int64_t rank = host.rank();
  auto operands = std::make_unique<BlockOperands>(arguments.receive, ranks);
  const Image& output = operands->output;
  if (!prepare_input(arguments, operands->output, rank, operands->input)) {
    return raise(arguments.context.comm, mpi.err_type);
  }
  Call& call = operands->prepared;
  call.collective = *collective_of(arguments.kind());
  call.input = operands->input.base;
  call.output = output.base();
  if (arguments.exchanges_unequal()) {
    describe_exchanged(*operands->input.image, output, ranks, rank, call);
    if (!agree_counts(communicator, arguments.context, call)) return raise(arguments.context.comm, mpi.err_other);
  } else if (arguments.kind() == CallKind::allgatherv) {
    describe_gathered(output, ranks, call);
  } else {
    describe_equal(output.bytes(0), call);
  }
  return run(process, communicator, arguments.context, std::move(operands));
}

bool plausible(const BlockCall& call) {
  return call.context.comm != mpi.comm_null && call.receive.type != mpi.datatype_null &&
         (call.in_place || call.send.type != mpi.datatype_null);
}

/// Allgather and all-to-all: blocks of equal size per rank.
std::optional<int> serve_equal_blocks(BlockCall call) {
  Runtime* process = runtime();
  if (process == nullptr) return std::nullopt;
  if (!plausible(call) || call.receive.count < 0 || (!call.in_place && call.send.count < 0)) {
    return fall_through(*process, call.context, Reason::bad_arguments);
  }
  // MPI demands that what a rank receives of each other is as long everywhere.
  const std::int64_t bytes = call.receive.count * size_of(call.receive.type);
  if (bytes == 0) return fall_through(*process, call.context, Reason::no_bytes);
  Communicator* communicator = find_communicator(*process, call.context, call.buffers(), bytes);
  if (communicator == nullptr) return std::nullopt;
  call.receive.number = MpiHost(call.context.comm).size();
  if (call.kind() == CallKind::alltoall) call.send.number = call.receive.number;
  return run_blocks(*process, *communicator, call);
}

bool has_errors(const BlockList& list) { return list.has_negative_count() || list.has_null_type(); }

/// The program may free the types between the starts of a persistent call, and Fortran's are handles of C only while it
/// calls.
bool keep_types(BlockCall& call) {
  if (call.kind() != CallKind::alltoallw || call.context.persistence == nullptr) return true;
  Persistence& kept = *call.context.persistence;
  if (call.context.is_init() && ((!call.in_place && !kept.send_types.hold(call.send.types, call.send.number)) ||
                                 !kept.receive_types.hold(call.receive.types, call.receive.number))) {
    return false;
  }
  call.send.types = kept.send_types.data();
  call.receive.types = kept.receive_types.data();
  return true;
}

/// Allgatherv, alltoallv and alltoallw. How long the arrays are is known once the communicator is known to be no
/// inter-communicator.
std::optional<int> serve_unequal_blocks(BlockCall call) {
  Runtime* process = runtime();
  if (process == nullptr) return std::nullopt;
  const bool typed = call.kind() == CallKind::alltoallw;
  const auto given = [typed](const BlockList& list) {
    return list.counts.given() && list.displacements.given() && (!typed || list.types.given());
  };
  const bool exchanges = call.exchanges_unequal();
  if (!plausible(call) || !given(call.receive) || (exchanges && !call.in_place && !given(call.send))) {
    return fall_through(*process, call.context, Reason::bad_arguments);
  }
  CallContext context = call.context;
  if (!exchanges) context.blocks = {call.receive.counts, size_of(call.receive.type)};
  Communicator* communicator = find_communicator(*process, context, call.buffers());
  if (communicator == nullptr) return std::nullopt;
  call.receive.number = MpiHost(call.context.comm).size();
  if (exchanges) call.send.number = call.receive.number;
  if (!call.context.is_start() && (has_errors(call.receive) || (!call.in_place && has_errors(call.send)))) {
    return fall_through(*process, call.context, Reason::bad_arguments);
  }
  if (!keep_types(call)) return raise(call.context.comm, mpi.err_type);
  // Everybody knows when nothing is gathered; in an exchange somebody else may have something to send.
  if (!exchanges) {
    std::int64_t elements = 0;
    for (std::int64_t rank = 0; rank < call.receive.number; ++rank) elements += call.receive.count_of(rank);
    if (elements * size_of(call.receive.type) == 0) return fall_through(*process, call.context, Reason::no_bytes);
  }
  return run_blocks(*process, *communicator, call);
}

class BcastOperands final : public Operands {
 public:
  BcastOperands(const BlockList& list, bool is_root) : image(list), is_root_(is_root) {}

  Call call() override { return std::move(prepared); }
  [[nodiscard]] bool are_in_program(Reduction& /*reduction*/) const override { return !image.is_own_memory(); }
  bool hold_types() override { return is_root_ || image.hold_types(); }
  bool finish(MpiComm comm) override { return is_root_ || image.unpack(0, 1, comm); }

  Image image;
  Call prepared;

 private:
  bool is_root_;
};

/// An allgather in which the root alone has something: every rank passes it on in segments along the root's trees. By
/// the usual plan that is what one link carries, M/b; by Blink's, at large sizes, what all links of the root carry,
/// M/B.
std::optional<int> run_bcast(Runtime& process, Communicator& communicator, const CallContext& context,
                             const BlockList& list, int root) {
  const MpiHost host(context.comm);
  const auto ranks = static_cast<std::size_t>(host.size());
  const bool is_root = host.rank() == root;
  auto operands = std::make_unique<BcastOperands>(list, is_root);
  Image& image = operands->image;
  if (is_root && !context.is_init() && !image.pack(0, 1, context.comm)) return raise(context.comm, mpi.err_type);
  Call& call = operands->prepared;
  call.collective = Collective::allgather;
  call.input = image.base();
  call.output = image.base();
  call.element_bytes = image.bytes(0) % word_bytes == 0 ? word_bytes : 1;
  call.is_rooted = true;
  call.root = root;
  call.elements = image.bytes(0) / call.element_bytes;
  call.counts.assign(ranks, 0);
  call.counts[static_cast<std::size_t>(root)] = call.elements;
  call.output_offsets.assign(ranks, 0);
  return run(process, communicator, context, std::move(operands));
}

void* writable(const void* buffer) { return const_cast<void*>(buffer); }  // only ever read through a send list

}  // namespace

std::optional<int> try_allgather(const CallContext& context, const void* sendbuf, std::int64_t sendcount,
                                 MpiDatatype sendtype, void* recvbuf, std::int64_t recvcount, MpiDatatype recvtype,
                                 MpiComm) {
  return serve_equal_blocks({context,
                             {writable(sendbuf), sendtype, 1, sendcount},
                             {recvbuf, recvtype, 0, recvcount},
                             sendbuf == mpi.in_place});
}

std::optional<int> try_alltoall(const CallContext& context, const void* sendbuf, std::int64_t sendcount,
                                MpiDatatype sendtype, void* recvbuf, std::int64_t recvcount, MpiDatatype recvtype,
                                MpiComm) {
  return serve_equal_blocks({context,
                             {writable(sendbuf), sendtype, 0, sendcount},
                             {recvbuf, recvtype, 0, recvcount},
                             sendbuf == mpi.in_place});
}

std::optional<int> try_allgatherv(const CallContext& context, const void* sendbuf, std::int64_t sendcount,
                                  MpiDatatype sendtype, void* recvbuf, Integers recvcounts, Integers displs,
                                  MpiDatatype recvtype, MpiComm) {
  return serve_unequal_blocks({context,
                               {writable(sendbuf), sendtype, 1, sendcount},
                               {recvbuf, recvtype, 0, 0, recvcounts, displs},
                               sendbuf == mpi.in_place});
}

std::optional<int> try_alltoallv(const CallContext& context, const void* sendbuf, Integers sendcounts, Integers sdispls,
                                 MpiDatatype sendtype, void* recvbuf, Integers recvcounts, Integers rdispls,
                                 MpiDatatype recvtype, MpiComm) {
  return serve_unequal_blocks({context,
                               {writable(sendbuf), sendtype, 0, 0, sendcounts, sdispls},
                               {recvbuf, recvtype, 0, 0, recvcounts, rdispls},
                               sendbuf == mpi.in_place});
}

std::optional<int> try_alltoallw(const CallContext& context, const void* sendbuf, Integers sendcounts, Integers sdispls,
                                 MpiDatatypes sendtypes, void* recvbuf, Integers recvcounts, Integers rdispls,
                                 MpiDatatypes recvtypes, MpiComm) {
  return serve_unequal_blocks({context,
                               {writable(sendbuf), mpi.byte_type, 0, 0, sendcounts, sdispls, sendtypes},
                               {recvbuf, mpi.byte_type, 0, 0, recvcounts, rdispls, recvtypes},
                               sendbuf == mpi.in_place});
}

std::optional<int> try_bcast(const CallContext& context, void* buffer, std::int64_t count, MpiDatatype datatype,
                             int root, MpiComm comm) {
  Runtime* process = runtime();
  if (process == nullptr) return std::nullopt;
  if (comm == mpi.comm_null || datatype == mpi.datatype_null || count < 0) {
    return fall_through(*process, context, Reason::bad_arguments);
  }
  // As long everywhere, by MPI's rule, whatever the datatypes.
  const std::int64_t bytes = count * size_of(datatype);
  if (bytes == 0) return fall_through(*process, context, Reason::no_bytes);
  Communicator* communicator = find_communicator(*process, context, {buffer, nullptr}, bytes);
  if (communicator == nullptr) return std::nullopt;
  if (root < 0 || root >= MpiHost(comm).size()) return fall_through(*process, context, Reason::bad_arguments);
  return run_bcast(*process, *communicator, context, {buffer, datatype, 1, count}, root);
}

}  // namespace libcoll::serve

// What serving a call takes, whatever collective it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "libcoll/comm/runtime.h"
#include "libcoll/serve/operands.h"
#include "libcoll/serve/serve.h"

namespace libcoll::serve {

/// Counts why the call falls through, and returns nothing. The init of a persistent call keeps it for its starts.
std::optional<int> fall_through(comm::Runtime& process, const CallContext& context, observe::Reason reason,
                                std::int64_t bytes = observe::unknown_bytes);

/// The communicator when it serves this call; otherwise null, and why not is counted. Collective at the first blocking
/// call of a communicator and of each plan, and at the init of a persistent call; nonblocking calls are served when
/// such a call came before. `bytes` is the call's size for the tuning table, where it is equal on all ranks. `buffers`:
/// the call's, for where memory of a GPU is possible.
comm::Communicator* find_communicator(comm::Runtime& process, const CallContext& context,
                                      const std::array<const void*, 2>& buffers,
                                      std::int64_t bytes = observe::unknown_bytes);

/// Has MPI's error handler called; returns the code.
int raise(MpiComm comm, int code);
/// The same for a served call that has no result, and says so in the log.
int raise_failed(CallKind kind, MpiComm comm);

/// What the statistics keep of a call that is served, besides that it was.
struct Served {
  CallKind kind;
  observe::CommunicatorRecord* record = nullptr;  ///< null: nobody wants to know
  std::int64_t bytes = 0;
  std::int64_t began = 0;  ///< steady_nanoseconds()
  observe::CallProtocol protocol = {};
};

/// Of the call that this thread is in and that find_communicator() found one for. Bytes are those of the vector
/// (allreduce, bcast, reduce, reduce_scatter, allgatherv), of a block, or of all that this rank sends (alltoallv).
Served served_call(comm::Runtime& process, const comm::Communicator& communicator, const CallContext& context,
                   const execute::Call& call);

/// Says at trace level that the call is served, its size and which way it goes.
void trace_served(CallKind kind, const execute::Call& call, const comm::Communicator& communicator);

/// The call has come to its end.
void record_end(comm::Runtime& process, const Served& served) noexcept;

/// The operands of a call that is served, as the executor wants them.
class Operands {
 public:
  virtual ~Operands() = default;
  /// Refers to these operands. Once.
  virtual execute::Call call() = 0;
  /// The program may free its datatypes before finish(). False when MPI reports an error.
  virtual bool hold_types() { return true; }
  /// Whether the call works in the program's own buffers. A call like it then needs no operands but `reduction`, which
  /// is set where it reduces.
  [[nodiscard]] virtual bool are_in_program(Reduction& reduction) const = 0;
  /// Brings the result to where the program wants it. False when MPI reports an error.
  virtual bool finish(MpiComm) { return true; }
};

/// Runs the call, or begins it, and counts it as served; nothing is run at the init of a persistent one. MPI's return
/// code; nothing where the call turns out to be MPI's.
std::optional<int> run(comm::Runtime& process, comm::Communicator& communicator, const CallContext& context,
                       std::unique_ptr<Operands> operands);

/// Memory that is not zeroed.
std::unique_ptr<std::byte[]> make_buffer(std::int64_t bytes);

/// What an exception (out of memory) becomes at the C border.
template <class Body>
std::optional<int> guarded(MpiComm comm, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return raise(comm, mpi.err_no_mem);
  }
}

}  // namespace libcoll::serve

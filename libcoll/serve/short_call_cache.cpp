#include "libcoll/serve/short_call_cache.h"

#include "libcoll/comm/runtime.h"
#include "libcoll/execute/call.h"
#include "libcoll/serve/process.h"
#include "libcoll/serve/serving.h"

namespace libcoll::serve {

using namespace execute;
using namespace schedule;

std::optional<int> run_again(const CachedShortCall& cached, const void* send_buffer, void* receive_buffer) noexcept {
  // The entry may be replaced while MPI makes progress in the call.
  const CachedShortCall again = cached;
  Call call;
  call.collective = again.collective;
  call.output = static_cast<std::byte*>(receive_buffer);
  call.elements = again.elements;
  call.element_bytes = again.element_bytes;
  call.is_rooted = again.is_rooted;
  call.root = again.root;
  call.reducer = again.reduction.reducer();
  call.input = static_cast<const std::byte*>(send_buffer);
  if (again.is_rooted && again.collective == Collective::allgather) {
    call.input = call.output;  // a broadcast's one buffer
  } else if (again.call.in_place) {
    const std::int64_t own_block = again.communicator->rank() * again.elements * again.element_bytes;
    call.input = call.output + (again.collective == Collective::allgather ? own_block : 0);
  }
  const MpiComm comm{again.call.comm};
  try {
    if (!again.communicator->run_through_memory(call, {&progress_mpi})) {
      if (again.communicator->leaves_to_mpi()) return std::nullopt;
      return raise_failed(again.call.kind, comm);
    }
  } catch (...) {
    return raise(comm, mpi.err_no_mem);
  }
  runtime()->statistics().count_served(again.call.kind);
  return mpi_success;
}

}  // namespace libcoll::serve

// Memory of a GPU that the program passes to MPI. libcoll moves bytes of the host only.
#pragma once

namespace libcoll::serve {

/// Whether a runtime of CUDA or HIP is in this process: then its pointers may be a GPU's.
bool has_device_runtime();

/// Whether it says that the processor cannot read there. False for null, MPI_IN_PLACE, and where there is no runtime.
bool is_device_memory(const void* buffer);

}  // namespace libcoll::serve

/* What stands for the runtime of CUDA (STUB_CUDA_DRIVER, STUB_CUDA) or HIP (STUB_HIP): of these, the query alone. */
#include <stddef.h>
#include <stdint.h>

static char memory[4 << 20];
static size_t used;

void* stub_allocate(size_t bytes) {
  void* taken = memory + used;
  used += (bytes + 63) / 64 * 64;
  return used <= sizeof memory ? taken : NULL;
}

static int is_there(const void* pointer) {
  const uintptr_t place = (uintptr_t)pointer;
  return place >= (uintptr_t)memory && place < (uintptr_t)(memory + sizeof memory);
}

struct Attributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
};

enum { invalid_value = 1, memory_type = 2, device = 2 };

#if defined STUB_CUDA_DRIVER
/* cuda.h: CU_POINTER_ATTRIBUTE_MEMORY_TYPE is 2, CU_MEMORYTYPE_DEVICE is 2, CUDA_ERROR_INVALID_VALUE is 1. */
// NOLINTNEXTLINE(readability-identifier-naming): its name
int cuPointerGetAttribute(void* value, int attribute, uint64_t pointer) {
  if (attribute != memory_type || !is_there((const void*)(uintptr_t)pointer)) return invalid_value;
  *(unsigned*)value = device;
  return 0;
}
#elif defined STUB_CUDA
/* driver_types.h of CUDA 11 and on: host memory that CUDA does not know is type 0 and no error. */
// NOLINTNEXTLINE(readability-identifier-naming): its name
int cudaPointerGetAttributes(struct Attributes* attributes, const void* pointer) {
  *attributes = (struct Attributes){is_there(pointer) ? device : 0, 0, NULL, NULL};
  return 0;
}
#else
/* hip_runtime_api.h of ROCm 5: device memory is type 1, other memory an error. */
// NOLINTNEXTLINE(readability-identifier-naming): its name
int hipPointerGetAttributes(struct Attributes* attributes, const void* pointer) {
  if (!is_there(pointer)) return invalid_value;
  *attributes = (struct Attributes){1, 0, (void*)(uintptr_t)pointer, NULL};
  return 0;
}
#endif

// What the preloaded library finds in the core.
#include <string_view>

#include "libcoll/serve/core/ucx_functions.h"
#include "libcoll/serve/entries.h"
#include "libcoll/serve/mpi.h"
#include "libcoll/serve/next.h"
#include "libcoll/serve/process.h"
#include "libcoll/transport/ucx_library.h"
#include "libcoll/version.h"
#include "pmpi/core_interface.h"

extern "C" {

__attribute__((visibility("default"))) const libcoll_core* libcoll_open_core(const libcoll_preload* preload) {
  static const libcoll_core version_alone{LIBCOLL_VERSION, nullptr, nullptr, nullptr};
  if (preload->mpi == nullptr) return &version_alone;
  if (std::string_view(preload->version) != LIBCOLL_VERSION) return nullptr;
  libcoll::serve::preload = preload;
  if (libcoll::serve::find_mpi(*preload->mpi, preload->next_symbol) != nullptr) return nullptr;
  libcoll::transport::ucx_loader = &libcoll::serve::load_ucx;
  static const libcoll_core core{LIBCOLL_VERSION, libcoll::serve::intercepted_functions(), &libcoll::serve::after_init,
                                 &libcoll::serve::calls_served};
  return &core;
}

}  // extern "C"

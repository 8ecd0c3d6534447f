// What the preloaded library finds in the core.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "libcoll/base/config.h"
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
  if (std::string_view(preload->version) != LIBCOLL_VERSION) return nullptr;
  libcoll::serve::preload = preload;
  if (libcoll::serve::find_mpi(*preload->mpi, preload->next_symbol) != nullptr) return nullptr;
  libcoll::transport::ucx_loader = &libcoll::serve::load_ucx;
  static const libcoll_core core{libcoll::serve::intercepted_functions(), &libcoll::serve::after_init,
                                 &libcoll::serve::calls_served};
  return &core;
}

__attribute__((visibility("default"))) void libcoll_describe_settings(char* text, std::size_t size) try {
  const libcoll::Config config = libcoll::load_config(environ).config;
  std::string said = LIBCOLL_VERSION;
  if (config.enable && !config.topology.empty()) said += " serves";
  if (!config.stats.empty()) said += " reports";
  text[said.copy(text, size - 1)] = '\0';
} catch (...) {  // NOLINT(bugprone-empty-catch): no memory; what the preload itself has found stays
}

}  // extern "C"

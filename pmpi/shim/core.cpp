// What the preloaded library finds in the core.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "libcoll/base/config.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "libcoll/version.h"
#include "pmpi/core_interface.h"
#include "pmpi/shim/entries.h"
#include "pmpi/shim/mpi_functions.h"
#include "pmpi/shim/next.h"
#include "pmpi/shim/process.h"

extern "C" {

__attribute__((visibility("default"))) const libcoll_core* libcoll_open_core(const libcoll_preload* preload) {
  if (std::string_view(preload->version) != LIBCOLL_VERSION) return nullptr;
  libcoll::pmpi::preload = preload;
  if (libcoll_find_mpi_functions(preload->next_symbol) != nullptr) return nullptr;
  libcoll::transport::ucx::disable_ucx_signal_handlers();
  static const libcoll_core core{libcoll::pmpi::intercepted_functions(), &libcoll::pmpi::after_init,
                                 &libcoll::pmpi::calls_served};
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

// The second transport: libfabric's reliable datagrams with tagged messages, one endpoint per route class.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "libcoll/transport/library_version.h"
#include "libcoll/transport/transport.h"
#include "planner/schedule/route_binding.h"

namespace libcoll::transport::ofi {

struct OfiOptions {
  /// libfabric's name, as "tcp;ofi_rxm", "shm", "efa", "cxi" or "verbs;ofi_rxm"; empty: the first that libfabric offers
  /// among those that reach other nodes.
  std::string provider;
  /// A provider whose longest message is shorter is refused, in bytes.
  std::int64_t largest_message_bytes = 1;
  /// Register all memory ourselves, also when the provider does not ask for it.
  bool register_memory = false;
};

/// libfabric is loaded here (it need not be installed otherwise), and what it does to signal handlers is undone.
/// Settings come from libfabric's own environment (FI_TCP_IFACE, FI_PROVIDER, …), with a few more for its buffers over
/// tcp (OfiSettings). The setting NET_DEVICES of a route
/// class ("mlx5_1:1", "eth2") names its domain, without the port; a binding with any other setting is an error, as is
/// one by path indices. A binding without classes gives one class, 0.
///
/// Tags are libfabric's, whole: a provider that matches fewer than 64 bits is refused.
///
/// Memory is registered by the provider, with libfabric's own cache and monitor (FI_MR_CACHE_MONITOR), as far as any
/// provider does so. One that demands registered memory (FI_MR_LOCAL) gets it through a RegistrationCache.
Result<std::unique_ptr<Transport>> make_ofi_transport(const schedule::RouteBinding& binding, const OfiOptions& options);

/// Of the libfabric that make_ofi_transport() loads; nothing where there is none.
std::optional<LibraryVersion> ofi_version();

}  // namespace libcoll::transport::ofi

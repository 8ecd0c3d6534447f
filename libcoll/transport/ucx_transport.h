// The default transport: libucp, one context and one worker per process.
#pragma once

#include <memory>

#include "libcoll/transport/transport.h"

namespace libcoll {

/// Settings come from UCX's own environment (UCX_TLS, UCX_NET_DEVICES, …).
Result<std::unique_ptr<Transport>> make_ucx_transport();

/// UCX installs handlers for SIGSEGV and others when it is loaded; they are not ours to give to a user's
/// process. Call once, early.
void disable_ucx_signal_handlers() noexcept;

}  // namespace libcoll

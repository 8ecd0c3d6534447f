// The default transport: libucp, one context and one worker per route class.
#pragma once

#include <cstdint>
#include <memory>

#include "libcoll/transport/library_version.h"
#include "libcoll/transport/transport.h"
#include "planner/schedule/route_binding.h"

namespace libcoll::transport::ucx {

/// Other processes of the job on this host. UCX sets up shared memory for them: megabytes and milliseconds per class.
enum class HostMates : std::uint8_t { possible, none };

/// Settings come from UCX's own environment (UCX_TLS, UCX_NET_DEVICES, …), and for each class those of the binding over
/// them. A binding without classes gives one class, 0. Shared memory is no route: classes other than 0 do without,
/// unless the binding sets their TLS, and class 0 too where there are no mates. Errors name the class, the setting and
/// UCX's reason.
Result<std::unique_ptr<Transport>> make_ucx_transport(const schedule::RouteBinding& binding,
                                                      HostMates mates = HostMates::possible);

/// Of the UCX in this process.
LibraryVersion ucx_version() noexcept;

/// UCX installs handlers for SIGSEGV and others when it is loaded; they are not ours to give to a user's
/// process. Call once, early.
void disable_ucx_signal_handlers() noexcept;

}  // namespace libcoll::transport::ucx

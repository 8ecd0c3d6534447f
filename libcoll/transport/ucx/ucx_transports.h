// Which of UCX's transports a route class is given.
#pragma once

#include <string>
#include <string_view>

namespace libcoll::transport::ucx {

/// `transports` as UCX_TLS has them (names with commas between; after ^: those that are left out), without those over
/// shared memory. As they are where nothing would be left that reaches other hosts.
std::string without_shared_memory(std::string_view transports);

/// Whether TCP is among `transports` and has one of `devices` (as UCX_NET_DEVICES has them).
bool has_tcp(std::string_view transports, std::string_view devices);

/// Whether messages through queues in shared memory (System V's or POSIX) are among `transports`, and allowed by
/// `devices` (as UCX_SHM_DEVICES has them).
bool has_memory_queues(std::string_view transports, std::string_view devices);

}  // namespace libcoll::transport::ucx

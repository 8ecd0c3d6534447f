// Messages between ranks that live in one process: the executor's test bed, with threads or round robin.
#pragma once

#include <memory>
#include <vector>

#include "libcoll/transport/transport.h"

namespace libcoll::test {

/// One transport per rank, connected through memory. Addresses are the decimal ranks. Each transport may be
/// used by its own thread. Route classes are kept apart.
std::vector<std::unique_ptr<transport::Transport>> make_memory_transports(int ranks, std::int32_t route_classes = 1);

}  // namespace libcoll::test

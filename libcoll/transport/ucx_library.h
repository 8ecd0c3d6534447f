// UCX's libraries, where they are loaded only when its transports are asked for.
#pragma once

#include "planner/base/result.h"

namespace libcoll::transport {

/// Loads them, once, and finds the functions that libcoll calls. Null: they are linked. Set before any transport is
/// made.
inline Status (*ucx_loader)() = nullptr;

/// Before any function of UCX's is called. An error says what is missing.
inline Status require_ucx() { return ucx_loader == nullptr ? Status{} : ucx_loader(); }

}  // namespace libcoll::transport

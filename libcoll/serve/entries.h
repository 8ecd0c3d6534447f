// What the intercepted functions do once the core is loaded.
#pragma once

namespace libcoll::serve {

/// By libcoll_intercepted: functions with MPI's parameters and codes.
void* const* intercepted_functions();

}  // namespace libcoll::serve

// UCX's functions in the core, which does not link UCX: its libraries are memory that programs whose calls are not
// served have no use for, and hosts may have none.
#pragma once

#include "planner/base/result.h"

namespace libcoll::serve {

/// For transport::ucx_loader.
Status load_ucx();

}  // namespace libcoll::serve

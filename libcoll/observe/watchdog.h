// Tells of calls that stand still.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "libcoll/base/config.h"

namespace libcoll::observe {

/// Says once that nothing has moved for so long, as LIBCOLL_WATCHDOG_SECONDS has it; whether it has been said.
bool warn_of_silence(const Config& config, std::chrono::steady_clock::duration still,
                     const std::function<std::string()>& in_words);

}  // namespace libcoll::observe

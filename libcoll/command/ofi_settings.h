// What libfabric has to be told from outside to take little memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libcoll/runtime/config.h"

namespace libcoll::command {

/// Variables for processes that will use libfabric over tcp, by name and value: its layer for messages ("ofi_rxm") then
/// posts fewer and shorter receive buffers, which still take whole messages of any length. Other providers under that
/// layer cannot do with these, so that there are none unless the configuration names tcp; nor where the user has set
/// any such variable.
std::vector<std::pair<std::string, std::string>> ofi_settings(const Config& config);

}  // namespace libcoll::command

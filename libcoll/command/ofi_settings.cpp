#include "libcoll/command/ofi_settings.h"

#include <algorithm>
#include <cstdlib>

namespace libcoll::command {

std::vector<std::pair<std::string, std::string>> ofi_settings(const Config& config) {
  const bool over_tcp = config.ofi_provider == "tcp" || config.ofi_provider == "tcp;ofi_rxm";
  if (config.transport != "ofi" || !over_tcp) return {};
  // Some 60 bytes of a buffer are headers; longer messages, up to the limits, find their memory when they come.
  std::vector<std::pair<std::string, std::string>> settings = {{"FI_OFI_RXM_BUFFER_SIZE", "1024"},
                                                               {"FI_OFI_RXM_EAGER_LIMIT", "16384"},
                                                               {"FI_OFI_RXM_SAR_LIMIT", "16384"},
                                                               {"FI_OFI_RXM_MSG_RX_SIZE", "512"}};
  const bool users = std::any_of(settings.begin(), settings.end(),
                                 [](const auto& setting) { return std::getenv(setting.first.c_str()) != nullptr; });
  if (users) settings.clear();
  return settings;
}

}  // namespace libcoll::command

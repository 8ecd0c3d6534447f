#include "libcoll/observe/watchdog.h"

#include "libcoll/base/log.h"

namespace libcoll::observe {

bool warn_of_silence(const Config& config, std::chrono::steady_clock::duration still,
                     const std::function<std::string()>& in_words) {
  if (config.watchdog_seconds == 0 || still < std::chrono::seconds(config.watchdog_seconds)) return false;
  log(LogLevel::warn, in_words() + "; nothing has moved for " +
                          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(still).count()) + " s");
  return true;
}

}  // namespace libcoll::observe

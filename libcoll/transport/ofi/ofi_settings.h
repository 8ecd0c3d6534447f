// What libfabric has to be told from outside to take little memory.
#pragma once

#include <string>

namespace libcoll::transport::ofi {

/// While it lives, libfabric finds variables in the environment by which its layer for messages over tcp ("ofi_rxm")
/// posts fewer and shorter receive buffers, which still take whole messages of any length: 31 MiB in place of 415 for
/// four route classes. It has no other ears for them: its attributes and options say nothing of its own buffers. It
/// listens when it is used first in a process, and when endpoints are opened.
///
/// Other providers under that layer cannot do with these, so that nothing happens unless `provider` is tcp, or is empty
/// where there is no other network; nor where the user has set any such variable.
///
/// The environment is the program's. What is in it stays in place, and so does what other threads do to it meanwhile;
/// nobody who is reading it then or later finds memory that is gone. Two at a time are not meant to be.
class OfiSettings {
 public:
  explicit OfiSettings(const std::string& provider);
  OfiSettings(const OfiSettings&) = delete;
  OfiSettings& operator=(const OfiSettings&) = delete;
  ~OfiSettings();

 private:
  char** before_ = nullptr;
  char** extended_ = nullptr;  ///< null: nothing was changed
};

}  // namespace libcoll::transport::ofi

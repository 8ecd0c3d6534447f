#include "libcoll/transport/library_version.h"

#include <utility>

namespace libcoll::transport {
namespace {

std::string in_words(LibraryVersion version) {
  return std::to_string(version.major) + "." + (version.minor == any_minor ? "x" : std::to_string(version.minor));
}

}  // namespace

std::optional<VersionRemark> remark_on(const KnownLibrary& library, LibraryVersion found) {
  if (found >= library.oldest && found <= library.newest) return std::nullopt;
  const bool too_old = found < library.oldest;
  std::string text(library.name);
  text.append(": found ").append(in_words(found)).append(", expected ").append(in_words(library.oldest));
  text.append(" to ").append(in_words(library.newest));
  text += too_old ? ": calls may fail or be slow; LIBCOLL_TRANSPORT chooses another transport"
                  : ": it is used as the newest of these is";
  return VersionRemark{too_old, std::move(text)};
}

}  // namespace libcoll::transport

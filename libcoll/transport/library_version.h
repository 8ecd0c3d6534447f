// Which versions of the network libraries libcoll is written for, and what is said of others.
#pragma once

#include <compare>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace libcoll::transport {

struct LibraryVersion {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const LibraryVersion&) const = default;  // NOLINT(modernize-use-nullptr): there is none
};

inline constexpr unsigned any_minor = std::numeric_limits<unsigned>::max();

/// What is called is in all versions between, and no later header announces its end.
struct KnownLibrary {
  std::string_view name;
  LibraryVersion oldest;
  LibraryVersion newest;  ///< any_minor: all of that major version
};

inline constexpr KnownLibrary known_ucx{"UCX", {1, 13}, {1, 18}};
inline constexpr KnownLibrary known_libfabric{"libfabric", {1, 17}, {2, any_minor}};

struct VersionRemark {
  bool too_old = false;
  std::string text;  ///< what was found, what was expected, and what follows
};

/// Nothing about a version that is known.
std::optional<VersionRemark> remark_on(const KnownLibrary& library, LibraryVersion found);

}  // namespace libcoll::transport

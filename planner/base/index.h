// Ids as indices: ids are signed and never negative, containers count with std::size_t.
#pragma once

#include <cstddef>
#include <cstdint>

namespace libcoll {

/// `id`, not negative, as an index.
constexpr std::size_t at(std::int64_t id) { return static_cast<std::size_t>(id); }

}  // namespace libcoll

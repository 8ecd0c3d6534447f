// Whether this build has the address sanitizer: everything takes about ten times as long, and tests that calculate take
// smaller instances. The whole ones are part of `config/test.sh --all`.
#pragma once

namespace libcoll::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer);
#else
constexpr bool sanitized = false;
#endif

}  // namespace libcoll::test

#include "libcoll/base/fingerprint.h"

namespace libcoll {

std::string fingerprint(std::string_view text) {
  __extension__ using Wide = unsigned __int128;
  constexpr Wide prime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * prime;
  std::string digits;
  for (int shift = 124; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[static_cast<unsigned>(hash >> shift) & 15U];
  }
  return digits;
}

}  // namespace libcoll

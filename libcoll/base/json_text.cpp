#include "libcoll/base/json_text.h"

namespace libcoll {
namespace {

/// Bytes of the UTF-8 character that begins here; 0 when none does.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  std::size_t bytes = 0;
  if (byte(0) < 0x80U) bytes = 1;
  if (byte(0) >= 0xc2U && byte(0) < 0xe0U) bytes = 2;
  if (byte(0) >= 0xe0U && byte(0) < 0xf0U) bytes = 3;
  if (byte(0) >= 0xf0U && byte(0) < 0xf5U) bytes = 4;
  if (bytes > text.size()) return 0;
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0U) != 0x80U) return 0;
  }
  return bytes;
}

}  // namespace

std::string json_escaped(std::string_view text) {
  constexpr unsigned char first_printable = 0x20;
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) {
      result += '?';
    } else if (static_cast<unsigned char>(text.front()) < first_printable) {
      result += ' ';
    } else {
      if (text.front() == '"' || text.front() == '\\') result += '\\';
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return result;
}

std::string json_array(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) text.append(text.size() > 1 ? ", " : "").append(value);
  return text + "]";
}

}  // namespace libcoll

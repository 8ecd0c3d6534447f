#include "planner/base/toml_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace libcoll {
namespace {

bool is_ascii(char character) { return static_cast<unsigned char>(character) < 0x80; }

/// Where the comment, string or single character that begins at `begin` ends. A string that is not closed ends with
/// its line, one of several lines with the text.
std::size_t end_of_token(std::string_view text, std::size_t begin) {
  const char first = text[begin];
  if (first == '#') return std::min(text.find('\n', begin), text.size());
  if (first != '"' && first != '\'') return begin + 1;
  const std::string_view rest = text.substr(begin);
  const bool several_lines = rest.starts_with("\"\"\"") || rest.starts_with("'''");
  const std::size_t quotes = several_lines ? 3 : 1;
  for (std::size_t place = begin + quotes; place < text.size(); ++place) {
    if (text[place] == '\n' && !several_lines) return place;
    if (text[place] == '\\' && first == '"') {
      ++place;
    } else if (text.compare(place, quotes, text, begin, quotes) == 0) {
      return place + quotes;
    }
  }
  return text.size();
}

/// The character that UTF-8 text begins with, as a TOML escape, and its length in bytes; nullopt where it is no UTF-8.
std::optional<std::pair<std::string, std::size_t>> escape(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return std::nullopt;
  std::uint32_t character = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    character = character << 6U | (byte(i) & 0x3FU);
  }
  char digits[11];
  std::snprintf(digits, sizeof digits, "\\U%08x", character);
  return std::pair(std::string(digits), length);
}

/// The token without characters beyond ASCII: gone from a comment, escaped in a basic string; nullopt elsewhere.
std::optional<std::string> in_ascii(std::string_view token) {
  std::string result;
  for (std::size_t place = 0; place < token.size();) {
    if (is_ascii(token[place])) {
      result.push_back(token[place++]);
    } else if (token.front() == '#') {
      ++place;
    } else {
      const auto escaped = token.front() == '"' ? escape(token.substr(place)) : std::nullopt;
      if (!escaped) return std::nullopt;
      result += escaped->first;
      place += escaped->second;
    }
  }
  return result;
}

Error error_at(std::string_view origin, std::size_t line, const std::string& what) {
  return {std::string(origin) + ":" + std::to_string(line) + ": found text that is not TOML: " + what};
}

/// The same text for a parser that knows only ASCII: toml++ 3.0 tests letters beyond it for white space, and runs into
/// undefined behaviour.
Result<std::string> in_ascii(std::string_view text, std::string_view origin) {
  std::string result;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < text.size(); begin = end) {
    end = end_of_token(text, begin);
    const std::optional<std::string> token = in_ascii(text.substr(begin, end - begin));
    if (!token) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
      return error_at(origin, static_cast<std::size_t>(line),
                      "characters beyond ASCII are for comments and strings in double quotes, as UTF-8");
    }
    result += *token;
  }
  return result;
}

}  // namespace

Result<toml::table> read_toml(std::string_view text, std::string_view origin) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const Result<std::string> ascii = in_ascii(text, origin);
  if (!ascii) return ascii.error();
  toml::parse_result parsed = toml::parse(*ascii);
  if (!parsed) {
    return error_at(origin, parsed.error().source().begin.line, std::string(parsed.error().description()));
  }
  return std::move(parsed).table();
}

}  // namespace libcoll

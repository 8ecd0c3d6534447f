#include "planner/topology/toml_text.h"

#include <algorithm>
#include <cstddef>
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
  const auto bounded = [&](std::size_t place) { return std::min(place, text.size()); };
  if (first == '#') return bounded(text.find('\n', begin));
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

/// The first character that toml++ 3.0 may not see: its test for white space runs into undefined behaviour for letters
/// beyond ASCII where TOML has none.
std::optional<std::size_t> misplaced(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < text.size(); begin = end) {
    end = end_of_token(text, begin);
    const std::string_view token = text.substr(begin, end - begin);
    const bool free_text = token.front() == '#' || token.front() == '"' || token.front() == '\'';
    if (free_text && !token.starts_with("\"\"\"") && !token.starts_with("'''")) continue;
    const auto* const found = std::find_if_not(token.begin(), token.end(), is_ascii);
    if (found != token.end()) return begin + static_cast<std::size_t>(found - token.begin());
  }
  return std::nullopt;
}

Error error_at(std::string_view origin, std::size_t line, const std::string& what) {
  return {std::string(origin) + ":" + std::to_string(line) + ": " + what};
}

}  // namespace

Result<toml::table> read_toml(std::string_view text, std::string_view origin) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (const std::optional<std::size_t> place = misplaced(text)) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*place), '\n');
    return error_at(origin, static_cast<std::size_t>(line),
                    "found text that is not TOML: a character beyond ASCII outside comments and strings of one line");
  }
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return error_at(origin, parsed.error().source().begin.line,
                    "found text that is not TOML: " + std::string(parsed.error().description()));
  }
  return std::move(parsed).table();
}

}  // namespace libcoll

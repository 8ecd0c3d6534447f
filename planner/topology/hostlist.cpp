#include <algorithm>
#include <charconv>
#include <optional>

#include "planner/topology/generators.h"
#include "planner/topology/reader.h"

namespace libcoll::topology {
namespace {

using Names = std::vector<std::string>;

Error unexpected(std::string_view found, const std::string& expected) {
  return Error{"found '" + std::string(found) + "' in a host list, expected " + expected};
}

Error too_many(std::string_view found) { return unexpected(found, "at most " + std::to_string(max_nodes) + " names"); }

std::optional<std::int64_t> number(std::string_view digits) {
  constexpr std::size_t most_digits = 15;
  if (digits.empty() || digits.size() > most_digits) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// As wide as the first number of its range was written: 001, 002, …, 010.
std::string padded(std::int64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

/// Appends "7" or "001-012" written out.
Status append_range(std::string_view text, Names& names) {
  const std::size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const auto first = number(low);
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return unexpected(text, "a number or a rising range such as 001-009");
  if (*last - *first >= max_nodes || names.size() >= static_cast<std::size_t>(max_nodes)) return too_many(text);
  for (std::int64_t value = *first; value <= *last; ++value) names.push_back(padded(value, low.size()));
  return {};
}

/// "101-103,7" → 101, 102, 103, 7.
Result<Names> expand_bracket(std::string_view text) {
  Names names;
  for (;;) {
    const std::size_t comma = text.find(',');
    if (const Status status = append_range(text.substr(0, comma), names); !status) return status.error();
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

/// Every prefix followed by every suffix, the suffix running fastest.
Names product(const Names& prefixes, const Names& suffixes) {
  Names names;
  names.reserve(prefixes.size() * suffixes.size());
  for (const std::string& prefix : prefixes) {
    for (const std::string& suffix : suffixes) names.push_back(prefix + suffix);
  }
  return names;
}

/// One item, without commas outside its brackets: "c[101-103]-[001-009]".
Result<Names> expand_item(std::string_view item) {
  Names names = {""};
  std::string_view rest = item;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    names = product(names, {std::string(rest.substr(0, open))});
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) return unexpected(item, "a ']' after every '['");
    const Result<Names> bracket = expand_bracket(rest.substr(open + 1, close - open - 1));
    if (!bracket.ok()) return bracket.error();
    if (names.size() * bracket->size() > static_cast<std::size_t>(max_nodes)) return too_many(item);
    names = product(names, *bracket);
    rest.remove_prefix(close + 1);
  }
  return names;
}

/// The first comma outside brackets, or npos.
std::size_t item_end(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && depth > 0) --depth;
    if (text[i] == ',' && depth == 0) return i;
  }
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

bool is_host_name(std::string_view name) {
  constexpr char delete_character = 0x7f;
  return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    // Plain char has a sign on x86 and none on Arm; the bytes of UTF-8 are in names.
    return static_cast<unsigned char>(c) <= ' ' || c == delete_character || c == '[' || c == ']';
  });
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  Names hosts;
  for (;;) {
    const std::size_t end = item_end(text);
    const std::string_view item = trimmed(text.substr(0, end));
    Result<Names> names = expand_item(item);
    if (!names.ok()) return names;
    if (!is_host_name(names->front())) return unexpected(item, "a host name such as c1 or c[101-103]-[001-009]");
    if (hosts.size() + names->size() > static_cast<std::size_t>(max_nodes)) return too_many(item);
    hosts.insert(hosts.end(), names->begin(), names->end());
    if (end == std::string_view::npos) return hosts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace libcoll::topology

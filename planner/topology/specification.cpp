#include "planner/topology/specification.h"

#include <charconv>
#include <string>

namespace libcoll::topology {
namespace {

std::optional<std::int32_t> whole_number(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool padded = text.size() > 1 && text.front() == '0';
  if (failure != std::errc{} || end != text.data() + text.size() || padded) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Specification> split_specification(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return Specification{text.substr(0, colon), text.substr(colon + 1)};
}

Result<std::vector<std::int32_t>> parse_numbers(std::string_view text, char separator, std::int32_t least,
                                                std::int32_t most) {
  std::vector<std::int32_t> numbers;
  for (;;) {
    const std::size_t end = text.find(separator);
    const std::string_view item = text.substr(0, end);
    const std::optional<std::int32_t> number = whole_number(item);
    if (!number || *number < least || *number > most) {
      return Error{"found '" + std::string(item) + "' as number " + std::to_string(numbers.size() + 1) +
                   ", expected a whole number from " + std::to_string(least) + " to " + std::to_string(most)};
    }
    numbers.push_back(*number);
    if (end == std::string_view::npos) return numbers;
    text.remove_prefix(end + 1);
  }
}

}  // namespace libcoll::topology

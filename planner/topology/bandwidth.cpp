#include <algorithm>
#include <array>
#include <optional>

#include "planner/topology/reader.h"

namespace libcoll::topology {
namespace {

__extension__ using Wide = __int128;

/// A quantity as written: "25", " Gbps" → digits and unit, blanks between them dropped.
struct Quantity {
  std::string_view number;
  std::string_view unit;
};

Quantity split(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t unit = std::min(text.find_first_not_of(' ', end), text.size());
  return {text.substr(0, end), text.substr(unit)};
}

/// digits / scale, exactly.
struct Decimal {
  std::int64_t digits = 0;
  std::int64_t scale = 1;
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  constexpr std::size_t most_digits = 18;
  Decimal result;
  bool point = false;
  std::size_t count = 0;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9' || ++count > most_digits) return std::nullopt;
    result.digits = 10 * result.digits + (c - '0');
    if (point) result.scale *= 10;
  }
  if (count == 0 || text.front() == '.' || text.back() == '.') return std::nullopt;
  return result;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Takes the prefix (k, M, Gi, …) off the front of the unit and returns what it multiplies by.
std::int64_t take_prefix(std::string_view& unit) {
  constexpr std::string_view prefixes = "kmgt";
  if (unit.empty()) return 1;
  const std::size_t power = prefixes.find(lower(unit.front()));
  if (power == std::string_view::npos) return 1;
  unit.remove_prefix(1);
  const bool binary = !unit.empty() && lower(unit.front()) == 'i';
  if (binary) unit.remove_prefix(1);
  std::int64_t factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= binary ? 1024 : 1000;
  return factor;
}

/// How many of the unit make a byte per second: 8 bits, 1 byte; nothing for what is no rate.
std::optional<std::int64_t> units_per_byte(std::string_view unit) {
  constexpr std::array<std::string_view, 4> bit_words = {"bit", "bits", "bit/s", "bits/s"};
  const auto is_unit = [&](std::string_view word) { return same_word(unit, word); };
  if (std::any_of(bit_words.begin(), bit_words.end(), is_unit)) return 8;
  if (is_unit("byte/s") || is_unit("bytes/s")) return 1;
  if (!is_unit("bps") && !is_unit("b/s")) return std::nullopt;
  return unit.front() == 'b' ? 8 : 1;
}

std::optional<Wide> bytes_per_second(std::string_view text) {
  const Quantity quantity = split(text);
  const std::optional<Decimal> number = parse_decimal(quantity.number);
  if (!number) return std::nullopt;
  std::string_view unit = quantity.unit;
  const std::int64_t factor = take_prefix(unit);
  const std::optional<std::int64_t> divisor = quantity.unit.empty() ? 1 : units_per_byte(unit);
  if (!divisor) return std::nullopt;
  const Wide whole = Wide{*divisor} * number->scale;
  return (Wide{number->digits} * factor + whole / 2) / whole;
}

}  // namespace

Result<std::int64_t> parse_bandwidth(std::string_view text) {
  const std::optional<Wide> value = bytes_per_second(text);
  if (!value) {
    return Error{"found '" + std::string(text) +
                 "', expected a bandwidth such as 25Gbps (bits), 3GB/s or 3GiB/s (bytes), 100mbit, or a whole number "
                 "of bytes per second"};
  }
  if (*value < 1 || *value > max_bandwidth_bytes_per_second) {
    return Error{"found '" + std::string(text) + "', expected a bandwidth from 1B/s to 100TB/s"};
  }
  return static_cast<std::int64_t>(*value);
}

Result<double> parse_latency(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array<Unit, 6> units = {{{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}}};
  const Quantity quantity = split(text);
  const auto* const unit =
      std::find_if(units.begin(), units.end(), [&](const Unit& candidate) { return candidate.name == quantity.unit; });
  const std::optional<Decimal> number = parse_decimal(quantity.number);
  if (unit == units.end() || !number) {
    return Error{"found '" + std::string(text) +
                 "', expected a latency such as 1us, 500ns, 2ms, or a number of seconds"};
  }
  return static_cast<double>(number->digits) / static_cast<double>(number->scale) * unit->seconds;
}

}  // namespace libcoll::topology

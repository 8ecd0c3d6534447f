// Exact rational numbers for loads, times and capacities (papers 000 and 003 state theirs exactly).
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace libcoll {

/// numerator / denominator in lowest terms, denominator > 0, of any size. Most take 64 bits for each and are computed
/// with 128; what does not fit is kept as integers of arbitrary precision. Values are immutable, copies share them.
class Rational {
 public:
  __extension__ using Wide = __int128;

  Rational() = default;
  Rational(std::int64_t integer) : numerator_(integer) {}  // NOLINT(google-explicit-constructor)
  /// Precondition: denominator != 0.
  Rational(std::int64_t numerator, std::int64_t denominator) : Rational(reduced(numerator, denominator)) {}
  /// The same from 128 bits, of which |values| take at most 127.
  static Rational quotient(Wide numerator, Wide denominator) { return reduced(numerator, denominator); }
  /// "26/27" or "3", no blanks, denominator > 0; nothing for other texts, or more than 20000 digits.
  static std::optional<Rational> parse(std::string_view text);

  /// Whether numerator and denominator have 64 bits each.
  [[nodiscard]] bool is_narrow() const { return big_ == nullptr; }
  [[nodiscard]] std::int64_t numerator() const { return numerator_; }      ///< Precondition: is_narrow().
  [[nodiscard]] std::int64_t denominator() const { return denominator_; }  ///< Precondition: is_narrow().
  /// The largest integer that is not above value · factor, the least that is not below; nothing beyond 64 bits.
  [[nodiscard]] std::optional<std::int64_t> floor(std::int64_t factor = 1) const;
  [[nodiscard]] std::optional<std::int64_t> ceil(std::int64_t factor = 1) const;
  [[nodiscard]] double to_double() const {
    return is_narrow() ? static_cast<double>(numerator_) / static_cast<double>(denominator_) : big_to_double();
  }
  /// "26/27", or "3" when the denominator is 1.
  [[nodiscard]] std::string to_string() const;

  friend Rational operator+(const Rational& a, const Rational& b) {
    if (!a.is_narrow() || !b.is_narrow()) return big_sum(a, b);
    return reduced(Wide{a.numerator_} * b.denominator_ + Wide{b.numerator_} * a.denominator_,
                   Wide{a.denominator_} * b.denominator_);
  }
  friend Rational operator-(const Rational& a, const Rational& b) { return a + b * Rational(-1); }
  friend Rational operator*(const Rational& a, const Rational& b) {
    if (!a.is_narrow() || !b.is_narrow()) return big_product(a, b);
    return reduced(Wide{a.numerator_} * b.numerator_, Wide{a.denominator_} * b.denominator_);
  }
  /// Precondition: b != 0.
  friend Rational operator/(const Rational& a, const Rational& b) {
    if (!a.is_narrow() || !b.is_narrow()) return big_quotient(a, b);
    return reduced(Wide{a.numerator_} * b.denominator_, Wide{a.denominator_} * b.numerator_);
  }
  Rational& operator+=(const Rational& other) { return *this = *this + other; }
  Rational& operator*=(const Rational& other) { return *this = *this * other; }

  friend bool operator==(const Rational& a, const Rational& b) {
    if (a.is_narrow() != b.is_narrow()) return false;
    if (!a.is_narrow()) return big_order(a, b) == 0;
    return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
  }
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    if (!a.is_narrow() || !b.is_narrow()) return big_order(a, b) <=> 0;
    return Wide{a.numerator_} * b.denominator_ <=> Wide{b.numerator_} * a.denominator_;
  }

 private:
  struct Big;  ///< numerator and denominator, of which one has more than 64 bits
  friend struct Big;

  static Rational reduced(Wide numerator, Wide denominator) {
    if (denominator < 0) {
      numerator = -numerator;
      denominator = -denominator;
    }
    const Wide divisor = common_divisor(numerator < 0 ? -numerator : numerator, denominator);
    numerator /= divisor;
    denominator /= divisor;
    constexpr Wide most = std::numeric_limits<std::int64_t>::max();
    if (numerator > most || numerator < -most - 1 || denominator > most) return big(numerator, denominator);
    Rational result;
    result.numerator_ = static_cast<std::int64_t>(numerator);
    result.denominator_ = static_cast<std::int64_t>(denominator);
    return result;
  }

  /// Of two that are not negative; 1 of two zeros. Divisions of 64 bits as soon as that is enough.
  static Wide common_divisor(Wide a, Wide b) {
    constexpr Wide narrow = std::numeric_limits<std::uint64_t>::max();
    while (b > narrow) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    if (b == 0) return a == 0 ? 1 : a;
    auto u = static_cast<std::uint64_t>(b);
    auto v = static_cast<std::uint64_t>(a % b);
    while (v != 0) {
      const std::uint64_t rest = u % v;
      u = v;
      v = rest;
    }
    return u;
  }

  static Rational big(Wide numerator, Wide denominator);
  static Rational big_sum(const Rational& a, const Rational& b);
  static Rational big_product(const Rational& a, const Rational& b);
  static Rational big_quotient(const Rational& a, const Rational& b);
  static int big_order(const Rational& a, const Rational& b);  ///< below, equal to or above 0, as a is to b
  [[nodiscard]] double big_to_double() const;

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
  std::shared_ptr<const Big> big_;  ///< not null: the value, which the two above do not tell
};

}  // namespace libcoll

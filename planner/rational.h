// Exact rational numbers for loads, times and capacities (papers 000 and 003 state theirs exactly).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace libcoll {

/// numerator / denominator in lowest terms, denominator > 0. Intermediate products are 128 bits wide;
/// the planner's values (loads of at most N² chunks over denominators of at most a few thousand) stay
/// far below 63 bits after reduction.
class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(std::int64_t integer) : numerator_(integer) {}  // NOLINT(google-explicit-constructor)
  /// Precondition: denominator != 0.
  constexpr Rational(std::int64_t numerator, std::int64_t denominator) : Rational(reduced(numerator, denominator)) {}

  [[nodiscard]] constexpr std::int64_t numerator() const { return numerator_; }
  [[nodiscard]] constexpr std::int64_t denominator() const { return denominator_; }
  [[nodiscard]] constexpr double to_double() const {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  /// "26/27", or "3" when the denominator is 1.
  [[nodiscard]] std::string to_string() const {
    return denominator_ == 1 ? std::to_string(numerator_)
                             : std::to_string(numerator_) + "/" + std::to_string(denominator_);
  }

  friend constexpr Rational operator+(Rational a, Rational b) {
    return reduced(Wide{a.numerator_} * b.denominator_ + Wide{b.numerator_} * a.denominator_,
                   Wide{a.denominator_} * b.denominator_);
  }
  friend constexpr Rational operator-(Rational a, Rational b) { return a + Rational(-b.numerator_, b.denominator_); }
  friend constexpr Rational operator*(Rational a, Rational b) {
    return reduced(Wide{a.numerator_} * b.numerator_, Wide{a.denominator_} * b.denominator_);
  }
  /// Precondition: b != 0.
  friend constexpr Rational operator/(Rational a, Rational b) {
    return reduced(Wide{a.numerator_} * b.denominator_, Wide{a.denominator_} * b.numerator_);
  }
  constexpr Rational& operator+=(Rational other) { return *this = *this + other; }
  constexpr Rational& operator*=(Rational other) { return *this = *this * other; }

  friend constexpr bool operator==(Rational a, Rational b) = default;
  friend constexpr std::strong_ordering operator<=>(Rational a, Rational b) {
    return Wide{a.numerator_} * b.denominator_ <=> Wide{b.numerator_} * a.denominator_;
  }

 private:
  __extension__ using Wide = __int128;

  static constexpr Rational reduced(Wide numerator, Wide denominator) {
    if (denominator < 0) {
      numerator = -numerator;
      denominator = -denominator;
    }
    Wide a = numerator < 0 ? -numerator : numerator;
    Wide b = denominator;
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    const Wide divisor = a == 0 ? 1 : a;
    Rational result;
    result.numerator_ = static_cast<std::int64_t>(numerator / divisor);
    result.denominator_ = static_cast<std::int64_t>(denominator / divisor);
    return result;
  }

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

}  // namespace libcoll

#include "planner/base/rational.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <utility>

namespace libcoll {
namespace {

// Without expression templates, which hand out addresses of their temporaries.
using Integer = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;

template <class Value>
bool fits(const Value& value) {
  return value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max();
}

template <class Value>
std::optional<std::int64_t> narrowed(const Value& value) {
  if (!fits(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<Integer> parse_integer(std::string_view text) {
  constexpr std::size_t most_digits = 20000;  // reading takes time that grows with the square
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  // A leading zero would mean an octal number.
  const std::size_t first = std::min(text.find_first_not_of('0'), text.size() - 1);
  return Integer(std::string(text.substr(first)));
}

}  // namespace

struct Rational::Big {
  Integer numerator;
  Integer denominator;

  static Big of(const Rational& value) {
    return value.is_narrow() ? Big{value.numerator_, value.denominator_} : *value.big_;
  }

  static Rational reduced(Integer numerator, Integer denominator) {
    if (denominator < 0) {
      numerator = -numerator;
      denominator = -denominator;
    }
    const Integer divisor = boost::multiprecision::gcd(numerator, denominator);
    numerator /= divisor;
    denominator /= divisor;
    Rational result;
    if (fits(numerator) && fits(denominator)) {
      result.numerator_ = static_cast<std::int64_t>(numerator);
      result.denominator_ = static_cast<std::int64_t>(denominator);
    } else {
      result.big_ = std::make_shared<const Big>(Big{std::move(numerator), std::move(denominator)});
    }
    return result;
  }

  [[nodiscard]] std::optional<std::int64_t> floor(const Integer& factor) const {
    return narrowed(floor_of(numerator * factor, denominator));
  }
  [[nodiscard]] std::optional<std::int64_t> ceil(const Integer& factor) const {
    return narrowed(-floor_of(-numerator * factor, denominator));
  }

 private:
  static Integer floor_of(const Integer& a, const Integer& b) {
    Integer quotient;
    Integer rest;
    boost::multiprecision::divide_qr(a, b, quotient, rest);
    if (rest < 0) --quotient;
    return quotient;
  }
};

std::optional<Rational> Rational::parse(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t slash = text.find('/');
  std::optional<Integer> numerator = parse_integer(text.substr(0, slash));
  std::optional<Integer> denominator =
      slash == std::string_view::npos ? Integer(1) : parse_integer(text.substr(slash + 1));
  if (!numerator || !denominator || *denominator == 0) return std::nullopt;
  if (negative) *numerator = -*numerator;
  return Big::reduced(std::move(*numerator), std::move(*denominator));
}

std::optional<std::int64_t> Rational::floor(std::int64_t factor) const {
  if (!is_narrow()) return big_->floor(factor);
  const Wide product = Wide{numerator_} * factor;
  const Wide quotient = product / denominator_ - (product % denominator_ < 0 ? 1 : 0);
  return narrowed(quotient);
}

std::optional<std::int64_t> Rational::ceil(std::int64_t factor) const {
  if (!is_narrow()) return big_->ceil(factor);
  const Wide product = Wide{numerator_} * factor;
  const Wide quotient = product / denominator_ + (product % denominator_ > 0 ? 1 : 0);
  return narrowed(quotient);
}

std::string Rational::to_string() const {
  if (is_narrow()) {
    return denominator_ == 1 ? std::to_string(numerator_)
                             : std::to_string(numerator_) + "/" + std::to_string(denominator_);
  }
  return big_->denominator == 1 ? big_->numerator.str() : big_->numerator.str() + "/" + big_->denominator.str();
}

Rational Rational::big(Wide numerator, Wide denominator) {
  Rational result;
  result.big_ = std::make_shared<const Big>(Big{Integer(numerator), Integer(denominator)});
  return result;
}

Rational Rational::big_sum(const Rational& a, const Rational& b) {
  const Big x = Big::of(a);
  const Big y = Big::of(b);
  return Big::reduced(x.numerator * y.denominator + y.numerator * x.denominator, x.denominator * y.denominator);
}

Rational Rational::big_product(const Rational& a, const Rational& b) {
  const Big x = Big::of(a);
  const Big y = Big::of(b);
  return Big::reduced(x.numerator * y.numerator, x.denominator * y.denominator);
}

Rational Rational::big_quotient(const Rational& a, const Rational& b) {
  const Big x = Big::of(a);
  const Big y = Big::of(b);
  return Big::reduced(x.numerator * y.denominator, x.denominator * y.numerator);
}

int Rational::big_order(const Rational& a, const Rational& b) {
  const Big x = Big::of(a);
  const Big y = Big::of(b);
  return Integer(x.numerator * y.denominator).compare(Integer(y.numerator * x.denominator));
}

/// Within a unit in the last place: 64 leading bits of the quotient, then its exponent.
double Rational::big_to_double() const {
  constexpr int bits = 64;
  const Integer magnitude = abs(big_->numerator);
  if (magnitude == 0) return 0;
  const int shift = bits + static_cast<int>(msb(big_->denominator)) - static_cast<int>(msb(magnitude));
  const Integer quotient = shift > 0 ? Integer((magnitude << shift) / big_->denominator)
                                     : Integer(magnitude / (big_->denominator << -shift));
  const double value = std::ldexp(static_cast<double>(quotient), -shift);
  return big_->numerator < 0 ? -value : value;
}

}  // namespace libcoll

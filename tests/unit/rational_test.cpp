// Rationals are exact whatever their size.
#include "planner/base/rational.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace libcoll::rational_test {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

TEST(Rational, GrowsPast64BitsAndComesBack) {
  // Σ 1/k for k = 1..60: H_60 = 15117092380124150817026911 / 3230237388259077233637600 (OEIS A001008, A002805).
  Rational sum;
  for (std::int64_t k = 1; k <= 60; ++k) sum += Rational(1, k);
  EXPECT_EQ(sum.to_string(), "15117092380124150817026911/3230237388259077233637600");
  EXPECT_FALSE(sum.is_narrow());
  EXPECT_NEAR(sum.to_double(), 4.679870413, 1e-9);
  for (std::int64_t k = 60; k >= 1; --k) sum = sum - Rational(1, k);
  EXPECT_EQ(sum, Rational(0));
  EXPECT_TRUE(sum.is_narrow());
}

TEST(Rational, KeepsTheEndsOf64Bits) {
  const Rational high(largest);
  const Rational low(least);
  EXPECT_EQ((high + Rational(1)).to_string(), "9223372036854775808");
  EXPECT_EQ((low - Rational(1)).to_string(), "-9223372036854775809");
  EXPECT_EQ((low * Rational(-1)).to_string(), "9223372036854775808");
  EXPECT_EQ((Rational(1) / low).to_string(), "-1/9223372036854775808");
  EXPECT_EQ(high + Rational(1) - Rational(1), high);
  EXPECT_EQ(Rational(least, least), Rational(1));
  EXPECT_LT(high, high + Rational(1, largest));
  EXPECT_LT(low - Rational(1), low);
  EXPECT_EQ((high * high / high).numerator(), largest);
}

TEST(Rational, RoundsToWholeNumbersWhereThereIsOneOf64Bits) {
  EXPECT_EQ(Rational(7, 2).floor(), 3);
  EXPECT_EQ(Rational(7, 2).ceil(), 4);
  EXPECT_EQ(Rational(-7, 2).floor(), -4);
  EXPECT_EQ(Rational(-7, 2).ceil(), -3);
  EXPECT_EQ(Rational(6, 2).ceil(), 3);
  EXPECT_EQ(Rational(2, 3).floor(100), 66);
  EXPECT_EQ(Rational(largest, 3).floor(3), largest);
  EXPECT_EQ(Rational(largest).floor(2), std::nullopt);
  const Rational fine = Rational(1, largest) * Rational(1, 3) + Rational(5);
  EXPECT_EQ(fine.floor(), 5);
  EXPECT_EQ(fine.ceil(), 6);
  EXPECT_EQ((fine * Rational(-1)).floor(), -6);
}

TEST(Rational, IsReadAsItWasWritten) {
  std::mt19937_64 random(7);
  Rational value(1);
  for (int i = 0; i < 40; ++i) {
    value = value * Rational(static_cast<std::int64_t>(random() >> 2U), static_cast<std::int64_t>(random() >> 2U) + 1);
    EXPECT_EQ(Rational::parse(value.to_string()), value);
    const Rational negative = value * Rational(-1);
    EXPECT_EQ(Rational::parse(negative.to_string()), negative);
  }
  EXPECT_EQ(Rational::parse("007/014"), Rational(1, 2));
  for (const char* text : {"", "/", "1/", "/2", "1/0", "1/-2", "+1", " 1", "1 ", "0x1", "1.5", "--1", "-"}) {
    EXPECT_EQ(Rational::parse(text), std::nullopt) << text;
  }
  EXPECT_EQ(Rational::parse(std::string(1'000'000, '1')), std::nullopt);
}

TEST(Rational, FollowsTheLawsOfFieldsOnBothSidesOf64Bits) {
  std::mt19937_64 random(11);
  const auto any = [&] {
    const auto shift = static_cast<unsigned>(random() % 62);
    return Rational(static_cast<std::int64_t>(random() >> shift),
                    static_cast<std::int64_t>(random() >> (shift + 1)) + 1);
  };
  for (int i = 0; i < 2000; ++i) {
    const Rational a = any();
    const Rational b = any();
    const Rational c = any();
    ASSERT_EQ((a + b) + c, a + (b + c));
    ASSERT_EQ((a + b) * c, a * c + b * c);
    ASSERT_EQ(a + b - b, a);
    if (b != Rational(0)) {
      ASSERT_EQ(a * b / b, a);
    }
    ASSERT_EQ(a<b, b - a> Rational(0));
    const double sum = a.to_double() + b.to_double();
    ASSERT_NEAR((a + b).to_double(), sum, 1e-12 * (std::abs(a.to_double()) + std::abs(b.to_double())));
  }
}

}  // namespace
}  // namespace libcoll::rational_test

#include "libcoll/observe/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include "libcoll/base/clock.h"

namespace libcoll::observe {
namespace {

constexpr std::size_t first_power = 2;  ///< the bin of one byte

std::string size_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 7> units = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024; bytes /= 1024) ++unit;  // powers of two: nothing is lost
  return std::to_string(bytes).append(units[unit]);
}

}  // namespace

std::size_t SizeHistogram::bin_of(std::int64_t bytes) {
  if (bytes < 0) return 0;
  return 1 + static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes)));
}

std::int64_t SizeHistogram::first_byte(std::size_t bin) {
  if (bin == 0) return unknown_bytes;
  return bin < first_power ? 0 : std::int64_t{1} << (bin - first_power);
}

std::int64_t SizeHistogram::last_byte(std::size_t bin) {
  if (bin == 0) return unknown_bytes;
  if (bin < first_power) return 0;
  const std::int64_t first = first_byte(bin);
  return first + (first - 1);
}

void SizeHistogram::count(std::int64_t bytes, std::int64_t nanoseconds) {
  const std::size_t index = bin_of(bytes);
  if (bins_.size() <= index) bins_.resize(index + 1);
  Bin& bin = bins_[index];
  bin.least = bin.calls == 0 ? nanoseconds : std::min(bin.least, nanoseconds);
  bin.most = std::max(bin.most, nanoseconds);
  bin.total += nanoseconds;
  ++bin.calls;
  ++calls_;
}

void SizeHistogram::add(const SizeHistogram& others) {
  calls_ += others.calls_;
  if (bins_.size() < others.bins_.size()) bins_.resize(others.bins_.size());
  for (std::size_t index = 0; index < others.bins_.size(); ++index) {
    Bin& bin = bins_[index];
    const Bin& other = others.bins_[index];
    if (other.calls == 0) continue;
    bin.least = bin.calls == 0 ? other.least : std::min(bin.least, other.least);
    bin.most = std::max(bin.most, other.most);
    bin.total += other.total;
    bin.calls += other.calls;
  }
}

void SizeHistogram::take_slower(const SizeHistogram& others) {
  calls_ = std::max(calls_, others.calls_);
  if (bins_.size() < others.bins_.size()) bins_.resize(others.bins_.size());
  for (std::size_t index = 0; index < others.bins_.size(); ++index) {
    Bin& bin = bins_[index];
    const Bin& other = others.bins_[index];
    bin.calls = std::max(bin.calls, other.calls);
    bin.total = std::max(bin.total, other.total);
    bin.least = std::max(bin.least, other.least);
    bin.most = std::max(bin.most, other.most);
  }
}

std::string bin_text(std::size_t bin) {
  const std::int64_t first = SizeHistogram::first_byte(bin);
  if (first < 0) return "unknown size";
  if (first <= 1) return size_text(first);
  if (SizeHistogram::last_byte(bin) == std::numeric_limits<std::int64_t>::max()) return "from " + size_text(first);
  return size_text(first) + ".." + size_text(2 * first);
}

std::string seconds_text(std::int64_t nanoseconds) {
  constexpr std::size_t digits = 9;
  const std::string fraction = std::to_string(nanoseconds % nanoseconds_per_second);
  return std::to_string(nanoseconds / nanoseconds_per_second) + "." + std::string(digits - fraction.size(), '0') +
         fraction;
}

}  // namespace libcoll::observe

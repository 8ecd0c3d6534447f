// Reading text line by line: the words, quoted names and numbers that tools of a subnet print.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "planner/base/result.h"

namespace libcoll::exchange {

/// The lines of a text, one after the other, without their ends.
class Lines {
 public:
  Lines(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  /// The next line, or nothing at the end of the text.
  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return line;
  }

  [[nodiscard]] std::int32_t number() const { return number_; }  ///< of the line that came last, from 1
  /// "FILE:LINE: WHAT", of the line that came last.
  [[nodiscard]] Error error(const std::string& what) const { return error_in(number_, what); }
  [[nodiscard]] Error error_in(std::int32_t line, const std::string& what) const {
    return Error{file_ + ":" + std::to_string(line) + ": " + what};
  }

 private:
  std::string_view rest_;
  std::string file_;
  std::int32_t number_ = 0;
};

/// Takes pieces off the front of one line. Blanks in front of a piece do not count.
class LineScanner {
 public:
  explicit LineScanner(std::string_view line) : rest_(line) { skip_blanks(); }

  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  /// Takes `text` away if the rest begins with it.
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    skip_blanks();
    return true;
  }

  /// Up to the next blank; empty at the end.
  std::string_view take_word() {
    const std::size_t end = rest_.find_first_of(" \t");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(word.size());
    skip_blanks();
    return word;
  }

  /// What stands between two double quotes.
  std::optional<std::string_view> take_quoted() {
    if (!rest_.starts_with('"')) return std::nullopt;
    const std::size_t end = rest_.find('"', 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    skip_blanks();
    return text;
  }

  /// A whole number of `base`, without sign.
  std::optional<std::uint64_t> take_number(int base = 10) {
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number, base);
    if (failure != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    skip_blanks();
    return number;
  }

  /// A number in brackets: "[3]".
  std::optional<std::uint64_t> take_bracketed() {
    if (!take("[")) return std::nullopt;
    const std::optional<std::uint64_t> number = take_number();
    return number && take("]") ? number : std::nullopt;
  }

 private:
  void skip_blanks() {
    const std::size_t first = rest_.find_first_not_of(" \t");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }

  std::string_view rest_;
};

}  // namespace libcoll::exchange

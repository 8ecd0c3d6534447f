// JSON that is only ever written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libcoll {

/// Text as it stands between the quotes of a JSON string. Control characters become spaces, bytes that are no UTF-8
/// question marks: names of communicators are the program's.
std::string json_escaped(std::string_view text);

/// An object, field by field.
class JsonObject {
 public:
  /// `value` is JSON itself.
  JsonObject& raw(std::string_view name, std::string_view value) {
    text_.append(text_.size() > 1 ? ", \"" : "\"").append(json_escaped(name)).append("\": ").append(value);
    return *this;
  }
  JsonObject& number(std::string_view name, std::int64_t value) { return raw(name, std::to_string(value)); }
  JsonObject& text(std::string_view name, std::string_view value) {
    return raw(name, std::string("\"").append(json_escaped(value)).append("\""));
  }
  [[nodiscard]] std::string take() { return std::move(text_) + "}"; }

 private:
  std::string text_ = "{";
};

/// Of values that are JSON themselves.
std::string json_array(const std::vector<std::string>& values);

}  // namespace libcoll

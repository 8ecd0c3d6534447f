// What `libcoll doctor` and the processes of its job send each other, as JSON. Whatever comes in may be a stranger's:
// fields that are missing, or of another type, are as if they had their defaults.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/doctor_report.h"
#include "libcoll/command/link_probe.h"

namespace libcoll::command {

/// What an order may ask for.
inline constexpr std::int64_t longest_message_bytes = 1 << 20;
inline constexpr std::int32_t most_messages = 1024;

/// {"token", "report"}: the first words of a process.
Json greeting(const std::string& token, const RankReport& report);
/// Whether it is a greeting with that token.
bool is_greeting(const Json& json, const std::string& token);

Json to_json(const RankReport& report);
RankReport report_from(const Json& json);

/// Orders and figures. The peer's address is what its probe answered: hexadecimal digits.
Json order_json(const LinkOrder& order);
LinkOrder order_from(const Json& json);
Json figure_json(const LinkFigure& figure);
LinkFigure figure_from(const Json& json);

/// Addresses. What is no digit is 0.
std::string to_hex(const std::string& bytes);
std::string from_hex(const std::string& text);

std::string text_field(const Json& json, const char* name, const std::string& otherwise = {});
double number_field(const Json& json, const char* name, double otherwise);
/// Its elements; none where it is no array.
std::vector<Json> list_field(const Json& json, const char* name);

}  // namespace libcoll::command

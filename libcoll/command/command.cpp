#include "libcoll/command/command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "libcoll/command/planning.h"
#include "planner/base/text_file.h"
#include "planner/registry/planner.h"
#include "planner/topology/generators.h"

namespace libcoll::command {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr const char* stdout_fails = "cannot write to standard output";

/// Characters, not bytes, so that "…" does not push a column.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void print_json(const Json& document) {
  std::puts(document.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

int fail(const std::string& message, bool json) {
  std::fprintf(stderr, "libcoll: %s\n", message.c_str());
  if (json) print_json(Json{{"error", message}});
  return ExitCode::usage;
}

void warn(const std::string& message) { std::fprintf(stderr, "libcoll: warning: %s\n", message.c_str()); }

Result<std::string> read_text(const std::string& path) {
  Result<std::string> text = read_text_file(path, most_schedule_bytes);
  if (text) return text;
  return Error{(path == "-" ? "standard input" : path) + ": cannot be read: " + text.error().message};
}

Status write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? Status() : Status(Error{stdout_fails});
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file.fail()) return {};
  const std::string cause = errno != 0 ? ": " + std::generic_category().message(errno) : "";
  return Error{path + ": cannot be written" + cause};
}

int finish_output(int exit_code) {
  const bool good = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  // Who ends with that code has said why.
  if (good || exit_code == ExitCode::usage) return exit_code;
  return fail(stdout_fails);
}

std::string join(const std::vector<std::string>& parts, const std::string& between) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : between) + part;
  return joined;
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += "  " + row[i] + std::string(widths[i] - width(row[i]), ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string topologies_text() {
  std::vector<std::vector<std::string>> rows;
  for (const Generator& generator : generators()) {
    rows.push_back({std::string(generator.form), std::string(generator.example), std::string(generator.text)});
  }
  return columns(rows);
}

std::string algorithms_text() {
  std::vector<std::vector<std::string>> rows;
  for (const Planner& planner : planners()) {
    rows.push_back({std::string(to_string(planner.collective)), std::string(planner.name), std::string(planner.text)});
  }
  return columns(rows);
}

}  // namespace libcoll::command

#include "libcoll/command/report.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "libcoll/command/text.h"
#include "libcoll/command/time_limit.h"
#include "libcoll/command/validators.h"

namespace libcoll::command {
namespace {

struct ReportOptions {
  std::string name;
  std::string size = "full";
  double time_limit_seconds = 300;
  double limit_seconds = 0;
  std::vector<std::string> only;
  std::int32_t threads = 1;
  bool json = false;
};

std::string cell_text(const Json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_number_float()) return rounded(cell.get<double>(), 4);
  return cell.is_null() ? "" : cell.dump();
}

std::string difference_text(const ReportRow& row) {
  const std::optional<double> part = difference(row);
  if (!part) return "";
  if (*part == 0) return "agrees";
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * *part);
  return text;
}

std::string list_text() {
  std::vector<std::vector<std::string>> rows;
  for (const Report& report : reports()) {
    rows.push_back({std::string(report.name), "paper " + std::string(report.paper), std::string(report.what)});
  }
  return columns(rows);
}

Json list_json() {
  Json list = Json::array();
  for (const Report& report : reports()) {
    list.push_back({{"report", report.name}, {"paper", report.paper}, {"what", report.what}});
  }
  return Json{{"reports", list}};
}

/// What was asked for and this report knows nothing of.
Status check_options(const Report& report, const ReportOptions& options) {
  const std::string name(report.name);
  if (options.limit_seconds > 0 && !report.limits_plans) {
    return Error{"report " + name + " does not take --limit: it is for fig7, fig8 and fig9"};
  }
  if (options.only.empty()) return {};
  if (report.names == nullptr) return Error{"report " + name + " does not take --only: it is for fig7"};
  const std::vector<std::string> known = report.names();
  for (const std::string& wanted : options.only) {
    if (std::find(known.begin(), known.end(), wanted) == known.end()) {
      return Error{"--only: found '" + wanted + "', expected one of " + join(known, ", ")};
    }
  }
  return {};
}

int run(const ReportOptions& options) {
  if (options.name.empty()) {
    if (options.json) {
      print_json(list_json());
    } else {
      std::fputs(list_text().c_str(), stdout);
    }
    return ExitCode::good;
  }
  const std::span<const Report> all = reports();
  const auto report = std::find_if(all.begin(), all.end(), [&](const Report& r) { return r.name == options.name; });
  if (report == all.end()) {
    std::vector<std::string> names;
    for (const Report& known : all) names.emplace_back(known.name);
    return fail("found report '" + options.name + "', expected one of " + join(names, ", "), options.json);
  }
  if (const Status good = check_options(*report, options); !good) return fail(good.error().message, options.json);
  const TimeLimit limit(options.time_limit_seconds, "a row that could not be cut short", options.json);
  const auto start = std::chrono::steady_clock::now();
  const ReportTable table =
      report->make({options.size == "full", options.threads, limit.deadline(), options.limit_seconds, options.only});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (options.json) {
    print_json(report_json(*report, table, spent.count()));
  } else {
    std::fputs(report_text(*report, table, spent.count()).c_str(), stdout);
  }
  return ExitCode::good;
}

}  // namespace

std::span<const Report> reports() {
  static const std::vector<Report> all = [] {
    std::vector<Report> table;
    for (const std::span<const Report> of_paper : {direct_connect_reports(), multitree_reports(), harvest_reports(),
                                                   all_to_all_reports(), forestcoll_reports()}) {
      table.insert(table.end(), of_paper.begin(), of_paper.end());
    }
    return table;
  }();
  return all;
}

PaperFigure printed(std::string text, double value, double rounding) {
  return {std::move(text), value - rounding, value + rounding};
}

PaperFigure said(std::string text) { return {std::move(text), std::nullopt, std::nullopt}; }

std::optional<double> difference(const ReportRow& row) {
  if (!row.ours || (!row.paper.least && !row.paper.most)) return std::nullopt;
  if (row.paper.least && *row.ours < *row.paper.least) return *row.ours / *row.paper.least - 1;
  if (row.paper.most && *row.ours > *row.paper.most) return *row.ours / *row.paper.most - 1;
  return 0;
}

Json report_json(const Report& report, const ReportTable& table, double seconds) {
  const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json rows = Json::array();
  for (const ReportRow& row : table.rows) {
    Json& line = rows.emplace_back(Json::object());
    for (std::size_t i = 0; i < row.cells.size(); ++i) line[table.columns[i]] = row.cells[i];
    line[table.figure] = optional(row.ours);
    line["paper_says"] = row.paper.text;
    line["paper_least"] = optional(row.paper.least);
    line["paper_most"] = optional(row.paper.most);
    line["difference"] = optional(difference(row));
    line["why"] = row.why;
  }
  return Json{{"report", report.name}, {"paper", report.paper}, {"what", report.what}, {"figure", table.figure},
              {"rows", rows},          {"note", table.note},    {"seconds", seconds}};
}

std::string report_text(const Report& report, const ReportTable& table, double seconds) {
  std::vector<std::string> reasons;
  std::vector<std::vector<std::string>> lines(1, table.columns);
  for (const std::string& title : {table.figure, std::string("paper"), std::string("difference"), std::string()}) {
    lines.front().push_back(title);
  }
  for (const ReportRow& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Json& cell : row.cells) line.push_back(cell_text(cell));
    line.push_back(row.ours ? rounded(*row.ours, 4) : "-");
    line.push_back(row.paper.text);
    line.push_back(difference_text(row));
    line.emplace_back();
    if (row.why.empty()) continue;
    const auto known = std::find(reasons.begin(), reasons.end(), row.why);
    line.back() = "[" + std::to_string(known - reasons.begin() + 1) + "]";
    if (known == reasons.end()) reasons.push_back(row.why);
  }
  std::string text = std::string(report.name) + " of paper " + std::string(report.paper) + ": " +
                     std::string(report.what) + ", in " + rounded(seconds, 4) + " s\n" + columns(lines);
  for (std::size_t i = 0; i < reasons.size(); ++i) text += "[" + std::to_string(i + 1) + "] " + reasons[i] + "\n";
  if (!table.note.empty()) text += table.note + "\n";
  return text;
}

std::optional<double> Pace::growth(const std::string& name) const {
  const auto known = times_.find(name);
  if (known == times_.end() || known->second.size() < 2) return std::nullopt;
  constexpr double moment = 0.05;  // what takes no longer says little of growth
  constexpr double least = 1;
  constexpr double most = 7;  // small sizes can jump from one method to another
  const auto& [size, seconds] = known->second.back();
  const auto& [size_before, seconds_before] = known->second[known->second.size() - 2];
  if (size <= size_before || seconds < moment) return std::nullopt;
  return std::clamp(std::log(seconds / seconds_before) / std::log(size / size_before), least, most);
}

double Pace::expected(const std::string& name, double size, double power) const {
  const auto known = times_.find(name);
  if (known == times_.end()) return 0;
  const auto [last_size, last_seconds] = known->second.back();
  return last_seconds * std::pow(size / last_size, growth(name).value_or(power));
}

void Pace::took(const std::string& name, double size, double seconds) {
  constexpr double clock_tick = 1e-6;
  times_[name].emplace_back(size, std::max(seconds, clock_tick));
}

void add_report(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* sub = app.add_subcommand("report", "Make a table of the papers again, beside the papers' own figures");
  CLI::Option* name = sub->add_option("name", options->name, "Of the report (below); left out: the list of them");
  CLI::Option* whole =
      sub->add_option("--time-limit", options->time_limit_seconds, "For the whole table; what it leaves out is said")
          ->type_name("SECONDS")
          ->check(seconds_from(0))
          ->capture_default_str();
  sub->add_option(
         "--limit", options->limit_seconds,
         "For each plan of fig7 to fig9, in place of a share of the time there is; the whole table then has no "
         "limit but one that is given")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  sub->add_option("--only", options->only, "Algorithms of fig7, by the names in its rows")
      ->delimiter(',')
      ->type_name("NAME,...");
  sub->add_option("--size", options->size, "small: only what takes seconds, or full")
      ->check(CLI::IsMember({"small", "full"}))
      ->capture_default_str();
  sub->add_option("--threads", options->threads, "Threads to plan with")
      ->check(whole_in(1, most_threads))
      ->capture_default_str();
  for (const char* option : {"--time-limit", "--limit", "--only", "--size", "--threads"}) {
    sub->get_option(option)->needs(name);
  }
  sub->add_flag("--json", options->json, "Machine-readable figures");
  sub->footer("Reports\n" + list_text());
  sub->callback([options, whole, &exit_code] {
    if (options->limit_seconds > 0 && whole->count() == 0) options->time_limit_seconds = 0;
    exit_code = run(*options);
  });
}

}  // namespace libcoll::command

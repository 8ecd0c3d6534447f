#include "libcoll/command/manual.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "libcoll/base/config.h"
#include "libcoll/command/command.h"
#include "libcoll/command/option_records.h"
#include "libcoll/command/planner_help.h"
#include "libcoll/command/planning.h"
#include "libcoll/version.h"
#include "planner/registry/planner.h"
#include "planner/topology/generators.h"

namespace libcoll::command {

using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

// ---- roff -----------------------------------------------------------------------------------------------------

/// The code point that begins at `at`, which is moved behind it. Precondition: UTF-8.
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at++]);
  if (byte < 0x80) return byte;
  const int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
  std::uint32_t point = byte & (0x3fU >> static_cast<unsigned>(more));
  for (int i = 0; i < more && at < text.size(); ++i) {
    point = (point << 6U) | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  }
  return point;
}

std::string escaped(std::uint32_t point) {
  switch (point) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case 0x2026:  // an ellipsis
      return "...";
    case 0x3b1:  // alpha, which terminals without it know how to replace
      return "\\(*a";
    default:
      break;
  }
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  char name[16];
  std::snprintf(name, sizeof name, "\\[u%04X]", static_cast<unsigned>(point));
  return name;
}

/// As text that roff shows as it stands.
std::string roff(std::string_view text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (std::size_t at = 0; at < text.size();) result += escaped(next_code_point(text, at));
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

/// A sentence as such: with a full stop.
std::string sentence(std::string_view text) {
  const bool ends = text.empty() || text.ends_with('.') || text.ends_with("…");
  return roff(text) + (ends ? "" : ".");
}

std::string entry(const std::string& heading, const std::string& text) {
  return ".TP\n" + heading + "\n" + text + "\n";
}

// ---- options of the command line ----------------------------------------------------------------------------------

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string positional_name(const CLI::Option& option) {
  return upper(option.get_positional() ? option.get_name(true) : std::string());
}

/// The long names: "--topology".
std::vector<std::string> flags(const CLI::Option& option) {
  std::vector<std::string> names = option.get_lnames();
  for (std::string& name : names) name.insert(0, "--");
  return names;
}

std::string heading(const CLI::Option& option) {
  std::vector<std::string> parts;
  if (option.get_positional()) parts.push_back(italic(positional_name(option)));
  for (const std::string& flag : flags(option)) {
    const std::string value = option.get_positional() ? positional_name(option) : value_name(option);
    parts.push_back(bold(flag) + (value.empty() ? "" : " " + italic(value)));
  }
  return join(parts, ", ");
}

/// By name, whatever their order in memory.
std::string listed(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* option : options) {
    names.insert(option->get_lnames().empty() ? positional_name(*option) : flags(*option).front());
  }
  return join({names.begin(), names.end()}, ", ");
}

std::string description(const CLI::Option& option) {
  std::string text = sentence(option.get_description());
  if (const std::string values = allowed_values(option); !values.empty()) text += "\nOne of: " + sentence(values);
  if (const std::string initial = option.get_default_str(); !initial.empty()) text += "\nDefault: " + sentence(initial);
  if (!option.get_needs().empty()) text += "\nOnly with " + sentence(listed(option.get_needs()));
  if (!option.get_excludes().empty()) text += "\nNot with " + sentence(listed(option.get_excludes()));
  return text;
}

/// What stands in the list of a subcommand's options: all but --help, which every subcommand has.
std::vector<const CLI::Option*> listed_options(const CLI::App& sub) {
  return sub.get_options([](const CLI::Option* option) {
    return !option->check_lname("help") && option->get_group() != planner_options_group;
  });
}

/// "fabric up" of `app`; null when there is none.
const CLI::App* subcommand(const CLI::App& app, const std::string& words) {
  std::istringstream stream(words);
  const CLI::App* found = &app;
  for (std::string word; stream >> word;) {
    const auto named = found->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; });
    if (named.empty()) return nullptr;
    found = named.front();
  }
  return found == &app ? nullptr : found;
}

std::string synopsis(const CLI::App& sub, const std::string& words) {
  std::string text = bold("libcoll " + words);
  for (const CLI::Option* option : sub.get_options([](const CLI::Option* each) { return each->get_positional(); })) {
    const std::string name = italic(positional_name(*option));
    text += " " + (option->get_required() ? name : "[" + name + "]");
  }
  return text + " [" + italic("OPTION") + " ...]\n";
}

std::string subcommands(const CLI::App& app) {
  std::string text;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    text += entry(bold("libcoll-" + sub->get_name()) + "(1)", sentence(sub->get_description()));
  }
  return text;
}

// ---- the planner table -----------------------------------------------------------------------------------------

/// "bfb, forestcoll (0 to 1048576)": who takes it, planners of equal bounds together.
std::string takers(PlannerOption option) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_bounds;
  for (const Planner& planner : planners()) {
    for (const TakenOption& taken : planner.options) {
      if (taken.option != option) continue;
      const std::string bounds = bounds_text(taken);
      auto group = std::find_if(by_bounds.begin(), by_bounds.end(), [&](const auto& g) { return g.first == bounds; });
      if (group == by_bounds.end()) group = by_bounds.insert(group, {bounds, {}});
      const std::string name(planner.name);
      if (std::find(group->second.begin(), group->second.end(), name) == group->second.end())
        group->second.push_back(name);
    }
  }
  std::vector<std::string> groups;
  groups.reserve(by_bounds.size());
  for (const auto& [bounds, names] : by_bounds) {
    groups.push_back(join(names, ", ") + (bounds.empty() ? "" : " (" + bounds + ")"));
  }
  return join(groups, "; ");
}

std::string algorithms() {
  std::string text;
  std::set<std::string_view> seen;
  for (const Planner& first : planners()) {
    if (!seen.insert(first.name).second) continue;
    std::string uses;
    for (const Planner& planner : planners()) {
      if (planner.name != first.name) continue;
      const std::string needs = to_string(planner.needs);
      uses += (uses.empty() ? "" : ".br\n") + italic(to_string(planner.collective)) + ": " +
              sentence(std::string(planner.text) + (needs.empty() ? "" : "; needs " + needs)) + "\n";
    }
    text += ".TP\n" + bold(first.name) + "\n" + uses;
  }
  return text;
}

std::string topologies() {
  std::string text;
  for (const Generator& generator : generators()) {
    text += entry(bold(generator.form), sentence(generator.text) + "\nExample: " + roff(generator.example) + ".");
  }
  return text;
}

// ---- lists with text of the template's own ----------------------------------------------------------------------

/// An entry of a list and the name that the template calls it by.
struct ListEntry {
  std::vector<std::string> names;
  std::string text;
};

std::vector<ListEntry> option_entries(const CLI::App& sub) {
  std::vector<ListEntry> entries;
  for (const CLI::Option* option : listed_options(sub)) {
    std::vector<std::string> names = flags(*option);
    if (option->get_positional()) names.push_back(positional_name(*option));
    entries.push_back({names, entry(heading(*option), description(*option))});
  }
  return entries;
}

std::vector<ListEntry> planner_option_entries(const CLI::App& plan) {
  std::vector<ListEntry> entries;
  for (const PlannerOptionRecord& record : planner_option_records()) {
    const std::string flag(record.flag);
    const CLI::Option& option = *plan.get_option(flag);
    entries.push_back(
        {{flag}, entry(heading(option), description(option) + "\nPlanners: " + sentence(takers(record.option)))});
  }
  return entries;
}

std::vector<ListEntry> setting_entries(bool advanced) {
  std::vector<ListEntry> entries;
  for (const Setting& setting : settings()) {
    if (setting.advanced != advanced) continue;
    const std::string name = "LIBCOLL_" + upper(std::string(setting.name));
    std::string text = sentence(setting.text);
    text += "\nDefault: " + (setting.default_value.empty() ? "empty." : sentence(setting.default_value));
    if (!setting.bounds.empty()) text += "\nValues: " + sentence(setting.bounds);
    entries.push_back({{name}, entry(bold(name), text)});
  }
  return entries;
}

/// Fills one template in, line by line.
class Page {
 public:
  Page(const CLI::App& app, const std::string& file) : app_(app), file_(file) {}

  Result<std::string> fill(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; !error_ && std::getline(lines, line);) {
      ++line_;
      if (line.starts_with('@') && !line.starts_with("@VERSION@")) {
        directive(line.substr(1));
      } else {
        out() += with_version(line) + "\n";
      }
    }
    if (list_ && !error_) refuse("found the end of the file in a list, expected @END");
    if (error_) return *error_;
    return page_;
  }

 private:
  void refuse(const std::string& what) { error_ = Error{file_ + ":" + std::to_string(line_) + ": " + what}; }

  /// Where text goes: the page, or an entry of the list that is open.
  std::string& out() { return list_ && current_ < list_->size() ? (*list_)[current_].text : page_; }

  static std::string with_version(std::string line) {
    constexpr std::string_view mark = "@VERSION@";
    for (std::size_t at = 0; (at = line.find(mark)) != std::string::npos;)
      line.replace(at, mark.size(), LIBCOLL_VERSION);
    return line;
  }

  void directive(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string words = space == std::string::npos ? "" : line.substr(space + 1);
    if (list_) return name == "END" ? end_list() : select(line);
    if (name == "SUBCOMMANDS") {
      page_ += subcommands(app_);
    } else if (name == "ALGORITHMS") {
      page_ += algorithms();
    } else if (name == "TOPOLOGIES") {
      page_ += topologies();
    } else if (name == "SETTINGS" && (words == "users" || words == "advanced")) {
      begin_list(setting_entries(words == "advanced"));
    } else if (name == "PLANNER_OPTIONS") {
      begin_list(planner_option_entries(*subcommand(app_, "plan")));
    } else if (const CLI::App* sub = subcommand(app_, words); sub != nullptr && name == "SYNOPSIS") {
      page_ += synopsis(*sub, words);
    } else if (sub != nullptr && name == "OPTIONS") {
      begin_list(option_entries(*sub));
    } else {
      refuse("found '@" + line + "', expected one of the directives of libcoll/command/manual.h");
    }
  }

  void begin_list(std::vector<ListEntry> entries) {
    list_ = std::move(entries);
    current_ = list_->size();
  }

  void select(const std::string& name) {
    const auto found = std::find_if(list_->begin(), list_->end(), [&](const ListEntry& each) {
      return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
    });
    if (found == list_->end()) return refuse("found '@" + name + "', expected a name in this list, or @END");
    current_ = static_cast<std::size_t>(found - list_->begin());
  }

  void end_list() {
    for (const ListEntry& each : *list_) page_ += each.text;
    list_.reset();
  }

  const CLI::App& app_;
  const std::string& file_;
  std::string page_;
  std::size_t line_ = 0;
  std::optional<std::vector<ListEntry>> list_;
  std::size_t current_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<std::string> manual_page(const CLI::App& app, const std::string& text, const std::string& file) {
  return Page(app, file).fill(text);
}

int write_manual_page(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) {
    return fail("man: found " + std::to_string(arguments.size()) + " arguments, expected TEMPLATE and PAGE");
  }
  const Result<std::string> text = read_text(arguments[0]);
  if (!text) return fail(text.error().message);
  const Result<std::string> page = manual_page(app, *text, arguments[0]);
  if (!page) return fail(page.error().message);
  const Status written = write_text(arguments[1], *page);
  return written ? finish_output(ExitCode::good) : fail(written.error().message);
}

}  // namespace libcoll::command

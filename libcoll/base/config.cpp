#include "libcoll/base/config.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "libcoll/base/safe_file.h"
#include "libcoll/setting_names.h"
#include "planner/base/toml_text.h"

namespace libcoll {

using namespace schedule;

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view prefix = "LIBCOLL_";
constexpr std::size_t longest_warning = 4096;

constexpr std::int64_t operator""_K(unsigned long long number) { return static_cast<std::int64_t>(number) << 10; }
constexpr std::int64_t operator""_M(unsigned long long number) { return static_cast<std::int64_t>(number) << 20; }
constexpr std::int64_t operator""_G(unsigned long long number) { return static_cast<std::int64_t>(number) << 30; }

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }
char upper(char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; }

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

std::string environment_name(std::string_view setting) {
  std::string result(prefix);
  std::transform(setting.begin(), setting.end(), std::back_inserter(result), upper);
  return result;
}

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

// ---- values as text -------------------------------------------------------------------------------------------

std::string print_bytes(std::int64_t bytes) {
  if (bytes == unlimited) return "inf";
  constexpr std::array<std::pair<std::int64_t, std::string_view>, 3> units = {{{1_G, "G"}, {1_M, "M"}, {1_K, "K"}}};
  for (const auto& [size, letter] : units) {
    if (bytes != 0 && bytes % size == 0) return std::to_string(bytes / size) + std::string(letter);
  }
  return std::to_string(bytes);
}

Result<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return Error{in_quotes(text) + " is not a whole number"};
  return number;
}

Result<bool> parse_boolean(std::string_view text) {
  const std::string word = lowered(text);
  for (const std::string_view yes : {"1", "true", "yes", "on", "y"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off", "n"}) {
    if (word == no) return false;
  }
  return Error{in_quotes(text) + " is neither yes nor no"};
}

constexpr std::array<std::string_view, 5> log_level_names = {"error", "warn", "info", "debug", "trace"};

Result<LogLevel> parse_log_level(std::string_view text) {
  const auto* found = std::find(log_level_names.begin(), log_level_names.end(), lowered(text));
  if (found == log_level_names.end()) return Error{in_quotes(text) + " is not a log level"};
  return static_cast<LogLevel>(found - log_level_names.begin());
}

Status check_bounds(std::int64_t value, std::int64_t low, std::int64_t high, std::string_view text) {
  if (value < low || value > high) return Error{in_quotes(text) + " is out of bounds"};
  return {};
}

// ---- the records ----------------------------------------------------------------------------------------------
// Bounds and defaults are made from the numbers that parsing uses and from Config itself, so they cannot disagree.

template <std::int64_t Low, std::int64_t High>
std::string_view byte_bounds() {
  static const std::string bounds = print_bytes(Low) + ".." + print_bytes(High);
  return bounds;
}

template <std::int64_t Low, std::int64_t High>
std::string_view integer_bounds() {
  static const std::string bounds = std::to_string(Low) + ".." + std::to_string(High);
  return bounds;
}

std::string_view log_level_bounds() {
  static const std::string bounds = [] {
    std::string joined;
    for (const std::string_view name : log_level_names) joined += (joined.empty() ? "" : "|") + std::string(name);
    return joined;
  }();
  return bounds;
}

template <std::int64_t Config::*Field, std::int64_t Low, std::int64_t High>
Setting bytes(std::string_view name, std::string_view text) {
  return {name,
          SettingType::bytes,
          {},
          byte_bounds<Low, High>(),
          text,
          [](Config& config, std::string_view value) -> Status {
            const Result<std::int64_t> number = parse_bytes(value);
            if (!number) return number.error();
            if (Status fits = check_bounds(*number, Low, High, value); !fits) return fits;
            config.*Field = *number;
            return {};
          },
          [](const Config& config) { return print_bytes(config.*Field); }};
}

template <std::int64_t Config::*Field, std::int64_t Low, std::int64_t High>
Setting integer(std::string_view name, std::string_view text) {
  return {name,
          SettingType::integer,
          {},
          integer_bounds<Low, High>(),
          text,
          [](Config& config, std::string_view value) -> Status {
            const Result<std::int64_t> number = parse_integer(value);
            if (!number) return number.error();
            if (Status fits = check_bounds(*number, Low, High, value); !fits) return fits;
            config.*Field = *number;
            return {};
          },
          [](const Config& config) { return std::to_string(config.*Field); }};
}

template <std::string Config::*Field>
Setting text(std::string_view name, std::string_view text) {
  return {name,
          SettingType::text,
          {},
          "",
          text,
          [](Config& config, std::string_view value) -> Status {
            config.*Field = value;
            return {};
          },
          [](const Config& config) { return config.*Field; }};
}

template <bool Config::*Field>
Setting boolean(std::string_view name, std::string_view text) {
  return {name,
          SettingType::boolean,
          {},
          "yes|no",
          text,
          [](Config& config, std::string_view value) -> Status {
            const Result<bool> answer = parse_boolean(value);
            if (!answer) return answer.error();
            config.*Field = *answer;
            return {};
          },
          [](const Config& config) { return std::string(config.*Field ? "yes" : "no"); }};
}

Setting log_level(std::string_view name, std::string_view text) {
  return {
      name,
      SettingType::choice,
      {},
      log_level_bounds(),
      text,
      [](Config& config, std::string_view value) -> Status {
        const Result<LogLevel> level = parse_log_level(value);
        if (!level) return level.error();
        config.log_level = *level;
        return {};
      },
      [](const Config& config) { return std::string(log_level_names.at(static_cast<std::size_t>(config.log_level))); }};
}

Setting transport(std::string_view name, std::string_view text) {
  return {name,
          SettingType::choice,
          {},
          "auto|ucx|ofi|mpi",
          text,
          [](Config& config, std::string_view value) -> Status {
            const std::string word = lowered(value);
            for (const std::string_view known : {"auto", "ucx", "ofi", "mpi"}) {
              if (word != known) continue;
              config.transport = word;
              return {};
            }
            return Error{in_quotes(value) + " is not a transport"};
          },
          [](const Config& config) { return config.transport; }};
}

Setting one_node(std::string_view name, std::string_view text) {
  return {name,
          SettingType::choice,
          {},
          "no|yes|faster",
          text,
          [](Config& config, std::string_view value) -> Status {
            if (lowered(value) == "faster") {
              config.one_node = OneNode::faster;
              return {};
            }
            const Result<bool> answer = parse_boolean(value);
            if (!answer) return Error{in_quotes(value) + " is not no, yes or faster"};
            config.one_node = *answer ? OneNode::yes : OneNode::no;
            return {};
          },
          [](const Config& config) {
            constexpr std::array<std::string_view, 3> names{"no", "yes", "faster"};
            return std::string(names.at(static_cast<std::size_t>(config.one_node)));
          }};
}

Setting stats(std::string_view name, std::string_view text) {
  return {name,
          SettingType::choice,
          {},
          "summary|json:FILE",
          text,
          [](Config& config, std::string_view value) -> Status {
            constexpr std::string_view file = "json:";
            const bool good = value.empty() || value == "summary" || (value.starts_with(file) && value != file);
            if (!good) return Error{in_quotes(value) + " is no kind of statistics"};
            config.stats = value;
            return {};
          },
          [](const Config& config) { return config.stats; }};
}

/// "MPI_Reduce_scatter"
std::string mpi_name(CallKind kind) {
  std::string name(to_string(kind));
  name.front() = upper(name.front());
  return "MPI_" + name;
}

/// Which planner, for the call that bears the collective's name; its relatives are served by the same plan or not.
template <CallKind Kind, std::string Config::*Field>
Setting call() {
  static const std::string collective(to_string(*collective_of(Kind)));
  static const bool chooses = collective == to_string(Kind);
  static const std::string description =
      chooses ? "Planner of " + mpi_name(Kind) + " by name; auto: the default; native: MPI's own."
              : mpi_name(Kind) + ", auto: as " + environment_name(collective) + " says; native: MPI's own.";
  return {to_string(Kind),
          chooses ? SettingType::text : SettingType::choice,
          {},
          chooses ? "" : "auto|native",
          description,
          [](Config& config, std::string_view value) -> Status {
            if (!chooses && value != "auto" && value != "native") {
              return Error{in_quotes(value) + " is neither auto nor native"};
            }
            config.*Field = value;
            return {};
          },
          [](const Config& config) { return config.*Field; }};
}

std::vector<Setting> make_settings() {
  return {
      boolean<&Config::enable>("enable", "Serve collectives at all; no leaves every call to MPI."),
      text<&Config::topology>(
          "topology", "Specification (torus:2x2x2) or absolute path of the topology file; empty: serve nothing."),
      text<&Config::route_binding>("route_binding",
                                   "Path of the route binding file: how a route class is reached; empty: no steering."),
      transport("transport", "What messages travel by; auto: the first of ucx, ofi (libfabric) and mpi that works."),
      text<&Config::tuning_table>("tuning_table",
                                  "Path of the table that leaves calls to MPI where that is faster (libcoll tune)."),
      boolean<&Config::measure>(
          "measure",
          "Without a tuning table, try both ways at first calls and leave small ones to MPI if it is faster."),
      boolean<&Config::cost_model>("cost_model",
                                   "Without either, choose between MPI and plans by measured latency and bandwidth of "
                                   "links and MPI's own times."),
      text<&Config::ofi_provider>("ofi_provider",
                                  "libfabric's provider (tcp;ofi_rxm, efa, cxi, ...); empty: its best across nodes."),
      log_level("log_level", "How much is said on stderr."),
      stats("stats", "Totals of the job at MPI_Finalize: a table on stderr, or JSON into FILE; empty: none."),
      text<&Config::trace>("trace", "File of Chrome trace events, %r in it is the rank (else FILE.RANK); empty: none."),
      integer<&Config::trace_events, 0, 1'000'000'000>("trace_events",
                                                       "Trace events that a rank keeps; others are dropped."),
      text<&Config::cache_dir>("cache_dir", "Directory of plans; empty: $XDG_CACHE_HOME/libcoll or ~/.cache/libcoll."),
      text<&Config::command>("command",
                             "Path of the libcoll command that makes missing plans; empty: beside the library."),
      boolean<&Config::background_planning>(
          "background_planning",
          "Leave calls that add nothing up to MPI while a missing plan is made, instead of waiting for it."),
      integer<&Config::planning_seconds, 1, 86'400>(
          "planning_seconds", "A missing plan that takes longer to make is given up, and its calls go to MPI."),
#define LIBCOLL_CALL(name, collective) call<CallKind::name, &Config::name>(),
#include "libcoll/calls.def"
      boolean<&Config::nonblocking>("nonblocking",
                                    "Serve MPI_Iallreduce and the like as their blocking variants; no: MPI's own."),
      boolean<&Config::progress_thread>(
          "progress_thread",
          "A thread moves nonblocking calls along while the program computes; on a free core where there is one."),
      bytes<&Config::segment_bytes, 1_K, 1_G>("segment_bytes", "Transfers are cut into segments of this size."),
      bytes<&Config::coalesce_max, 0_K, 16_M>(
          "coalesce_max", "Smaller pieces for one peer and step travel in one message; up to half of it by one route."),
      bytes<&Config::planless_max, 0_K, 64_K>(
          "planless_max",
          "Allreduces and allgathers of this size, all ranks' data together, go from rank to rank at once; 0: never."),
      bytes<&Config::valiant_threshold, 0_K, unlimited>(
          "valiant_threshold",
          "An alltoallv or alltoallw of a block this long goes by way of all nodes where links gain by it; 0: never."),
      bytes<&Config::round_bytes, 64_K, unlimited>("round_bytes",
                                                   "A call larger than this per rank runs in several rounds."),
      integer<&Config::in_flight, 1, 1024>("in_flight", "Messages in flight per peer."),
      integer<&Config::poll_microseconds, 0, 1'000'000>(
          "poll_microseconds",
          "A waiting rank polls this long before it blocks, 100 times as long for messages through the host's memory."),
      boolean<&Config::pacing>("pacing",
                               "Steered messages leave at the rate that the plan and the topology's bandwidths give."),
      text<&Config::host>("host", "Name of this host as the topology has it; empty: as MPI says."),
      text<&Config::placement>(
          "placement", "File with a line \"rank 0=HOST\" for every rank; empty: ranks are where host names say."),
      integer<&Config::leaders, 0, 4096>(
          "leaders", "Ranks of a node that move its data between nodes at most; 0: as many as every node has."),
      bytes<&Config::node_bytes, 64_K, 1_G>(
          "node_bytes", "Memory that the ranks of a node share per communicator; larger calls run in several rounds."),
      one_node(
          "one_node",
          "Serve communicators whose ranks are all on one node, too; faster: where calls were tried and seen to be, "
          "or a tuning table says so."),
      boolean<&Config::single_copy>("single_copy",
                                    "Ranks of a host read each other's buffers in long calls, where the system lets "
                                    "them; no: they copy through memory that they share."),
      integer<&Config::timeout_seconds, 0, 86'400>(
          "timeout_seconds", "A call in which nothing moves for this long fails; 0: it waits as long as MPI would."),
      integer<&Config::watchdog_seconds, 0, 86'400>(
          "watchdog_seconds",
          "A call in which nothing moves for this long is told of on stderr, with the ranks it waits for; 0: never."),
      integer<&Config::resend_seconds, 0, 3600>("resend_seconds",
                                                "Messages missing for this long are sent again another way; 0: never."),
      boolean<&Config::watch_topology>("watch_topology",
                                       "Go by new plans when the topology file changes while the program runs."),
  };
}

const Setting* find_setting(std::string_view name) {
  const auto found =
      std::find_if(settings().begin(), settings().end(), [&](const Setting& s) { return s.name == name; });
  return found == settings().end() ? nullptr : &*found;
}

// ---- sources of values ----------------------------------------------------------------------------------------

/// Assigns, or says after `where` what is wrong and what was expected.
void assign(LoadedConfig& loaded, const Setting& setting, std::string_view value, const std::string& where) {
  const Status assigned = setting.assign(loaded.config, value);
  if (assigned.ok()) return;
  std::string warning = where + ": " + assigned.error().message;
  if (!setting.bounds.empty()) warning += ", expected " + std::string(setting.bounds);
  loaded.warnings.push_back(warning + "; it stays at " + in_quotes(setting.print(loaded.config)));
}

/// A TOML scalar as a user would have written it in the environment.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_boolean()) return std::string(value->get() ? "yes" : "no");
  return std::nullopt;
}

void apply_table(LoadedConfig& loaded, const toml::table& table, const std::string& file) {
  std::map<unsigned, std::pair<std::string, const toml::node*>> by_line;  // warnings in the order of the file
  for (const auto& [key, node] : table) by_line.try_emplace(key.source().begin.line, key.str(), &node);
  for (const auto& [line, entry] : by_line) {
    const auto& [key, node] = entry;
    const std::string where = file + ":" + std::to_string(line);
    std::string setting_place = where;
    setting_place.append(": ").append(key);
    const Setting* setting = find_setting(key);
    const std::optional<std::string> value = scalar_text(*node);
    if (setting == nullptr) {
      std::array<char, longest_warning> text{};
      if (libcoll_is_unknown_key(where.c_str(), key.c_str(), text.data(), text.size())) {
        loaded.warnings.emplace_back(text.data());
      }
    } else if (!value) {
      loaded.warnings.push_back(setting_place + " must be a string, a whole number or true/false");
    } else {
      assign(loaded, *setting, *value, setting_place);
    }
  }
}

void apply_file(LoadedConfig& loaded, const std::string& file) {
  FileTrust trust;
  trust.follow_links = true;     // dot files are often links into a repository
  trust.group_may_write = true;  // umask 002 is common where every user has a group
  const Result<std::optional<std::string>> text = read_trusted_file(AT_FDCWD, file, trust);
  if (!text) {
    loaded.warnings.push_back(file + " " + text.error().message + "; it has no effect");
    return;
  }
  if (!text->has_value()) return;
  const Result<toml::table> table = read_toml(**text, file);
  if (!table) {
    loaded.warnings.push_back(table.error().message + "; the file has no effect");
    return;
  }
  apply_table(loaded, *table, file);
}

/// The last value of a variable; nullopt when it is not set.
std::optional<std::string_view> variable(char* const* environment, std::string_view name) {
  std::optional<std::string_view> result;
  for (char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=') {
      result = text.substr(name.size() + 1);
    }
  }
  return result;
}

void apply_environment(LoadedConfig& loaded, char* const* environment) {
  for (const Setting& setting : settings()) {
    const std::string name = environment_name(setting.name);
    if (const auto value = variable(environment, name)) assign(loaded, setting, *value, name);
  }
}

void warn_of_unknown_variables(LoadedConfig& loaded, char* const* environment) {
  for (char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    std::array<char, longest_warning> text{};
    if (!libcoll_is_unknown_variable(*entry, text.data(), text.size())) continue;
    std::string warning(text.data());
    if (std::find(loaded.warnings.begin(), loaded.warnings.end(), warning) == loaded.warnings.end()) {
      loaded.warnings.push_back(std::move(warning));
    }
  }
}

std::vector<std::string> standard_files(char* const* environment) {
  std::vector<std::string> files = {"/etc/libcoll.toml"};
  const std::string_view config_home = variable(environment, "XDG_CONFIG_HOME").value_or("");
  const std::string_view home = variable(environment, "HOME").value_or("");
  if (config_home.starts_with('/')) {
    files.push_back(std::string(config_home) + "/libcoll/libcoll.toml");
  } else if (!home.empty()) {
    files.push_back(std::string(home) + "/.config/libcoll/libcoll.toml");
  }
  files.emplace_back("./libcoll.toml");
  return files;
}

/// The value as it stands in a TOML file.
std::string toml_value(const Setting& setting) {
  if (setting.type == SettingType::boolean) return setting.default_value == "yes" ? "true" : "false";
  if (setting.type == SettingType::integer) return std::string(setting.default_value);
  return in_quotes(setting.default_value);
}

/// The lines of one setting.
std::string commented_setting(const Setting& setting) {
  std::string lines = "\n# ";
  lines += setting.text;
  lines += "\n# ";
  if (!setting.bounds.empty()) lines.append(setting.bounds).append("; ");
  lines += "environment: " + environment_name(setting.name) + "\n#";
  return lines.append(setting.name).append(" = ").append(toml_value(setting)).append("\n");
}

}  // namespace

const std::string& call_setting(const Config& config, CallKind kind) {
  static const std::string native = "native";
  switch (blocking_variant(kind)) {
#define LIBCOLL_CALL(name, collective) \
  case CallKind::name:                 \
    return config.name;
#include "libcoll/calls.def"
    default:
      break;
  }
  return native;
}

std::span<const Setting> settings() {
  static const std::vector<std::string> defaults = [] {
    std::vector<std::string> printed;
    for (const Setting& setting : make_settings()) printed.push_back(setting.print(Config{}));
    return printed;
  }();
  static const std::vector<Setting> table = [] {
    std::vector<Setting> made = make_settings();
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].default_value = defaults[i];
      const libcoll_setting_name* listed = libcoll_find_setting(std::string(made[i].name).c_str());
      if (listed == nullptr) continue;  // a test compares both lists
      made[i].scope = listed->of_rank ? SettingScope::rank : SettingScope::job;
      made[i].advanced = !listed->for_users;
    }
    return made;
  }();
  return table;
}

LoadedConfig load_config(char* const* environment) { return load_config(environment, standard_files(environment)); }

LoadedConfig load_config(char* const* environment, std::span<const std::string> files) {
  LoadedConfig loaded;
  for (const std::string& file : files) apply_file(loaded, file);
  apply_environment(loaded, environment);
  warn_of_unknown_variables(loaded, environment);
  return loaded;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const Error bad{in_quotes(text) + " is not a size such as 4096, 64K, 1.5M, 2G or inf"};
  std::string word = lowered(text);
  if (word == "inf") return unlimited;
  if (word.ends_with("ib")) {
    word.resize(word.size() - 2);
  } else if (word.ends_with("b")) {
    word.resize(word.size() - 1);
  }
  constexpr std::string_view letters = "kmgt";
  const std::size_t unit = word.empty() ? letters.npos : letters.find(word.back());
  if (unit != letters.npos) word.pop_back();
  const double scale = unit == letters.npos ? 1 : std::exp2(10.0 * static_cast<double>(unit + 1));
  if (word.empty() || word.find_first_not_of("0123456789.") != std::string::npos) return bad;
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != word.data() + word.size()) return bad;
  const double bytes_wanted = number * scale;
  // Above 2^53 a double no longer counts single bytes, and nobody means such a size.
  if (bytes_wanted > std::exp2(53.0)) return Error{in_quotes(text) + " is too large; inf means no limit"};
  if (scale < 2 && word.find('.') != std::string::npos) return bad;
  return static_cast<std::int64_t>(bytes_wanted);
}

std::string commented_config(bool with_advanced) {
  std::string text =
      "# Configuration of libcoll. Every setting stands at its default; take the leading # away to change one.\n"
      "# Order, later wins: built-in, /etc/libcoll.toml, ~/.config/libcoll/libcoll.toml, ./libcoll.toml, "
      "environment.\n";
  const auto append = [&text](bool advanced) {
    for (const Setting& setting : settings()) {
      if (setting.advanced == advanced) text += commented_setting(setting);
    }
  };
  append(false);
  if (with_advanced) {
    text += "\n# ---- Advanced settings: few users need them\n";
    append(true);
  }
  return text;
}

}  // namespace libcoll

#include "libcoll/select/tuning_table.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "libcoll/base/config.h"
#include "libcoll/base/safe_file.h"
#include "planner/base/toml_node.h"
#include "planner/base/toml_text.h"

namespace libcoll::select {
namespace {

constexpr std::int64_t most_ranks = 1 << 24;
constexpr std::int64_t most_alpha_nanoseconds = 3'600'000'000'000;
constexpr std::int64_t most_bytes_per_second = std::int64_t{1} << 50;
constexpr std::int64_t least_listed_segment_bytes = 1024;
constexpr std::int64_t most_segment_bytes = std::int64_t{1} << 30;
constexpr std::int64_t most_in_flight = 1024;

auto place(const TuningChoice& choice) { return std::tuple(choice.call, choice.ranks, choice.up_to_bytes); }

bool before(const TuningChoice& a, const TuningChoice& b) { return place(a) < place(b); }

/// Reads the tables; keeps the first thing that is wrong.
class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  Result<TuningTable> read(const toml::table& root) {
    for (auto&& [key, node] : root) {
      if (key == "links" && node.is_table()) {
        read_links(*node.as_table());
        continue;
      }
      if (key != "choice" || !node.is_array()) {
        refuse(key.source().begin.line,
               "found '" + std::string(key.str()) + "', expected tables headed [[choice]] or [links]");
        continue;
      }
      for (const toml::node& element : *node.as_array()) read_choice(element);
    }
    if (error_) return *error_;
    std::sort(table_.choices.begin(), table_.choices.end(), before);
    return std::move(table_);
  }

 private:
  void refuse(Line line, const std::string& what) {
    if (!error_) error_ = Error{origin_ + ":" + std::to_string(line) + ": " + what};
  }

  void read_links(const toml::table& table) {
    LinkFigures links;
    for (auto&& [key, node] : table) {
      if (key == "alpha_nanoseconds") {
        links.alpha_nanoseconds = bytes(node, "alpha_nanoseconds", 1, most_alpha_nanoseconds);
      } else if (key == "bytes_per_second") {
        links.bytes_per_second = bytes(node, "bytes_per_second", 1, most_bytes_per_second);
      } else {
        refuse(key.source().begin.line,
               "found '" + std::string(key.str()) + "' in [links], expected alpha_nanoseconds or bytes_per_second");
      }
    }
    if (links.alpha_nanoseconds == 0 || links.bytes_per_second == 0) {
      refuse(line_of(table), "found [links] without alpha_nanoseconds or bytes_per_second, expected both");
    }
    table_.links = links;
  }

  void read_choice(const toml::node& element) {
    if (!element.is_table()) return refuse(line_of(element), "choice: found " + shown(element) + ", expected a table");
    const toml::table& table = *element.as_table();
    TuningChoice choice;
    for (const char* needed : {"call", "use"}) {
      if (table.get(needed) == nullptr) {
        return refuse(line_of(table), "found a [[choice]] without '" + std::string(needed) + "', expected one");
      }
    }
    for (auto&& [key, node] : table) read_key(key, node, choice);
    if (!choice.algorithm.empty() && (way_name(choice) != "plan" || !choices_name_planners(choice.call))) {
      return refuse(line_of(table), "found an 'algorithm' for " + std::string(to_string(choice.call)) + " by \"" +
                                        std::string(way_name(choice)) +
                                        "\", expected one for allreduce, allgather, alltoall or "
                                        "reduce_scatter_block by \"plan\"");
    }
    const auto same = [&](const TuningChoice& other) { return place(other) == place(choice); };
    if (std::any_of(table_.choices.begin(), table_.choices.end(), same)) {
      return refuse(line_of(table), "found a second [[choice]] for these calls, expected one");
    }
    table_.choices.push_back(choice);
  }

  void read_key(const toml::key& key, const toml::node& node, TuningChoice& choice) {
    if (key == "call") return read_call(node, choice);
    if (key == "use") return read_use(node, choice);
    if (key == "ranks") {
      choice.ranks = static_cast<std::int32_t>(bytes(node, "ranks", 0, most_ranks));
    } else if (key == "up_to") {
      choice.up_to_bytes = bytes(node, "up_to", 0, any_size);
    } else if (key == "segment_bytes") {
      choice.segment_bytes = bytes(node, "segment_bytes", least_listed_segment_bytes, most_segment_bytes);
    } else if (key == "in_flight") {
      choice.in_flight = bytes(node, "in_flight", 1, most_in_flight);
    } else if (key == "algorithm") {
      read_algorithm(node, choice);
    } else {
      refuse(key.source().begin.line,
             "found '" + std::string(key.str()) +
                 "' in [[choice]], expected call, ranks, up_to, use, algorithm, segment_bytes or in_flight");
    }
  }

  void read_algorithm(const toml::node& node, TuningChoice& choice) {
    const std::string name = node.is_string() ? node.as_string()->get() : "";
    // Plans' files are named after it.
    const bool is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
    if (name.empty() || !is_word || name.size() > PlannerName::most_letters) {
      return refuse(line_of(node), "algorithm: found " + shown(node) + ", expected a planner's name, as \"ring\"");
    }
    choice.algorithm = PlannerName(name);
  }

  void read_call(const toml::node& node, TuningChoice& choice) {
    const std::optional<CallKind> parsed = parse_call(node.is_string() ? node.as_string()->get() : "");
    if (!parsed || !collective_of(*parsed) || is_nonblocking(*parsed)) {
      return refuse(line_of(node), "call: found " + shown(node) + ", expected a call that can be served, as allreduce");
    }
    choice.call = *parsed;
  }

  void read_use(const toml::node& node, TuningChoice& choice) {
    const std::string word = node.is_string() ? node.as_string()->get() : "";
    choice.native = word == "native";
    choice.direct = word == "direct";
    choice.scattered = word == "scattered";
    if (word == way_name(choice)) return;
    refuse(line_of(node), "use: found " + shown(node) + R"(, expected "native", "plan", "direct" or "scattered")");
  }

  /// A number, or text such as "64K", within bounds.
  std::int64_t bytes(const toml::node& node, const std::string& what, std::int64_t least, std::int64_t most) {
    std::optional<std::int64_t> value;
    if (const auto* number = node.as_integer()) value = number->get();
    if (const auto* text = node.as_string()) {
      if (const Result<std::int64_t> parsed = parse_bytes(text->get())) value = *parsed;
    }
    if (value && *value >= least && *value <= most) return *value;
    refuse(line_of(node), what + ": found " + shown(node) + ", expected a number from " + std::to_string(least) +
                              " to " + std::to_string(most));
    return least;
  }

  std::string origin_;
  std::optional<Error> error_;
  TuningTable table_;
};

}  // namespace

bool choices_name_planners(CallKind call) {
  return call == CallKind::allreduce || call == CallKind::allgather || call == CallKind::alltoall ||
         call == CallKind::reduce_scatter_block;
}

std::string_view way_name(const TuningChoice& choice) {
  if (choice.native) return "native";
  if (choice.direct) return "direct";
  return choice.scattered ? "scattered" : "plan";
}

const TuningChoice* TuningTable::find(CallKind call, std::int32_t ranks, std::int64_t bytes) const {
  for (const std::int32_t wanted : {ranks, 0}) {
    const TuningChoice key{call, wanted, bytes, false, 0};
    const auto found = std::lower_bound(choices.begin(), choices.end(), key, before);
    if (found != choices.end() && found->call == call && found->ranks == wanted) return &*found;
  }
  return nullptr;
}

bool TuningTable::knows(CallKind call, std::int32_t ranks) const {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const TuningChoice& choice) { return choice.call == call && choice.ranks == ranks; });
}

void TuningTable::add(const std::vector<TuningChoice>& more) {
  choices.insert(choices.end(), more.begin(), more.end());
  std::sort(choices.begin(), choices.end(), before);
}

Result<TuningTable> read_tuning_table(std::string_view text, std::string_view origin) {
  const Result<toml::table> table = read_toml(text, origin);
  return table ? Reader(origin).read(*table) : table.error();
}

Result<TuningTable> load_tuning_table(const std::string& path) {
  FileTrust trust;
  trust.follow_links = true;
  trust.group_may_write = true;  // as for configuration files
  const Result<std::optional<std::string>> text = read_trusted_file(AT_FDCWD, path, trust);
  if (!text) return Error{"tuning table " + path + " " + text.error().message};
  if (!text->has_value()) return Error{"found no tuning table '" + path + "', expected one that can be read"};
  return read_tuning_table(**text, path);
}

std::string write_tuning_table(const TuningTable& table) {
  std::string text;
  if (table.links) {
    text += "[links]\nalpha_nanoseconds = " + std::to_string(table.links->alpha_nanoseconds) +
            "\nbytes_per_second = " + std::to_string(table.links->bytes_per_second) + "\n\n";
  }
  for (const TuningChoice& choice : table.choices) {
    text += "[[choice]]\ncall = \"" + std::string(to_string(choice.call)) + "\"\n";
    if (choice.ranks != 0) text += "ranks = " + std::to_string(choice.ranks) + "\n";
    if (choice.up_to_bytes != any_size) text += "up_to = " + std::to_string(choice.up_to_bytes) + "\n";
    text.append("use = \"").append(way_name(choice)).append("\"\n");
    if (!choice.algorithm.empty()) text.append("algorithm = \"").append(choice.algorithm.view()).append("\"\n");
    if (choice.segment_bytes != 0) text += "segment_bytes = " + std::to_string(choice.segment_bytes) + "\n";
    if (choice.in_flight != 0) text += "in_flight = " + std::to_string(choice.in_flight) + "\n";
    text += "\n";
  }
  return text;
}

}  // namespace libcoll::select

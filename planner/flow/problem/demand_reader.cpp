#include "planner/flow/problem/demand_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "planner/base/index.h"
#include "planner/base/text_file.h"
#include "planner/base/toml_node.h"
#include "planner/flow/problem/demand.h"

namespace libcoll::flow::problem {

using namespace topology;

namespace {

Error error_at(const std::string& file, std::size_t line, const std::string& what) {
  return Error{file + ":" + std::to_string(line) + ": " + what};
}

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

/// The words of a line between commas, blanks and tabs.
std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view separators = ", \t\r";
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(separators); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(separators, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(separators, end);
  }
  return words;
}

Result<std::vector<double>> read_matrix(std::string_view text, const std::string& file, const Topology& topology) {
  const std::size_t hosts = at(topology.host_count());
  const std::string wanted = "expected " + std::to_string(hosts) + " for the hosts of " + topology.name();
  std::vector<double> demand;
  std::size_t line = 0;
  std::size_t rows = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(begin, end - begin));
    begin = end + 1;
    ++line;
    if (words.empty() || words.front().front() == '#') continue;
    if (++rows > hosts) return error_at(file, line, "found a row too many, " + wanted);
    if (words.size() != hosts) {
      return error_at(file, line, "found " + std::to_string(words.size()) + " amounts, " + wanted);
    }
    for (const std::string_view word : words) {
      double value = 0;
      const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (problem != std::errc() || stop != word.data() + word.size() || !is_amount(value)) {
        return error_at(file, line, "found '" + std::string(word) + "', expected an amount of zero or more");
      }
      demand.push_back(value);
    }
  }
  if (rows < hosts) return error_at(file, line, "found " + std::to_string(rows) + " rows, " + wanted);
  return demand;
}

/// Reads the TOML form.
class Reader {
 public:
  Reader(const std::string& file, const Topology& topology)
      : file_(file), topology_(topology), demand_(at(topology.host_count()) * at(topology.host_count()), 0) {
    for (NodeId node = 0; node < topology.node_count(); ++node) ids_.emplace(topology.node(node).name, node);
  }

  Result<std::vector<double>> read(const toml::table& root) {
    for (auto&& [key, value] : root) {
      if (key.str() == "default" || key.str() == "demand") continue;
      return refuse(key.source().begin.line,
                    "found unknown key '" + std::string(key.str()) + "', expected one of default, demand");
    }
    if (const toml::node* node = root.get("default")) {
      const std::optional<double> value = amount(*node);
      if (!value) return refuse(line_of(*node), "default: found " + shown(*node) + amount_wanted);
      std::fill(demand_.begin(), demand_.end(), *value);
    }
    const toml::node* list = root.get("demand");
    if (list == nullptr) return std::move(demand_);
    if (list->as_array() == nullptr || !list->is_array_of_tables()) {
      return refuse(line_of(*list), "demand: found " + shown(*list) + ", expected tables [[demand]]");
    }
    for (const toml::node& entry : *list->as_array()) {
      if (const Status status = read_entry(*entry.as_table()); !status) return status.error();
    }
    return std::move(demand_);
  }

 private:
  static constexpr const char* amount_wanted = ", expected an amount of zero or more";

  [[nodiscard]] Error refuse(Line line, const std::string& what) const { return error_at(file_, line, what); }

  static std::optional<double> amount(const toml::node& node) {
    const std::optional<double> value = node.value<double>();
    return value && !node.is_boolean() && is_amount(*value) ? value : std::nullopt;
  }

  Result<NodeId> host(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return refuse(line_of(table), "found a demand without '" + std::string(key) + "'");
    std::string name = node->is_string() ? node->as_string()->get() : "";
    if (node->is_integer()) name = std::to_string(node->as_integer()->get());
    const auto known = ids_.find(name);
    const std::string found = std::string(key) + ": found " + shown(*node);
    if (known == ids_.end())
      return refuse(line_of(*node), found + ", expected the name of a node of " + topology_.name());
    if (topology_.node(known->second).is_switch) {
      return refuse(line_of(*node), found + ", which is a switch, expected a host");
    }
    return known->second;
  }

  Status read_entry(const toml::table& table) {
    for (auto&& [key, value] : table) {
      if (key.str() == "from" || key.str() == "to" || key.str() == "amount") continue;
      return refuse(key.source().begin.line,
                    "found unknown key '" + std::string(key.str()) + "', expected one of from, to, amount");
    }
    const Result<NodeId> from = host(table, "from");
    if (!from) return from.error();
    const Result<NodeId> to = host(table, "to");
    if (!to) return to.error();
    const std::string pair = "'" + topology_.node(*from).name + "' to '" + topology_.node(*to).name + "'";
    if (*from == *to) return refuse(line_of(table), "found a demand from " + pair + ", expected two different hosts");
    const toml::node* node = table.get("amount");
    if (node == nullptr) return refuse(line_of(table), "found a demand from " + pair + " without 'amount'");
    const std::optional<double> value = amount(*node);
    if (!value) return refuse(line_of(*node), "amount: found " + shown(*node) + amount_wanted);
    const auto [known, is_new] = lines_.try_emplace({*from, *to}, line_of(table));
    if (!is_new) {
      return refuse(line_of(table), "found a second demand from " + pair + ", expected one, as in line " +
                                        std::to_string(known->second));
    }
    demand_[at(*from) * at(topology_.host_count()) + at(*to)] = *value;
    return {};
  }

  const std::string& file_;
  const Topology& topology_;
  std::vector<double> demand_;
  std::map<std::string, NodeId, std::less<>> ids_;
  std::map<std::pair<NodeId, NodeId>, Line> lines_;
};

bool is_toml(std::string_view text) {
  // No number of a matrix contains these letters in this order.
  return text.find("demand") != std::string_view::npos || text.find("default") != std::string_view::npos;
}

}  // namespace

Result<std::vector<double>> read_demand(std::string_view text, const std::string& file, const Topology& topology) {
  Result<std::vector<double>> demand = std::vector<double>();
  if (is_toml(text)) {
    const toml::parse_result root = toml::parse(text, file);
    if (!root) {
      return error_at(file, root.error().source().begin.line, std::string(root.error().description()));
    }
    demand = Reader(file, topology).read(root.table());
  } else {
    demand = read_matrix(text, file, topology);
  }
  if (!demand) return demand;
  const std::size_t hosts = at(topology.host_count());
  for (std::size_t host = 0; host < hosts; ++host) (*demand)[host * hosts + host] = 0;
  const double largest = demand->empty() ? 0 : *std::max_element(demand->begin(), demand->end());
  if (largest > 0) {
    for (double& amount : *demand) amount /= largest;
  }
  if (const Status status = check_demand(topology, *demand); !status) {
    return error_at(file, 1, status.error().message);
  }
  return demand;
}

Result<std::vector<double>> load_demand(const std::string& path, const Topology& topology) {
  const Result<std::string> text = read_text_file(path, most_text_bytes);
  return text ? read_demand(*text, path, topology) : Error{path + ": cannot be read: " + text.error().message};
}

}  // namespace libcoll::flow::problem

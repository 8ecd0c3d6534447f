#include "planner/exchange/slurm_topology.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/exchange/line_scanner.h"
#include "planner/exchange/named_graph.h"
#include "planner/topology/reader.h"

namespace libcoll::exchange {

using namespace topology;

namespace {

/// One line of the file.
struct SwitchLine {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> switches;
  std::int32_t line = 0;
};

bool same_key(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

Result<SwitchLine> read_switch(std::string_view text, const Lines& lines) {
  SwitchLine result;
  result.line = lines.number();
  LineScanner scanner(text);
  while (!scanner.at_end()) {
    const std::string_view word = scanner.take_word();
    const std::size_t sign = word.find('=');
    const std::string_view key = word.substr(0, sign);
    const std::string_view value = sign == std::string_view::npos ? "" : word.substr(sign + 1);
    const bool nodes = same_key(key, "Nodes");
    if (value.empty()) return lines.error("found '" + std::string(word) + "', expected KEY=VALUE");
    if (same_key(key, "SwitchName")) {
      result.name = value;
    } else if (nodes || same_key(key, "Switches")) {
      Result<std::vector<std::string>> names = expand_hostlist(value);
      if (!names) return lines.error(names.error().message);
      (nodes ? result.nodes : result.switches) = std::move(names).value();
    } else if (!same_key(key, "LinkSpeed")) {
      return lines.error("found the key '" + std::string(key) +
                         "', expected SwitchName, Nodes, Switches or LinkSpeed (topology/tree)");
    }
  }
  if (result.name.empty()) return lines.error("found no SwitchName, expected one in every line");
  if (result.nodes.empty() && result.switches.empty()) {
    return lines.error("found neither Nodes nor Switches of '" + result.name + "', expected one of them");
  }
  return result;
}

Result<std::vector<SwitchLine>> read_lines(Lines& lines) {
  std::vector<SwitchLine> all;
  std::string joined;
  while (const std::optional<std::string_view> line = lines.next()) {
    joined += line->substr(0, line->find('#'));
    if (joined.ends_with('\\')) {
      joined.back() = ' ';
      continue;
    }
    const std::string whole = std::exchange(joined, "");
    if (LineScanner(whole).at_end()) continue;
    Result<SwitchLine> read = read_switch(whole, lines);
    if (!read) return read.error();
    all.push_back(std::move(read).value());
  }
  return all;
}

}  // namespace

Result<Topology> read_slurm_topology(std::string_view text, const std::string& file) {
  Lines lines(text, file);
  const Result<std::vector<SwitchLine>> all = read_lines(lines);
  if (!all) return all.error();
  NamedGraph graph;
  for (const SwitchLine& each : *all) {
    if (!graph.add_node({each.name, "", true})) {
      return lines.error_in(each.line, "found switch '" + each.name + "' a second time, expected it once");
    }
  }
  for (const SwitchLine& each : *all) {
    for (const std::string& node : each.nodes) {
      if (!graph.add_node({node, node, false})) {
        return lines.error_in(each.line, "found node '" + node + "' a second time, expected every name once");
      }
      graph.add_cable(each.name, node);
    }
    for (const std::string& other : each.switches) {
      const auto known =
          std::find_if(all->begin(), all->end(), [&](const SwitchLine& candidate) { return candidate.name == other; });
      if (known == all->end()) {
        return lines.error_in(each.line, "found no SwitchName=" + other + ", expected every switch of 'Switches'");
      }
      graph.add_cable(each.name, other);
    }
  }
  return graph.topology(file_stem(file), file);
}

}  // namespace libcoll::exchange

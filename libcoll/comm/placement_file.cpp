#include "libcoll/comm/placement_file.h"

#include <charconv>

#include "libcoll/comm/rank_nodes.h"
#include "planner/base/text_file.h"

namespace libcoll::comm {

using namespace topology;

namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::size_t most_bytes = 64U << 20U;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

struct Entry {
  std::int32_t rank = 0;
  std::string_view name;
};

/// "rank 3=n5 slot=0"; nothing when it is no such line.
std::optional<Entry> parse_entry(std::string_view line) {
  constexpr std::string_view word = "rank";
  if (!line.starts_with(word) || line.size() == word.size() || blanks.find(line[word.size()]) == std::string_view::npos)
    return std::nullopt;
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view number = trimmed(line.substr(word.size(), equals - word.size()));
  Entry entry;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), entry.rank);
  if (error != std::errc() || end != number.data() + number.size() || entry.rank < 0) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(equals + 1));
  entry.name = rest.substr(0, rest.find_first_of(blanks));
  return entry.name.empty() ? std::nullopt : std::optional(entry);
}

std::optional<NodeId> find_place(const Topology& topology, std::string_view name) {
  if (const std::optional<NodeId> host = find_host(topology, name)) return host;
  for (NodeId node = 0; node < topology.host_count(); ++node) {
    if (topology.node(node).name == name) return node;
  }
  return std::nullopt;
}

}  // namespace

Result<NodeId> read_placement(std::string_view text, const std::string& file, const Topology& topology,
                              std::int32_t world_rank) {
  std::optional<NodeId> found;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = trimmed(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const std::string place = file + ":" + std::to_string(number) + ": ";
    const std::optional<Entry> entry = parse_entry(line);
    if (!entry) return Error{place + "found '" + std::string(line) + "', expected a line such as rank 0=HOST"};
    if (entry->rank != world_rank) continue;
    if (found) return Error{place + "found rank " + std::to_string(world_rank) + " a second time, expected it once"};
    found = find_place(topology, entry->name);
    if (!found) {
      return Error{place + "found '" + std::string(entry->name) + "', expected a host or node of '" + topology.name() +
                   "'"};
    }
  }
  if (!found) return Error{file + ": found no rank " + std::to_string(world_rank) + ", expected a line for every rank"};
  return *found;
}

Result<NodeId> load_placement(const std::string& path, const Topology& topology, std::int32_t world_rank) {
  const Result<std::string> text = read_text_file(path, most_bytes);
  if (text) return read_placement(*text, path, topology, world_rank);
  return Error{"found no placement file '" + path + "' (" + text.error().message + "), expected one"};
}

}  // namespace libcoll::comm

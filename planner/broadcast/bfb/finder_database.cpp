#include "planner/broadcast/bfb/finder_database.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace libcoll::broadcast::bfb {
namespace {

constexpr std::string_view format = "# libcoll topologies 1, links ";
constexpr std::string_view any = "any";
constexpr std::string_view cables = "both ways";

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Rational> parse_fraction(std::string_view text) {
  const std::optional<Rational> value = Rational::parse(text);
  return value && *value >= Rational(0) ? value : std::nullopt;
}

Error fault(const std::string& file, std::int64_t number, std::string_view line, std::string_view expected) {
  std::string message = file + ":" + std::to_string(number) + ": found \"";
  message.append(line).append("\", expected ").append(expected);
  return Error{std::move(message)};
}

/// One line after the first.
std::optional<FoundTopology> parse_member(std::string_view line) {
  std::array<std::string_view, 4> fields;
  for (std::string_view& field : fields) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    field = line.substr(0, comma);
    line = line.substr(comma + 1);
  }
  const auto nodes = parse<std::int32_t>(fields[0]);
  const auto degree = parse<std::int32_t>(fields[1]);
  const auto steps = parse<std::int64_t>(fields[2]);
  const auto time = parse_fraction(fields[3]);
  if (!nodes || !degree || !steps || !time) return std::nullopt;
  if (*nodes < 2 || *nodes > max_finder_nodes || *degree < 1 || *degree > max_finder_degree || *steps < 0) {
    return std::nullopt;
  }
  if ((*steps == 0) != line.empty()) return std::nullopt;
  FoundTopology member;
  member.specification = line;
  member.cost = {*nodes, *degree, *steps, *time};
  return member;
}

void find_all(TopologyFinder& finder, std::int32_t most_nodes, std::int32_t degree, FinderDatabase& database,
              const Deadline& deadline) {
  for (std::int32_t nodes = 2; nodes <= most_nodes && !deadline.passed(); ++nodes) {
    database.frontiers[{nodes, degree}] = finder.frontier(nodes, degree);
  }
}

}  // namespace

FinderDatabase sweep(Direction direction, std::int32_t most_nodes, const std::vector<std::int32_t>& degrees,
                     std::int32_t threads, const Deadline& deadline) {
  FinderDatabase database{direction, {}};
  if (threads <= 1) {
    TopologyFinder finder(direction);
    for (const std::int32_t degree : degrees) find_all(finder, most_nodes, degree, database, deadline);
    return database;
  }
  // Higher degrees take longer. Each has a finder of its own: what they share is found again.
  std::vector<std::int32_t> order = degrees;
  std::sort(order.begin(), order.end(), std::greater<>());
  std::vector<FinderDatabase> parts(order.size(), database);
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> workers;
    workers.reserve(static_cast<std::size_t>(threads));
    for (std::int32_t worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&] {
        for (std::size_t turn = next++; turn < order.size(); turn = next++) {
          TopologyFinder finder(direction);
          find_all(finder, most_nodes, order[turn], parts[turn], deadline);
        }
      });
    }
  }
  for (FinderDatabase& part : parts) database.frontiers.merge(part.frontiers);
  return database;
}

std::string write_database(const FinderDatabase& database) {
  std::string text(format);
  text.append(database.direction == Direction::any ? any : cables).append("\n");
  for (const auto& [key, frontier] : database.frontiers) {
    const std::string ends = std::to_string(key.first) + "," + std::to_string(key.second) + ",";
    if (frontier.empty()) text += ends + "0,0,\n";
    for (const FoundTopology& member : frontier) {
      text += ends + std::to_string(member.cost.steps) + "," + member.cost.bandwidth_time.to_string() + "," +
              member.specification + "\n";
    }
  }
  return text;
}

Result<FinderDatabase> read_database(std::string_view text, const std::string& file) {
  FinderDatabase database;
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (++number == 1) {
      const bool known =
          line.starts_with(format) && (line.substr(format.size()) == any || line.substr(format.size()) == cables);
      if (!known) return fault(file, number, line, "\"# libcoll topologies 1, links any\"");
      database.direction = line.substr(format.size()) == any ? Direction::any : Direction::cables_only;
      continue;
    }
    std::optional<FoundTopology> member = parse_member(line);
    if (!member) return fault(file, number, line, "nodes,degree,steps,bandwidth_time,specification");
    auto& frontier =
        database
            .frontiers[{static_cast<std::int32_t>(member->cost.nodes), static_cast<std::int32_t>(member->cost.degree)}];
    if (member->cost.steps > 0) frontier.push_back(*std::move(member));
  }
  if (number == 0) return Error{file + ":1: found nothing, expected a database of topologies"};
  return database;
}

}  // namespace libcoll::broadcast::bfb

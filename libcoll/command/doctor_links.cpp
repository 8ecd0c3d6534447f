#include "libcoll/command/doctor_links.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "libcoll/command/doctor_messages.h"
#include "planner/base/index.h"

namespace libcoll::command {

using namespace topology;

namespace {

constexpr double open_seconds = 60;
constexpr double answer_seconds = 10;  ///< beyond the time limit of a measurement

/// Long enough for processes that share processors with others, short enough for a thousand links.
constexpr double wanted_seconds = 0.25;
constexpr std::int32_t messages = 64;
/// Of a link that carries beside others: so that all of them are under way for most of the time.
constexpr std::int32_t messages_together = 256;
constexpr std::int64_t least_message_bytes = 4096;
constexpr std::int32_t pings = 32;
/// Of the wanted time: a link this much slower than the file says is called dead.
constexpr double most_slowness = 40;

std::int64_t message_bytes_for(const Link& link) {
  const double bytes = static_cast<double>(link.bandwidth_bytes_per_second) * wanted_seconds / messages;
  return std::clamp(static_cast<std::int64_t>(bytes), least_message_bytes, longest_message_bytes);
}

/// The better of two: other things on the machine only ever make a link look worse.
void keep_better(std::optional<double>& kept, double measured, bool larger) {
  if (!kept || (larger ? measured > *kept : measured < *kept)) kept = measured;
}

}  // namespace

OpenedTransports open_transports(DoctorJob& job, const std::vector<std::int32_t>& ranks) {
  std::map<std::int32_t, Json> questions;
  for (const std::int32_t rank : ranks) questions.emplace(rank, Json{{"open", true}});
  const std::map<std::int32_t, Json> answers = job.ask(questions, open_seconds);
  OpenedTransports opened;
  for (const std::int32_t rank : ranks) {
    const auto answer = answers.find(rank);
    if (answer == answers.end()) {
      opened.errors.emplace(rank, "its process did not answer");
    } else if (answer->second.contains("address")) {
      opened.addresses.emplace(rank, from_hex(text_field(answer->second, "address")));
      opened.name = text_field(answer->second, "transport");
    } else {
      opened.errors.emplace(rank, text_field(answer->second, "error", "its process gave no reason"));
    }
  }
  return opened;
}

LinkSurvey::LinkSurvey(DoctorJob& job, const Topology& topology, std::vector<std::int32_t> rank_of_node,
                       const OpenedTransports& transports, double tolerance, std::vector<std::vector<LinkId>> ways)
    : job_(job),
      topology_(topology),
      rank_of_node_(std::move(rank_of_node)),
      transports_(transports),
      tolerance_(tolerance),
      ways_(std::move(ways)) {
  const auto is_there = [&](NodeId node) {
    return node < topology_.host_count() && rank_of_node_[at(node)] >= 0 &&
           transports_.addresses.contains(rank_of_node_[at(node)]);
  };
  for (LinkId id = 0; id < topology_.link_count(); ++id) {
    const Link& link = topology_.link(id);
    if (!is_there(link.from) || !is_there(link.to)) continue;
    links_.emplace_back();
    links_.back().link = id;
  }
}

std::vector<LinkMeasurement> LinkSurvey::measure() {
  measure_alone();
  measure_again();
  if (ways_.empty()) measure_together();
  return std::move(links_);
}

bool LinkSurvey::is_free(LinkId id, std::set<NodeId>& busy, std::set<LinkId>& crossed) const {
  const Link& link = topology_.link(id);
  if (busy.contains(link.from) || busy.contains(link.to)) return false;
  if (!ways_.empty()) {
    const std::vector<LinkId>& way = ways_[at(id)];
    if (std::any_of(way.begin(), way.end(), [&](LinkId each) { return crossed.contains(each); })) return false;
    crossed.insert(way.begin(), way.end());
  }
  busy.insert({link.from, link.to});
  return true;
}

void LinkSurvey::measure_alone() {
  std::vector<std::size_t> left(links_.size());
  std::iota(left.begin(), left.end(), 0);
  while (!left.empty()) {
    std::set<NodeId> busy;
    std::set<LinkId> crossed;
    std::vector<std::size_t> round;
    std::vector<std::size_t> later;
    for (const std::size_t each : left) {
      (is_free(links_[each].link, busy, crossed) ? round : later).push_back(each);
    }
    measure_round(round, false);
    left = std::move(later);
  }
}

void LinkSurvey::measure_again() {
  // A slow link of a switch is in many paths.
  const int attempts = ways_.empty() ? 2 : 1;
  constexpr std::size_t most_at_an_attempt = 32;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::vector<std::size_t> suspicious;
    for (std::size_t each = 0; each < links_.size(); ++each) {
      const bool is_dead = !links_[each].carries && attempt > 0;  // it takes long to see that
      if (!is_dead && is_suspicious(topology_, links_[each], tolerance_)) suspicious.push_back(each);
    }
    // Where most are, nobody needs to know how much each is.
    if (suspicious.size() > most_at_an_attempt) suspicious.resize(most_at_an_attempt);
    for (const std::size_t each : suspicious) measure_round({each}, false);
  }
}

void LinkSurvey::measure_together() {
  constexpr int attempts = 3;
  std::vector<std::size_t> all;
  for (std::size_t each = 0; each < links_.size(); ++each) {
    if (!is_suspicious(topology_, links_[each], tolerance_)) all.push_back(each);
  }
  if (all.size() < 2) return;
  for (int attempt = 0; attempt < attempts; ++attempt) measure_round(all, true);
  // A link that the others missed, for they began later, looks better than it is, and a busy machine makes it look
  // worse.
  for (auto& [place, rates] : together_) {
    const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    links_[place].together_bytes_per_second = *middle;
  }
}

void LinkSurvey::measure_round(const std::vector<std::size_t>& chosen, bool together) {
  std::map<std::int32_t, Json> questions;
  std::map<std::uint32_t, std::size_t> place_of;
  for (const std::size_t each : chosen) {
    const Link& link = topology_.link(links_[each].link);
    const std::int32_t sender = rank_of_node_[at(link.from)];
    const std::int32_t receiver = rank_of_node_[at(link.to)];
    LinkOrder order{next_measurement_++,
                    true,
                    transports_.addresses.at(receiver),
                    message_bytes_for(link),
                    together ? messages_together : messages,
                    together ? 1 : pings};
    place_of.emplace(order.measurement, each);
    questions[sender]["measure"].push_back(order_json(order));
    order.sends = false;
    order.peer = transports_.addresses.at(sender);
    questions[receiver]["measure"].push_back(order_json(order));
  }
  const double limit_seconds = wanted_seconds * most_slowness;
  for (auto& [rank, question] : questions) question["limit_seconds"] = limit_seconds;
  std::set<std::uint32_t> failed;
  std::map<std::int32_t, Json> answers = job_.ask(questions, limit_seconds + answer_seconds);
  for (const auto& [measurement, place] : place_of) failed.insert(measurement);
  std::map<std::uint32_t, int> ends;
  for (const auto& [rank, answer] : answers) {
    for (const Json& json : list_field(answer, "figures")) {
      const LinkFigure figure = figure_from(json);
      const auto place = place_of.find(figure.measurement);
      if (place == place_of.end() || !figure.good) continue;
      if (++ends[figure.measurement] == 2) failed.erase(figure.measurement);
      LinkMeasurement& link = links_[place->second];
      if (figure.latency_seconds > 0 && !together) keep_better(link.latency_seconds, figure.latency_seconds, false);
      if (figure.bytes_per_second <= 0) continue;
      if (together) {
        together_[place->second].push_back(figure.bytes_per_second);
      } else {
        keep_better(link.alone_bytes_per_second, figure.bytes_per_second, true);
      }
    }
  }
  if (together) return;
  for (const auto& [measurement, place] : place_of) {
    // One success is enough.
    links_[place].carries = !failed.contains(measurement) || links_[place].alone_bytes_per_second.has_value();
  }
}

}  // namespace libcoll::command

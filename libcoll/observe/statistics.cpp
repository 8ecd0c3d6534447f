#include "libcoll/observe/statistics.h"

#include <algorithm>
#include <fstream>

#include "libcoll/base/json_text.h"
#include "libcoll/base/log.h"
#include "libcoll/observe/figures.h"
#include "libcoll/version.h"

namespace libcoll::observe {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::array<std::string_view, reason_count> reason_texts{
    "LIBCOLL_ENABLE is off on some rank",
    "LIBCOLL_TOPOLOGY is not set",
    "the topology could not be read on some rank",
    "the route binding could not be read on some rank",
    "settings or topology differ between ranks",
    "not all ranks have this version of libcoll",
    "the transport could not be set up on some rank",
    "the communicator has one rank",
    "inter-communicator",
    "it is not known which nodes of the topology its ranks are on",
    "all ranks are on one node",
    "its nodes reach each other through others only, whose NICs do not forward",
    "too many communicators are served already",
    "nodes have several ranks, and the collective is not served there",
    "the ranks of some node could not share memory",
    "ranks passed different lengths in an earlier call",
    "the setting for this collective is native",
    "the tuning table leaves it to MPI",
    "MPI was faster at this size when both were measured",
    "the cost model leaves it to MPI at this size",
    "no plan could be made",
    "its plan is still being made",
    "nothing to move",
    "user-defined operation",
    "datatype and operation are not a pair that MPI accepts",
    "a buffer of some rank is memory of a GPU, or may be",
    "a nonblocking call that would have to wait for the other ranks to agree",
    "MPI does not let other libraries make progress",
    "arguments left to MPI's own checks",
};

/// All calls, for loops.
constexpr std::array<CallKind, call_count> all_calls = [] {
  std::array<CallKind, call_count> calls{};
  for (std::size_t kind = 0; kind < call_count; ++kind) calls[kind] = static_cast<CallKind>(kind);
  return calls;
}();

std::string reasons_json(const std::array<std::int64_t, reason_count>& reasons) {
  JsonObject object;
  for (std::size_t reason = 0; reason < reason_count; ++reason) {
    if (reasons[reason] != 0) object.number(reason_texts[reason], reasons[reason]);
  }
  return object.take();
}

std::string sizes_json(const SizeHistogram& histogram) {
  std::vector<std::string> sizes;
  for (std::size_t index = 0; index < histogram.bins().size(); ++index) {
    const SizeHistogram::Bin& bin = histogram.bins()[index];
    if (bin.calls == 0) continue;
    const bool known = SizeHistogram::first_byte(index) != unknown_bytes;
    sizes.push_back(
        JsonObject()
            .raw("bytes_from", known ? std::to_string(SizeHistogram::first_byte(index)) : std::string("null"))
            .raw("bytes_to", known ? std::to_string(SizeHistogram::last_byte(index)) : std::string("null"))
            .number("calls", bin.calls)
            .raw("seconds_total", seconds_text(bin.total))
            .raw("seconds_min", seconds_text(bin.least))
            .raw("seconds_max", seconds_text(bin.most))
            .take());
  }
  return json_array(sizes);
}

std::string choices_json(const CallFigures& call) {
  std::vector<std::string> choices;
  for (const auto& [protocol, sizes] : call.protocols) {
    choices.push_back(JsonObject()
                          .text("use", protocol.use)
                          .text("algorithm", protocol.algorithm)
                          .text("chosen_by", protocol.chosen_by)
                          .raw("sizes", sizes_json(sizes))
                          .take());
  }
  return json_array(choices);
}

using LinkBytes = std::map<std::pair<NodeId, NodeId>, std::int64_t>;

std::string links_json(const LinkBytes& links) {
  std::vector<std::string> entries;
  for (const auto& [link, bytes] : links) {
    entries.push_back(JsonObject().number("from", link.first).number("to", link.second).number("bytes", bytes).take());
  }
  return json_array(entries);
}

/// Of the plan that serves the calls; empty when none did.
std::string_view algorithm_of(const CommunicatorFigures& figures, CallKind kind) {
  const std::optional<Collective> collective = collective_of(kind);
  return collective ? figures.plans[static_cast<std::size_t>(*collective)].algorithm : std::string_view();
}

std::string communicator_json(const CommunicatorFigures& figures) {
  JsonObject calls;
  for (const CallKind kind : all_calls) {
    const CallFigures& call = figures.calls[static_cast<std::size_t>(kind)];
    if (call.empty()) continue;
    calls.raw(to_string(kind), JsonObject()
                                   .text("algorithm", algorithm_of(figures, kind))
                                   .number("served", call.served.calls())
                                   .number("fallen_through", call.fallen_through.calls())
                                   .raw("reasons", reasons_json(call.reasons))
                                   .raw("served_sizes", sizes_json(call.served))
                                   .raw("fallen_through_sizes", sizes_json(call.fallen_through))
                                   .raw("choices", choices_json(call))
                                   .take());
  }
  std::vector<std::string> plans;
  for (std::size_t index = 0; index < collective_count; ++index) {
    const PlanUse& plan = figures.plans[index];
    if (plan.rounds == 0 && plan.node_vector_bytes == 0) continue;
    plans.push_back(JsonObject()
                        .text("collective", to_string(static_cast<Collective>(index)))
                        .text("algorithm", plan.algorithm)
                        .number("rounds", plan.rounds)
                        .number("memory_bytes", plan.memory_bytes)
                        .number("vector_bytes", plan.vector_bytes)
                        .number("node_memory_bytes", plan.node_memory_bytes)
                        .number("node_vector_bytes", plan.node_vector_bytes)
                        .raw("links", links_json(plan.link_bytes))
                        .take());
  }
  return JsonObject()
      .text("name", figures.name)
      .number("size", figures.size)
      .number("nodes", figures.nodes)
      .raw("collectives", calls.take())
      .raw("plans", json_array(plans))
      .take();
}

LinkBytes bytes_of_links(const Report& job) {
  LinkBytes links;
  for (const CommunicatorFigures& figures : job.communicators) {
    for (const PlanUse& plan : figures.plans) {
      for (const auto& [link, bytes] : plan.link_bytes) links[link] += bytes;
    }
  }
  return links;
}

/// "12 served (64 KiB..128 KiB: 12 in 0.001234567 s)"
std::string calls_text(const SizeHistogram& histogram, std::string_view what) {
  std::string text = std::to_string(histogram.calls()).append(" ").append(what).append(" (");
  std::string_view separator;
  for (std::size_t index = 0; index < histogram.bins().size(); ++index) {
    const SizeHistogram::Bin& bin = histogram.bins()[index];
    if (bin.calls == 0) continue;
    text.append(separator).append(bin_text(index)).append(": ").append(std::to_string(bin.calls));
    text.append(" in ").append(seconds_text(bin.total)).append(" s");
    separator = ", ";
  }
  return text + ")";
}

/// "64 B..128 B, 4 KiB..16 KiB": bins side by side as one
std::string sizes_text(const SizeHistogram& histogram) {
  std::string text;
  const std::vector<SizeHistogram::Bin>& bins = histogram.bins();
  for (std::size_t index = 0; index < bins.size();) {
    if (bins[index++].calls == 0) continue;
    const std::size_t first = index - 1;
    const bool may_go_on = first > 1;  // not of unknown sizes or nothing to move
    while (may_go_on && index < bins.size() && bins[index].calls != 0) ++index;
    const std::string from = bin_text(first);
    const std::string to = bin_text(index - 1);
    text.append(text.empty() ? "" : ", ").append(from.substr(0, from.find("..")));
    const std::size_t dots = to.find("..");  // a bin of one size has none
    if (dots != std::string::npos) text.append(to, dots);
  }
  return text;
}

/// "direct (cost model) 64 B..4 KiB; plan bfb (configuration) 4 KiB..16 KiB"
std::string choices_text(const CallFigures& call) {
  std::string text;
  for (const auto& [protocol, sizes] : call.protocols) {
    text.append(text.empty() ? "" : "; ").append(protocol.use);
    if (!protocol.algorithm.empty()) text.append(" ").append(protocol.algorithm);
    text.append(" (").append(protocol.chosen_by).append(") ").append(sizes_text(sizes));
  }
  return text;
}

/// Name and key of what is no communicator by itself.
constexpr std::string_view elsewhere_key = "not looked at";

CommunicatorFigures no_communicator(std::string_view key) {
  CommunicatorFigures figures;
  figures.name = figures.key = key;
  return figures;
}

}  // namespace

std::string_view to_string(Reason reason) { return reason_texts[static_cast<std::size_t>(reason)]; }

Statistics::Statistics() = default;

Statistics::~Statistics() = default;

CommunicatorRecord& Statistics::open(std::string name, const std::vector<int>& world_ranks) {
  CommunicatorFigures figures;
  figures.name = std::move(name);
  figures.size = static_cast<std::int32_t>(world_ranks.size());
  for (const int rank : world_ranks) figures.key += std::to_string(rank) + ",";
  const std::lock_guard guard(lock_);
  // All its ranks see the communicators of a group in the same order.
  figures.key += "#" + std::to_string(communicators_of_group_[figures.key]++);
  if (records_.size() < most_communicators) return add_record(std::move(figures));
  if (others_ == nullptr) others_ = &add_record(no_communicator(others_key));
  return *others_;
}

CommunicatorRecord& Statistics::elsewhere() {
  const std::lock_guard guard(lock_);
  if (elsewhere_ == nullptr) elsewhere_ = &add_record(no_communicator(elsewhere_key));
  return *elsewhere_;
}

CommunicatorRecord& Statistics::add_record(CommunicatorFigures figures) {
  return records_.emplace_back(static_cast<std::int32_t>(records_.size()), std::move(figures));
}

Report Statistics::report() const {
  Report mine;
  mine.ranks = 1;
  const std::lock_guard guard(lock_);
  for (const CommunicatorRecord& record : records_) mine.communicators.push_back(record.figures());
  return mine;
}

std::string Statistics::to_json(int ranks, const Report& job) const {
  JsonObject collectives;
  for (const CallKind kind : all_calls) {
    collectives.raw(to_string(kind),
                    JsonObject().number("served", served(kind)).number("fallen_through", fallen_through(kind)).take());
  }
  std::array<std::int64_t, reason_count> reasons{};
  std::copy(reasons_.begin(), reasons_.end(), reasons.begin());
  std::vector<std::string> communicators;
  for (const CommunicatorFigures& figures : job.communicators) communicators.push_back(communicator_json(figures));
  return JsonObject()
             .text("version", LIBCOLL_VERSION)
             .number("ranks", ranks)
             .raw("collectives", collectives.take())
             .raw("reasons", reasons_json(reasons))
             .number("ranks_reported", job.ranks)
             .raw("communicators", json_array(communicators))
             .raw("links", links_json(bytes_of_links(job)))
             .take() +
         "\n";
}

std::string Statistics::to_summary() const {
  std::string text = "calls";
  std::string_view separator = ": ";
  for (const CallKind kind : all_calls) {
    if (served(kind) + fallen_through(kind) == 0) continue;
    text.append(separator).append(to_string(kind)).append(" ");
    text += std::to_string(served(kind)) + " served, " + std::to_string(fallen_through(kind)) + " fell through";
    separator = "; ";
  }
  if (separator == ": ") return "no collective that libcoll knows was called";
  for (std::size_t reason = 0; reason < reasons_.size(); ++reason) {
    if (reasons_[reason] == 0) continue;
    text.append("; ").append(std::to_string(reasons_[reason])).append(" × ").append(reason_texts[reason]);
  }
  return text;
}

std::vector<std::string> job_table(const Report& job) {
  std::vector<std::string> lines;
  for (const CommunicatorFigures& figures : job.communicators) {
    for (const CallKind kind : all_calls) {
      const CallFigures& call = figures.calls[static_cast<std::size_t>(kind)];
      if (call.empty()) continue;
      std::string line = figures.name;
      if (figures.size > 0) line += " (" + std::to_string(figures.size) + " ranks)";
      line.append(", ").append(to_string(kind));
      std::string choices = line + ", which way: " + choices_text(call);
      line += ": ";
      if (!call.served.empty()) {
        line += calls_text(call.served, "served by " + std::string(algorithm_of(figures, kind)));
      }
      if (!call.fallen_through.empty()) {
        line += (call.served.empty() ? "" : "; ") + calls_text(call.fallen_through, "fell through");
      }
      lines.push_back(std::move(line));
      lines.push_back(std::move(choices));
    }
  }
  LinkBytes links = bytes_of_links(job);
  if (links.empty()) return lines;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto busiest = std::max_element(links.begin(), links.end(), less);
  const auto idlest = std::min_element(links.begin(), links.end(), less);
  lines.push_back("bytes on " + std::to_string(links.size()) + " links: most " + std::to_string(busiest->second) +
                  " (" + std::to_string(busiest->first.first) + " to " + std::to_string(busiest->first.second) +
                  "), least " + std::to_string(idlest->second));
  return lines;
}

Status report_statistics(const Statistics& statistics, const Report& job, std::string_view setting, int ranks) {
  constexpr std::string_view json_prefix = "json:";
  if (setting.empty()) return {};
  if (setting == "summary") {
    log_report(statistics.to_summary());
    for (const std::string& line : job_table(job)) log_report(line);
    return {};
  }
  if (!setting.starts_with(json_prefix)) {
    return Error{"LIBCOLL_STATS is \"" + std::string(setting) + "\", expected summary or json:FILE"};
  }
  const std::string file(setting.substr(json_prefix.size()));
  std::ofstream stream(file, std::ios::trunc);
  stream << statistics.to_json(ranks, job);
  stream.close();
  if (!stream) return Error{"cannot write statistics to " + file};
  return {};
}

}  // namespace libcoll::observe

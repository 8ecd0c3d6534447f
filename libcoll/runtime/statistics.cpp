#include "libcoll/runtime/statistics.h"

#include <fstream>

#include "libcoll/runtime/log.h"
#include "libcoll/version.h"

namespace libcoll {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Reason::count_)> reason_texts{
    "LIBCOLL_ENABLE is off on some rank",
    "LIBCOLL_TOPOLOGY is not set",
    "the topology could not be read on some rank",
    "the route binding could not be read on some rank",
    "settings or topology differ between ranks",
    "the transport could not be set up on some rank",
    "the communicator has one rank",
    "inter-communicator",
    "the communicator does not have a rank on every node of the topology",
    "nodes have several ranks, and the collective is not served there",
    "the ranks of some node could not share memory",
    "the setting for this collective is native",
    "the tuning table leaves it to MPI",
    "no plan could be made",
    "nothing to move",
    "user-defined operation",
    "datatype and operation are not a predefined pair",
    "a datatype for every pair of ranks",
    "a nonblocking call that would have to wait for the other ranks to agree",
    "a nonblocking call whose plan forwards blocks that only their ends know the lengths of",
    "MPI does not let other libraries make progress",
    "arguments left to MPI's own checks",
};

/// All calls, for loops.
constexpr std::array<CallKind, call_count> all_calls = [] {
  std::array<CallKind, call_count> calls{};
  for (std::size_t kind = 0; kind < call_count; ++kind) calls[kind] = static_cast<CallKind>(kind);
  return calls;
}();

}  // namespace

std::string_view to_string(Reason reason) { return reason_texts[static_cast<std::size_t>(reason)]; }

std::string Statistics::to_json(int ranks) const {
  std::string text =
      "{\"version\": \"" LIBCOLL_VERSION "\", \"ranks\": " + std::to_string(ranks) + ", \"collectives\": {";
  std::string_view separator;
  for (const CallKind kind : all_calls) {
    text.append(separator).append("\"").append(to_string(kind)).append("\": {\"served\": ");
    text += std::to_string(served(kind)) + ", \"fallen_through\": " + std::to_string(fallen_through(kind)) + "}";
    separator = ", ";
  }
  text += "}, \"reasons\": {";
  separator = "";
  for (std::size_t reason = 0; reason < reasons_.size(); ++reason) {
    if (reasons_[reason] == 0) continue;
    text.append(separator).append("\"").append(reason_texts[reason]).append("\": ");
    text += std::to_string(reasons_[reason]);
    separator = ", ";
  }
  return text + "}}\n";
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

Status report_statistics(const Statistics& statistics, std::string_view setting, int ranks) {
  constexpr std::string_view json_prefix = "json:";
  if (setting.empty()) return {};
  if (setting == "summary") {
    log_report(statistics.to_summary());
    return {};
  }
  if (!setting.starts_with(json_prefix)) {
    return Error{"LIBCOLL_STATS is \"" + std::string(setting) + "\", expected summary or json:FILE"};
  }
  const std::string file(setting.substr(json_prefix.size()));
  std::ofstream stream(file, std::ios::trunc);
  stream << statistics.to_json(ranks);
  stream.close();
  if (!stream) return Error{"cannot write statistics to " + file};
  return {};
}

}  // namespace libcoll

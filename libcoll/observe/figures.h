// What is counted of one communicator while the program runs, and how the ranks' figures become one report.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "libcoll/base/calls.h"
#include "libcoll/observe/histogram.h"
#include "libcoll/observe/statistics.h"
#include "planner/topology/topology.h"

namespace libcoll::observe {

/// How a call went, and what decided that.
struct CallProtocol {
  std::string use;        ///< as way_name()
  std::string algorithm;  ///< of a plan; empty: none, or this rank does not know it
  std::string chosen_by;  ///< a setting, "tuning table", "cost model", "configuration"; of native calls the reason
  friend bool operator<(const CallProtocol& a, const CallProtocol& b) {
    return std::tie(a.use, a.algorithm, a.chosen_by) < std::tie(b.use, b.algorithm, b.chosen_by);
  }
  friend bool operator==(const CallProtocol&, const CallProtocol&) = default;
};

/// Calls of one kind.
struct CallFigures {
  SizeHistogram served;
  SizeHistogram fallen_through;  ///< time in the program's own MPI
  std::array<std::int64_t, reason_count> reasons{};
  std::map<CallProtocol, SizeHistogram> protocols;  ///< the same calls once more

  /// The same calls as another rank saw them.
  void join_rank(const CallFigures& other);
  [[nodiscard]] bool empty() const { return served.empty() && fallen_through.empty(); }
  friend bool operator==(const CallFigures&, const CallFigures&) = default;
};

/// What one plan was used for.
struct PlanUse {
  std::string algorithm;    ///< empty: there was no plan
  std::int64_t rounds = 0;  ///< executions; a large call is several
  /// Payload that the plan put on each link (from, to); of a rank's report: by what that rank sent.
  std::map<std::pair<topology::NodeId, topology::NodeId>, std::int64_t> link_bytes;
  std::int64_t memory_bytes = 0;  ///< that ranks read and wrote
  std::int64_t vector_bytes = 0;  ///< of the ranks' vectors
  // The same of what nodes of several ranks do in memory that they share.
  std::int64_t node_memory_bytes = 0;
  std::int64_t node_vector_bytes = 0;
  friend bool operator==(const PlanUse&, const PlanUse&) = default;
};

struct CommunicatorFigures {
  std::string name;
  std::string key;  ///< the same on all its ranks, and of no other communicator
  std::int32_t size = 0;
  std::int32_t nodes = 0;  ///< 0: it was not looked at
  std::array<CallFigures, call_count> calls;
  std::array<PlanUse, collective_count> plans;

  /// Figures of another communicator of this process.
  void add(const CommunicatorFigures& other);
  /// The same communicator as another rank saw it: of times and counts the larger, of bytes the sum.
  void join_rank(const CommunicatorFigures& other);
  friend bool operator==(const CommunicatorFigures&, const CommunicatorFigures&) = default;
};

/// How many communicators are told apart; the others are added up.
inline constexpr std::size_t most_communicators = 64;
/// Name and key of those.
inline constexpr std::string_view others_key = "others";

/// Figures of a job, or of one rank's part.
struct Report {
  std::int32_t ranks = 0;  ///< whose figures are in it
  std::vector<CommunicatorFigures> communicators;

  /// Takes in another rank's report. Communicators beyond the limit are added up.
  void join(const Report& other);
  friend bool operator==(const Report&, const Report&) = default;
};

/// As bytes for another process of this version of libcoll.
std::string pack(const Report& report);
/// Nothing when the bytes are not a report of this version.
std::optional<Report> unpack(std::string_view bytes);

/// The figures of one communicator of this process while it lives and after. Members may be called by several threads.
class CommunicatorRecord {
 public:
  explicit CommunicatorRecord(std::int32_t number, CommunicatorFigures figures)
      : number_(number), figures_(std::move(figures)) {}

  /// Within this process, counted from 0.
  [[nodiscard]] std::int32_t number() const { return number_; }
  [[nodiscard]] CommunicatorFigures figures() const;

  void set_nodes(std::int32_t nodes);
  void count_served(CallKind kind, const CallProtocol& protocol, std::int64_t bytes, std::int64_t nanoseconds);
  void count_fallen_through(CallKind kind, Reason reason, std::int64_t bytes, std::int64_t nanoseconds);
  void set_plan(schedule::Collective collective, std::string_view algorithm);
  /// One execution of a plan; `bytes[l]` went over the link between `ends[l]`.
  void count_round(schedule::Collective collective,
                   const std::vector<std::pair<topology::NodeId, topology::NodeId>>& ends,
                   const std::vector<std::int64_t>& bytes);
  /// What it read and wrote on this rank, for so many bytes of the rank's vector.
  void count_memory(schedule::Collective collective, std::int64_t memory_bytes, std::int64_t vector_bytes);
  /// The same of a call's stages in memory that the ranks of a node share.
  void count_node_memory(schedule::Collective collective, std::int64_t memory_bytes, std::int64_t vector_bytes);

 private:
  const std::int32_t number_;
  mutable std::mutex lock_;
  CommunicatorFigures figures_;
};

}  // namespace libcoll::observe

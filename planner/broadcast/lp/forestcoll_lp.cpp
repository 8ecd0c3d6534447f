#include "planner/broadcast/lp/forestcoll_lp.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/lp/glpk_solver.h"
#include "planner/lp/linear_program.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast_lp {

using namespace lp;
using namespace topology;

namespace {

/// Reduce in-trees or broadcast out-trees. All flows run in the direction of the data.
enum class Direction : std::uint8_t { reduce, broadcast };

class Model {
 public:
  explicit Model(const Topology& topology) : topology_(topology), load_(at(topology.link_count())) {
    program_.sense = Sense::maximise;
    for (NodeId host = 0; host < topology.host_count(); ++host) share_.push_back(program_.add_column({0, no_bound, 1}));
    for (const Direction direction : {Direction::reduce, Direction::broadcast}) add_phase(direction);
    for (LinkId id = 0; id < topology.link_count(); ++id) {
      LpRow& row = load_[at(id)];
      row.upper = topology.capacity(id).to_double();
      program_.add_row(std::move(row));
    }
  }

  [[nodiscard]] const LinearProgram& program() const { return program_; }

 private:
  using Pair = std::pair<NodeId, NodeId>;

  /// c_(a,b): bandwidth of this phase from host a to host b.
  void add_phase(Direction direction) {
    std::map<Pair, std::int32_t> logical;
    for (NodeId a = 0; a < topology_.host_count(); ++a) add_commodity(a, logical);
    for (NodeId v = 0; v < topology_.host_count(); ++v) add_flow(v, direction, logical);
  }

  /// What leaves a for its logical neighbours, relayed by switches only.
  void add_commodity(NodeId a, std::map<Pair, std::int32_t>& logical) {
    std::map<NodeId, LpRow> balance;  // in − out − delivered = 0 at every node that is reached but a
    std::vector<NodeId> queue{a};
    for (std::size_t taken = 0; taken < queue.size(); ++taken) {
      for (const LinkId id : topology_.out_links(queue[taken])) {
        const NodeId to = topology_.link(id).to;
        if (to == a) continue;
        const std::int32_t flow = program_.add_column({});
        load_[at(id)].entries.push_back({flow, 1});
        if (queue[taken] != a) balance[queue[taken]].entries.push_back({flow, -1});
        if (balance.find(to) == balance.end() && topology_.node(to).is_switch) queue.push_back(to);
        balance[to].entries.push_back({flow, 1});
      }
    }
    for (auto& [node, row] : balance) {
      row.lower = row.upper = 0;
      if (!topology_.node(node).is_switch) {
        const std::int32_t delivered = program_.add_column({});
        logical[{a, node}] = delivered;
        row.entries.push_back({delivered, -1});
      }
      program_.add_row(std::move(row));
    }
  }

  /// Broadcast: x_u from every u to v at once. Reduce: from v to every u.
  void add_flow(NodeId v, Direction direction, const std::map<Pair, std::int32_t>& logical) {
    std::vector<LpRow> balance(at(topology_.host_count()));  // what runs from (to) u less what runs to (from) it
    for (const auto& [ends, capacity] : logical) {
      const std::int32_t flow = program_.add_column({});
      program_.add_row({-no_bound, 0, {{flow, 1}, {capacity, -1}}});
      const auto [away, towards] = direction == Direction::broadcast ? ends : Pair(ends.second, ends.first);
      balance[at(away)].entries.push_back({flow, 1});
      balance[at(towards)].entries.push_back({flow, -1});
    }
    for (NodeId u = 0; u < topology_.host_count(); ++u) {
      if (u == v) continue;  // follows from the others
      LpRow& row = balance[at(u)];
      row.lower = row.upper = 0;
      row.entries.push_back({share_[at(u)], -1});
      program_.add_row(std::move(row));
    }
  }

  const Topology& topology_;
  LinearProgram program_;
  std::vector<std::int32_t> share_;  ///< x_v
  std::vector<LpRow> load_;          ///< what crosses a link
};

}  // namespace

Result<double> allreduce_lp_rate(const Topology& topology) {
  if (Status status = check_connected(topology); !status) return status.error();
  const Result<LpSolution> solution = solve_with_glpk(Model(topology).program(), LpMethod::simplex);
  if (!solution) return solution.error();
  if (solution->status != LpStatus::optimal) return Error{"the allreduce LP has no optimum"};
  return solution->objective;
}

}  // namespace libcoll::broadcast_lp

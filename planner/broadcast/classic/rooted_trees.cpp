#include "planner/broadcast/classic/rooted_trees.h"

#include <algorithm>
#include <string>
#include <vector>

#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/classic/hamiltonian.h"
#include "planner/topology/facts.h"

namespace libcoll::broadcast::classic {

using namespace bound;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

/// The whole vector goes from one host to another.
void send(Pattern& pattern, NodeId root, NodeId from, NodeId to) {
  pattern.transfers.push_back({root, 0, 1, from, to, pattern.steps, direct, TransferKind::copy});
}

/// A broadcast from options.root.
using BroadcastPattern = Pattern (*)(const Topology& topology, const PlanOptions& options);

Result<Schedule> plan_rooted(BroadcastPattern broadcast, Collective collective, const char* algorithm,
                             const Topology& topology, const PlanOptions& options) {
  const std::string where = std::string(algorithm) + " on " + topology.name() + ": ";
  if (!is_rooted(collective)) return Error{where + "only broadcast and reduce have this form"};
  if (const Status status = check_root(topology, options.root); !status) return Error{where + status.error().message};
  if (const Status status = check_connected(topology); !status) return Error{where + status.error().message};
  Pattern pattern = collective == Collective::broadcast ? broadcast(topology, options)
                                                        : reversed(broadcast(transpose(topology), options));
  return lay_out(topology, collective, algorithm, std::move(pattern), options);
}

Pattern binomial_tree(const Topology& topology, const PlanOptions& options) {
  return binomial_tree_pattern(topology.host_count(), options.root);
}

Pattern binary_tree(const Topology& topology, const PlanOptions& options) {
  return binary_tree_pattern(topology.host_count(), options.root, std::min(degree(topology), 2));
}

Pattern chain(const Topology& topology, const PlanOptions& options) { return chain_pattern(topology, options.root); }

}  // namespace

Pattern binomial_tree_pattern(std::int32_t hosts, NodeId root) {
  Pattern pattern;
  for (std::int32_t reached = 1; reached < hosts; reached *= 2) {
    ++pattern.steps;
    for (NodeId from = 0; from < std::min(reached, hosts - reached); ++from) {
      send(pattern, root, (from + root) % hosts, (from + reached + root) % hosts);
    }
  }
  return pattern;
}

Pattern binary_tree_pattern(std::int32_t hosts, NodeId root, std::int32_t ports) {
  Pattern pattern;
  const auto send_to_child = [&](NodeId from, NodeId child) {
    if (child < hosts) send(pattern, root, (from + root) % hosts, (child + root) % hosts);
  };
  // A level of the tree begins with the left child of the level before it.
  for (NodeId first = 0; 2 * first + 1 < hosts; first = 2 * first + 1) {
    ++pattern.steps;
    for (NodeId from = first; from <= 2 * first; ++from) send_to_child(from, 2 * from + 1);
    if (ports < 2 && 2 * first + 2 < hosts) ++pattern.steps;
    for (NodeId from = first; from <= 2 * first; ++from) send_to_child(from, 2 * from + 2);
  }
  return pattern;
}

Pattern chain_pattern(const Topology& topology, NodeId root) {
  std::vector<NodeId> order = ring_order(topology);
  std::rotate(order.begin(), std::find(order.begin(), order.end(), root), order.end());
  Pattern pattern;
  for (std::size_t i = 1; i < order.size(); ++i) {
    ++pattern.steps;
    send(pattern, root, order[i - 1], order[i]);
  }
  return pattern;
}

Result<Schedule> plan_binomial_tree(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_rooted(binomial_tree, collective, "binomial-tree", topology, options);
}

Result<Schedule> plan_binary_tree(Collective collective, const Topology& topology, const PlanOptions& options) {
  return plan_rooted(binary_tree, collective, "binary-tree", topology, options);
}

Result<Schedule> plan_pipelined_chain(Collective collective, const Topology& topology, const PlanOptions& options) {
  Result<Schedule> schedule = plan_rooted(chain, collective, "pipelined-chain", topology, options);
  if (!schedule) return schedule;
  schedule->pipelined = true;
  // Chunks follow each other: no link waits for another's step.
  schedule->proof.bandwidth_time = Rational(degree(topology)) * schedule->proof.max_link_load;
  return schedule;
}

}  // namespace libcoll::broadcast::classic

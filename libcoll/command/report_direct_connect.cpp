// Reports of paper 000: topologies and their allgathers, expansions, the topology finder, BFB.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "libcoll/command/planning.h"
#include "libcoll/command/report.h"
#include "planner/broadcast/bfb/bfb_steps.h"
#include "planner/broadcast/bfb/finder.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"

namespace libcoll::command {

using namespace broadcast::bfb;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

// Tables 4 and 7: 1 MiB, 10 µs, 100 Gbit/s per node, of degree 4. Their captions have lost the figures; these make the
// theoretical bound of Table 4 come out to the digit.
constexpr double vector_bytes = 1 << 20;
constexpr double hop_seconds = 1e-5;
constexpr std::int32_t table_degree = 4;
constexpr double table_link_bytes_per_second = 100e9 / 8 / table_degree;
constexpr double microseconds_per_second = 1e6;
constexpr double printed_digit = 0.05;
constexpr double exact = 1e-9;
constexpr const char* no_time_left = "no time left";

/// T_B in units of M/B, in microseconds for the tables' vector.
double bandwidth_microseconds(double bandwidth_time) {
  return bandwidth_time * vector_bytes / (table_degree * table_link_bytes_per_second) * microseconds_per_second;
}

double allreduce_microseconds(const ExpansionCost& cost, double bytes) {
  return microseconds_per_second * allreduce_seconds(cost, bytes, hop_seconds, table_link_bytes_per_second);
}

/// T_B over (N−1)/N.
double over_optimal(const Rational& bandwidth_time, std::int64_t nodes) {
  return (bandwidth_time / Rational(nodes - 1, nodes)).to_double();
}

/// T_L/α and T_B of BFB, without the schedule.
std::optional<ExpansionCost> bfb_cost(const Topology& topology) {
  const Result<std::vector<Rational>> loads = bfb_step_loads(topology);
  if (!loads) return std::nullopt;
  ExpansionCost cost{topology.host_count(), degree(topology), static_cast<std::int64_t>(loads->size()), Rational(0)};
  for (const Rational& load : *loads) cost.bandwidth_time = cost.bandwidth_time + load;
  cost.bandwidth_time = cost.bandwidth_time * Rational(cost.degree, cost.nodes);
  return cost;
}

// --- Tables 4 and 7: Pareto frontiers -------------------------------------------------------------------------------

/// A row of Table 4: T_L follows from the allreduce, for T_B lies between (N−1)/N and twice that.
struct ParetoRow {
  std::int64_t steps;
  double allreduce;
  double alltoall;
};

constexpr std::array<ParetoRow, 5> table_4_rows = {
    {{5, 323.5, 409.1}, {6, 291.0, 403.5}, {8, 328.4, 446.6}, {11, 387.8, 529.9}, {20, 567.6, 1174.4}}};

std::string time_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", value);
  return text;
}

/// The all-to-all by max concurrent flow, certified to 1 %.
void plan_all_to_all(const Topology& topology, const ReportScope& scope, double share, ReportRow& row) {
  PlanOptions options;
  options.schedule = false;
  options.threads = scope.threads;
  options.gap = 1e-2;
  if (scope.deadline.limited()) {
    if (scope.deadline.passed()) {
      row.why = no_time_left;
      return;
    }
    options.time_limit_seconds = share * scope.deadline.remaining();
  }
  const Result<Plan> plan = make_plan(topology, Collective::alltoall, "mcf-path", options);
  if (!plan) {
    row.why = plan.error().message;
    return;
  }
  // Blocks of M/N at rate F·b.
  row.ours =
      vector_bytes / topology.host_count() / (plan->flow * table_link_bytes_per_second) * microseconds_per_second;
  if (difference(row).value_or(0) < 0) {
    row.why = "another graph than the paper's, with fewer steps";
  } else if (difference(row).value_or(0) > 0) {
    const double by_distances = bandwidth_microseconds(alltoall_time_bound(topology).to_double());
    row.why = by_distances > row.paper.most.value_or(0)
                  ? "the paper's time is below what the distances of ours allow (" + time_text(by_distances) +
                        "): another graph with the same T_L and T_B, whose name our text has lost"
                  : "another graph than the paper's, whose name our text has lost";
  }
}

ReportRow frontier_row(std::int32_t nodes, const std::string& topology, const ExpansionCost& cost, const char* what) {
  return {{nodes, topology, cost.steps, cost.bandwidth_time.to_string(), what}, {}, said(""), ""};
}

const std::vector<std::string>& frontier_columns() {
  static const std::vector<std::string> columns = {"nodes", "topology", "steps", "bandwidth_time", "what"};
  return columns;
}

/// The frontier and below it what no topology beats.
void add_frontier(std::int32_t nodes, const ReportScope& scope, bool flows, ReportTable& table) {
  TopologyFinder finder;
  const std::vector<FoundTopology> frontier = finder.frontier(nodes, table_degree);
  const bool of_table_4 = nodes == 1024;
  const std::size_t count = std::max(frontier.size(), table_4_rows.size());
  for (std::size_t i = 0; i < frontier.size(); ++i) {
    const FoundTopology& member = frontier[i];
    ReportRow allreduce = frontier_row(nodes, member.specification, member.cost, "allreduce");
    ReportRow alltoall = frontier_row(nodes, member.specification, member.cost,
                                      flows ? "all-to-all" : "all-to-all, by distances at least");
    allreduce.ours = allreduce_microseconds(member.cost, vector_bytes);
    if (of_table_4 && i < table_4_rows.size()) {
      const ParetoRow& row = table_4_rows[i];
      allreduce.paper = printed(time_text(row.allreduce), row.allreduce, printed_digit);
      if (difference(allreduce).value_or(0) < 0) {
        allreduce.why = "the paper's row has T_L = " + std::to_string(row.steps) +
                        " α: the finder knows a topology with fewer steps and no more load";
      }
      if (flows) alltoall.paper = printed(time_text(row.alltoall), row.alltoall, 0.01 * row.alltoall);
    }
    const Topology topology = *generate(member.specification);
    if (flows) {
      plan_all_to_all(topology, scope, 1.0 / static_cast<double>(count - i + 1), alltoall);
    } else {
      alltoall.ours = bandwidth_microseconds(alltoall_time_bound(topology).to_double());
    }
    table.rows.push_back(std::move(allreduce));
    table.rows.push_back(std::move(alltoall));
  }
  const ExpansionCost bound = moore_bound(nodes, table_degree);
  ReportRow allreduce = frontier_row(nodes, "(theoretical bound)", bound, "allreduce");
  allreduce.ours = allreduce_microseconds(bound, vector_bytes);
  ReportRow alltoall = frontier_row(nodes, "(theoretical bound)", bound, "all-to-all");
  alltoall.ours = bandwidth_microseconds(alltoall_moore_bound(nodes, table_degree).to_double());
  if (of_table_4) {
    allreduce.paper = printed("267.6 us", 267.6, printed_digit);
    alltoall.paper = printed("382.3 us", 382.3, printed_digit);
  }
  table.rows.push_back(std::move(allreduce));
  table.rows.push_back(std::move(alltoall));
}

ReportTable table_4(const ReportScope& scope) {
  ReportTable table{frontier_columns(), "microseconds", {}, ""};
  add_frontier(1024, scope, scope.full, table);
  table.note =
      "N = 1024, d = 4, 1 MiB, alpha = 10 us, 100 Gbit/s per node. The times are all our text keeps of the paper's "
      "rows; they are put beside ours in the order of T_L. An all-to-all agrees within 1 %.";
  return table;
}

ReportTable table_7(const ReportScope& scope) {
  static const std::vector<std::int32_t> few = {32, 64};
  static const std::vector<std::int32_t> all = {32, 64, 128, 256, 512, 1024};
  ReportTable table{frontier_columns(), "microseconds", {}, ""};
  for (const std::int32_t nodes : scope.full ? all : few) add_frontier(nodes, scope, false, table);
  table.note =
      "Parameters as in Table 4. Our text keeps that the table has six frontiers, not their figures nor all N: 256 and "
      "1024 are named in §8.4, the others are ours.";
  return table;
}

// --- Table 5: the testbed's topologies ------------------------------------------------------------------------------

ReportTable table_5(const ReportScope& /*scope*/) {
  static constexpr std::array<const char*, 8> names = {
      "complete graph", "degree expansion of a complete graph",         "circulant graph", "complete bipartite graph",
      "Hamming graph",  "degree expansion of a BFB bidirectional ring", "circulant graph", "circulant graph"};
  constexpr std::int32_t first = 5;
  ReportTable table{{"nodes", "topology", "what"}, "over_optimum", {}, ""};
  TopologyFinder finder(Direction::cables_only);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int32_t nodes = first + static_cast<std::int32_t>(i);
    const std::vector<FoundTopology> frontier = finder.frontier(nodes, table_degree);
    const ExpansionCost bound = moore_bound(nodes, table_degree);
    for (const FoundTopology& member : frontier) {
      const double steps = static_cast<double>(member.cost.steps) / static_cast<double>(bound.steps);
      table.rows.push_back({{nodes, member.specification, "T_L"}, steps, printed(names[i], 1, exact), ""});
      table.rows.push_back({{nodes, member.specification, "T_B"},
                            over_optimal(member.cost.bandwidth_time, nodes),
                            printed(names[i], 1, exact),
                            ""});
    }
  }
  table.note =
      "Degree 4, cables only. Our text keeps the kinds of the paper's topologies; each can be had at Moore's bound and "
      "with T_B = (N-1)/N, so ours are held against these. A single row per N: one topology is best in both.";
  return table;
}

// --- Table 6 and Figure 10: BFB against other systems ---------------------------------------------------------------

struct GeneratedBy {
  const char* topology;
  const char* paper;
  std::optional<double> most;  ///< seconds of the paper's BFB
};

const std::vector<GeneratedBy>& table_6_rows() {
  static const std::vector<GeneratedBy> rows = {{"hypercube:2", "lost (SCCL 0.59 to 0.72, TACCL 0.50 to 0.89)", {}},
                                                {"hypercube:3", "lost (SCCL 0.86 to 2.48, TACCL 7.39 to 1801)", {}},
                                                {"hypercube:4", "lost (SCCL 21.4 to 573, TACCL 1801)", {}},
                                                {"hypercube:5", "0.03 (SCCL 1802, TACCL none)", 0.03},
                                                {"hypercube:6", "0.17 (others none)", 0.17},
                                                {"hypercube:10", "52.7 (others none)", 52.7},
                                                {"torus:2x2", "lost (SCCL 0.61 to 0.76, TACCL 0.45 to 0.82)", {}},
                                                {"torus:3x3", "lost (SCCL 1.00 to 3.44, TACCL 67.8 to 1801)", {}},
                                                {"torus:4x4", "lost (SCCL 17.5 to 603, TACCL 1801)", {}},
                                                {"torus:5x5", "0.01 (SCCL 1802 and more, TACCL 1802)", 0.01},
                                                {"torus:6x6", "0.03 (others none)", 0.03},
                                                {"torus:50x50", "61.1 (others none)", 61.1}};
  return rows;
}

constexpr std::int32_t small_nodes = 64;

ReportTable table_6(const ReportScope& scope) {
  ReportTable table{{"topology", "nodes", "what"}, "plan_seconds", {}, ""};
  for (const GeneratedBy& instance : table_6_rows()) {
    const Topology topology = *generate(instance.topology);
    if (!scope.full && topology.host_count() > small_nodes) continue;
    for (const bool complete : {false, true}) {
      ReportRow& row = table.rows.emplace_back();
      row.cells = {instance.topology, topology.host_count(), complete ? "complete schedule" : "T_L and T_B"};
      row.paper = {instance.paper, std::nullopt, instance.most};
      if (scope.deadline.passed()) {
        row.why = no_time_left;
        continue;
      }
      PlanOptions options;
      options.schedule = complete;
      options.threads = scope.threads;
      const Result<Plan> plan = make_plan(topology, Collective::allgather, "bfb", options);
      if (!plan) {
        row.why = plan.error().message;
      } else if (!plan->faults.empty()) {
        row.why = "FAULTY: " + plan->faults.front();
      } else {
        row.ours = plan->seconds;
        if (difference(row).value_or(0) != 0) row.why = "this machine, shared, against the paper's";
      }
    }
  }
  table.note =
      "Seconds to plan an allgather; complete schedules are verified afterwards, which is not counted. The text has "
      "lost what stands for BFB's times of the smallest instances.";
  return table;
}

ReportTable figure_10(const ReportScope& scope) {
  ReportTable table{{"topology", "nodes", "what"}, "over_optimum", {}, ""};
  for (const GeneratedBy& instance : table_6_rows()) {
    const Topology topology = *generate(instance.topology);
    if (!scope.full && topology.host_count() > small_nodes) continue;
    const std::optional<ExpansionCost> cost = bfb_cost(topology);
    ReportRow latency{{instance.topology, topology.host_count(), "T_L over the diameter"}, {}, {}, ""};
    ReportRow bandwidth{{instance.topology, topology.host_count(), "T_B over (N-1)/N"}, {}, {}, ""};
    latency.paper = bandwidth.paper = printed("exact optimality", 1, exact);
    if (cost) {
      latency.ours = static_cast<double>(cost->steps) / graph_facts(topology).diameter;
      bandwidth.ours = over_optimal(cost->bandwidth_time, cost->nodes);
    } else {
      latency.why = bandwidth.why = "BFB cannot plan it";
    }
    table.rows.push_back(std::move(latency));
    table.rows.push_back(std::move(bandwidth));
  }
  table.note = "The figure is a drawing; of it our text keeps that BFB is exactly optimal in both (§8.5.1).";
  return table;
}

// --- Table 8: distance-regular graphs -------------------------------------------------------------------------------

/// By the columns of Table 8: N, T_L, what Moore's bound of digraphs and of undirected graphs allows.
struct DistanceRegular {
  const char* name;
  const char* graph;
  std::int32_t nodes;
  std::int32_t steps;
  std::int32_t moore;
  std::int32_t undirected_moore;
};

constexpr std::array<DistanceRegular, 15> table_8_rows = {
    {{"Octahedron J(4,2)", "octahedron", 6, 2, 2, 2},
     {"Paley graph P9 = H(2,3)", "paley9", 9, 2, 2, 2},
     {"K5,5-I", "k55-i", 10, 3, 2, 2},
     {"Distance-3 graph of Heawood graph", "heawood3", 14, 3, 2, 2},
     {"Line graph of Petersen graph", "line-petersen", 15, 3, 2, 2},
     {"4-cube Q4 = H(4,2)", "hypercube:4", 16, 4, 2, 2},
     {"Line graph of Heawood graph", "line-heawood", 21, 3, 2, 3},
     {"Incidence graph of PG(2,3)", "pg23", 26, 3, 3, 3},
     {"Incidence graph of AG(2,4) minus a parallel class", "ag24", 32, 4, 3, 3},
     {"Odd graph O4", "o4", 35, 3, 3, 3},
     {"Line graph of Tutte's 8-cage", "line-tutte8", 45, 4, 3, 3},
     {"Doubled Odd Graph D(O4)", "doubled-o4", 70, 7, 3, 4},
     {"Incidence graph of GQ(3,3)", "gq33", 80, 4, 3, 4},
     {"Line graph of Tutte's 12-cage", "line-tutte12", 189, 6, 4, 5},
     {"Incidence graph of GH(3,3)", "gh33", 728, 6, 5, 6}}};

/// Least k with 1 + d·Σ_{i<k} (d−1)^i >= N.
std::int64_t undirected_moore_steps(std::int64_t nodes, std::int64_t degree) {
  std::int64_t reached = 1;
  std::int64_t layer = degree;
  std::int64_t steps = 0;
  for (; reached < nodes; ++steps) {
    reached += layer;
    layer *= degree - 1;
  }
  return steps;
}

ReportTable table_8(const ReportScope& /*scope*/) {
  ReportTable table{{"graph", "specification", "what"}, "figure", {}, ""};
  for (const DistanceRegular& graph : table_8_rows) {
    std::string specification = graph.graph;
    if (specification.find(':') == std::string::npos) specification.insert(0, "graph:");
    const Topology topology = *generate(specification);
    const std::optional<ExpansionCost> cost = bfb_cost(topology);
    const auto add = [&](const char* what, std::optional<double> ours, std::int32_t paper) {
      table.rows.push_back({{graph.name, specification, what},
                            ours,
                            printed(std::to_string(paper), paper, exact),
                            ours ? "" : "BFB cannot plan it"});
    };
    const auto number = [&](std::int64_t value) {
      return cost ? std::optional(static_cast<double>(value)) : std::nullopt;
    };
    add("N", topology.host_count(), graph.nodes);
    add("T_L", number(cost ? cost->steps : 0), graph.steps);
    add("Moore bound of digraphs", number(moore_bound(topology.host_count(), degree(topology)).steps), graph.moore);
    add("Moore bound of undirected graphs", number(undirected_moore_steps(topology.host_count(), degree(topology))),
        graph.undirected_moore);
    table.rows.push_back({{graph.name, specification, "T_B over (N-1)/N"},
                          cost ? std::optional(over_optimal(cost->bandwidth_time, cost->nodes)) : std::nullopt,
                          printed("bandwidth-optimal (§F.3)", 1, exact),
                          cost ? "" : "BFB cannot plan it"});
  }
  table.note = "Degree 4. The table's columns have lost their titles; the bounds are those that fit all rows.";
  return table;
}

// --- Figure 3: line graphs of line graphs ---------------------------------------------------------------------------

ReportTable figure_3(const ReportScope& scope) {
  static const std::vector<std::string> bases = {
      "complete:3", "complete_bipartite:2,2", "complete:5", "complete_bipartite:4,4", "hamming:2,3",
      "complete:9", "complete_bipartite:8,8"};
  ReportTable table{{"base", "degree", "expansions", "nodes", "steps_over_moore"}, "bandwidth_over_optimum", {}, ""};
  const std::int64_t planned_nodes = scope.full ? 700 : 150;
  for (const std::string& base : bases) {
    std::string specification = base;
    const Topology graph = *generate(base);
    const std::optional<ExpansionCost> start = bfb_cost(graph);
    if (!start) continue;
    ExpansionCost cost = *start;
    const auto base_nodes = static_cast<double>(cost.nodes);
    const double limit = 1 + 1 / (base_nodes * static_cast<double>(cost.degree - 1));
    for (std::int32_t expansions = 0; expansions <= (scope.full ? 8 : 3); ++expansions) {
      ReportRow& row = table.rows.emplace_back();
      const auto nodes = static_cast<std::int32_t>(std::min<std::int64_t>(cost.nodes, 1 << 30));
      const std::int64_t above = cost.steps - moore_bound(nodes, static_cast<std::int32_t>(cost.degree)).steps;
      row.cells = {base, cost.degree, expansions, cost.nodes, above};
      row.ours = over_optimal(cost.bandwidth_time, cost.nodes);
      row.paper = {"a constant factor, less of a larger base", 1 - exact, limit + exact};
      if (above != 0) row.why = "not Moore-optimal";
      if (expansions > 0 && cost.nodes <= planned_nodes) {
        const Result<Plan> plan = make_plan(*generate(specification), Collective::allgather, "expansion", {});
        if (!plan || !plan->faults.empty() || plan->schedule.steps != cost.steps ||
            plan->schedule.proof.bandwidth_time != cost.bandwidth_time) {
          row.why = "FAULTY: the schedule is not what Theorem 7 says";
        }
      }
      cost = line_cost(cost);
      specification.insert(0, "line:");
    }
  }
  table.note =
      "T_B over (N-1)/N by Theorem 7; up to " + std::to_string(planned_nodes) +
      " nodes the schedule was made, verified and found to be that. The figure "
      "is a drawing whose base graphs our text has lost: these are Moore- and bandwidth-optimal ones. The factor tends "
      "to 1 + 1/(N(d-1)), N of the base (Theorem 9).";
  return table;
}

// --- Figure 15: which topology is best ------------------------------------------------------------------------------

std::string family_of(const std::string& specification) {
  std::string name = specification.substr(0, specification.find(':'));
  if (name.find("circulant") != std::string::npos) name = "circulant";
  return name;
}

ReportTable figure_15(const ReportScope& scope) {
  constexpr double small_vector = 1 << 20;
  constexpr double large_vector = 100 << 20;
  const std::int32_t most_nodes = scope.full ? 2000 : 200;
  ReportTable table{{"size_bytes", "family", "wins", "of"}, "share", {}, ""};
  TopologyFinder finder;
  std::map<double, std::map<std::string, std::int32_t>> wins;
  std::int32_t seen = 0;
  for (std::int32_t nodes = table_degree + 1; nodes <= most_nodes && !scope.deadline.passed(); ++nodes) {
    const std::vector<FoundTopology> frontier = finder.frontier(nodes, table_degree);
    if (frontier.empty()) continue;
    ++seen;
    for (const double size : {small_vector, large_vector}) {
      const auto best =
          std::min_element(frontier.begin(), frontier.end(), [size](const FoundTopology& a, const FoundTopology& b) {
            return allreduce_microseconds(a.cost, size) < allreduce_microseconds(b.cost, size);
          });
      ++wins[size][family_of(best->specification)];
    }
  }
  for (const auto& [size, families] : wins) {
    std::vector<std::pair<std::string, std::int32_t>> order(families.begin(), families.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    const std::string popular = size == small_vector ? "genkautz" : "circulant";
    for (const auto& [family, count] : order) {
      ReportRow& row = table.rows.emplace_back();
      row.cells = {std::llround(size), family, count, seen};
      row.ours = static_cast<double>(count) / seen;
      if (family == popular) {
        const auto rival =
            order.front().first != family ? order.front() : order[std::min<std::size_t>(1, order.size() - 1)];
        row.paper = {"the most popular", static_cast<double>(rival.second) / seen, std::nullopt};
        if (rival.first == family) row.paper.least = std::nullopt;
        if (difference(row).value_or(0) != 0) {
          row.why =
              "our finder knows more base graphs and products than the paper's, which beat it at some N; the sizes of "
              "the vector are lost in our text";
        }
      } else {
        row.paper = said(family == "line" ? "popular" : "");
      }
    }
  }
  table.note =
      "How often a family has the fastest allreduce, degree 4, every N from 5 to " + std::to_string(most_nodes) +
      ", alpha = 10 us, 100 Gbit/s per node. The figure is a drawing whose two vector sizes our text has lost: "
      "1 MiB and 100 MiB are ours.";
  return table;
}

// --- Figure 18: generalized Kautz graphs ----------------------------------------------------------------------------

ReportTable figure_18(const ReportScope& scope) {
  static constexpr std::array<std::int32_t, 5> degrees = {2, 4, 6, 8, 12};
  const std::int32_t most_nodes = scope.full ? 1000 : 100;
  const std::int32_t stride = scope.full ? 15 : 10;
  constexpr std::int32_t first_nodes = 40;
  ReportTable table{{"degree", "nodes", "steps_over_moore"}, "bandwidth_over_optimum", {}, ""};
  std::optional<double> mean_before;
  for (const std::int32_t degree : degrees) {
    double sum = 0;
    std::int32_t count = 0;
    std::int64_t most_above = 0;
    for (std::int32_t nodes = first_nodes; nodes <= most_nodes && !scope.deadline.passed(); nodes += stride) {
      const Topology graph = *generate("genkautz:" + std::to_string(nodes) + "," + std::to_string(degree));
      const std::optional<ExpansionCost> cost = bfb_cost(graph);
      if (!cost) continue;
      // Without self-links a node may have a link less, the paper's model counts d for all.
      const Rational time = cost->bandwidth_time * Rational(degree, cost->degree);
      const std::int64_t above = cost->steps - moore_bound(nodes, degree).steps;
      most_above = std::max(most_above, above);
      sum += over_optimal(time, nodes);
      ++count;
      table.rows.push_back({{degree, nodes, above}, over_optimal(time, nodes), said(""), ""});
    }
    if (count == 0) continue;
    ReportRow& mean = table.rows.emplace_back();
    mean.cells = {degree, "mean", most_above};
    mean.ours = sum / count;
    mean.paper = {"near 1, nearer at higher degrees", std::nullopt, mean_before};
    mean_before = mean.ours;
    if (most_above > 1) mean.why = "more than one step above Moore's bound: against Theorem 21";
    if (difference(mean).value_or(0) != 0) mean.why = "the means over these N do not fall everywhere";
  }
  table.note =
      "T_B of BFB over (N-1)/N. The figure is a drawing; our text keeps what is said of it (§F.2). T_L is at most one "
      "step above Moore's bound (Theorem 21).";
  return table;
}

}  // namespace

std::span<const Report> direct_connect_reports() {
  static constexpr std::array<Report, 9> table = {
      {{"bfb-table4", "000", "Pareto-efficient topologies of 1024 nodes and degree 4", table_4},
       {"bfb-table5", "000", "the finder's topologies of 5 to 12 nodes", table_5},
       {"bfb-table6", "000", "planning time of BFB on hypercubes and tori", table_6},
       {"bfb-table7", "000", "Pareto-efficient topologies of degree 4 by number of nodes", table_7},
       {"bfb-table8", "000", "distance-regular graphs of degree 4", table_8},
       {"bfb-fig3", "000", "bandwidth of line graphs of line graphs", figure_3},
       {"bfb-fig10", "000", "optimality of BFB on hypercubes and tori", figure_10},
       {"bfb-fig15", "000", "which topology has the fastest allreduce, over N", figure_15},
       {"bfb-fig18", "000", "bandwidth of generalized Kautz graphs", figure_18}}};
  return table;
}

}  // namespace libcoll::command

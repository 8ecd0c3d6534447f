// Reports of paper 004: ForestColl, the optima of its testbeds and how long finding forests takes.
#include <array>
#include <cstdio>
#include <variant>

#include "libcoll/command/planning.h"
#include "libcoll/command/report.h"
#include "planner/broadcast/bound/forest_optimum.h"
#include "planner/broadcast/lp/forestcoll_lp.h"
#include "planner/topology/facts.h"
#include "planner/topology/generators.h"

namespace libcoll::command {

using namespace broadcast_lp;
using namespace registry;
using namespace schedule;
using namespace topology;

namespace {

constexpr std::int64_t bytes_per_gigabyte = 1'000'000'000;
constexpr double one_gigabyte = 1e9;

/// Hosts first, then switches, all links both ways.
struct Wirer {
  std::vector<Node> nodes;
  std::vector<Link> links;

  void cable(NodeId a, NodeId b, std::int64_t gigabytes_per_second) {
    Link link;
    link.bandwidth_bytes_per_second = gigabytes_per_second * bytes_per_gigabyte;
    link.from = a;
    link.to = b;
    links.push_back(link);
    std::swap(link.from, link.to);
    links.push_back(link);
  }
};

Wirer gpus_and_switches(std::int32_t gpus, std::int32_t switches) {
  Wirer wirer;
  for (std::int32_t i = 0; i < gpus + switches; ++i) wirer.nodes.push_back({std::to_string(i), "", i >= gpus});
  return wirer;
}

/// Boxes with a switch of their own, and one that joins them: GB/s of each GPU to either.
struct TwoLevels {
  std::int32_t per_box;
  std::int64_t inside;
  std::int64_t outside;
};

Topology two_levels(const std::string& name, std::int32_t boxes, const TwoLevels& levels) {
  const std::int32_t gpus = boxes * levels.per_box;
  Wirer wirer = gpus_and_switches(gpus, boxes + 1);
  for (NodeId gpu = 0; gpu < gpus; ++gpu) {
    wirer.cable(gpu, gpus + gpu / levels.per_box, levels.inside);
    wirer.cable(gpu, gpus + boxes, levels.outside);
  }
  return *Topology::make(name, std::move(wirer.nodes), std::move(wirer.links));
}

/// DGX A100 (§5.3): eight GPUs per box on an NVSwitch of 300 GB/s each, 25 GB/s each to the InfiniBand switch.
Topology a100(std::int32_t boxes) { return two_levels("A100 " + std::to_string(boxes) + "x8", boxes, {8, 300, 25}); }

/// As config/topologies/pods-2x2x4.toml has it: rings of four, two of them to a pod's switch, a trunk between the pods.
Topology pods() {
  constexpr std::int32_t hosts = 16;
  constexpr std::int32_t ring = 4;
  constexpr std::int32_t pod = 8;
  Wirer wirer = gpus_and_switches(hosts, 2);
  for (NodeId host = 0; host < hosts; ++host) {
    const NodeId first = host / ring * ring;
    wirer.cable(host, first + (host + 1 - first) % ring, 100);
    wirer.cable(host, hosts + host / pod, 10);
  }
  wirer.cable(hosts, hosts + 1, 4);
  return *Topology::make("pods 2x2x4", std::move(wirer.nodes), std::move(wirer.links));
}

/// AMD MI250 (§5.2): `per_box` of the sixteen dies of a box, joined as the paper's authors publish it with their code
/// by Infinity Fabric links of 50 GB/s, some in parallel, and 16 GB/s each to the InfiniBand switch.
Topology mi250(std::int32_t per_box) {
  struct Fabric {
    NodeId a;
    NodeId b;
    std::int64_t links;
  };
  static constexpr std::array<Fabric, 28> box = {
      {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},  {2, 3, 4},
       {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},  {4, 5, 4},   {4, 6, 1},
       {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},   {8, 12, 2},  {9, 13, 1},  {10, 11, 4},
       {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}}};
  constexpr std::int64_t link = 50;
  constexpr std::int64_t outside = 16;
  const std::int32_t gpus = 2 * per_box;
  Wirer wirer = gpus_and_switches(gpus, 1);
  for (const std::int32_t first : {0, per_box}) {
    for (const Fabric& fabric : box) {
      if (fabric.b < per_box) wirer.cable(first + fabric.a, first + fabric.b, fabric.links * link);
    }
  }
  for (NodeId gpu = 0; gpu < gpus; ++gpu) wirer.cable(gpu, gpus, outside);
  const std::string dies = std::to_string(per_box);
  return *Topology::make("MI250 " + dies + "+" + dies, std::move(wirer.nodes), std::move(wirer.links));
}

std::string counted(std::int64_t value) { return std::to_string(value); }

template <class T>
std::optional<T> forest_figure(const Plan& plan, std::string_view name) {
  for (const auto& [key, value] : plan.figures.more) {
    if (key != name) continue;
    if (const T* found = std::get_if<T>(&value)) return *found;
  }
  return std::nullopt;
}

// --- optima ---------------------------------------------------------------------------------------------------------

/// What the paper says of one fabric; what was measured is at 1 GB.
struct Testbed {
  Topology topology;
  PaperFigure algbw;
  PaperFigure trees;
  std::int32_t small_trees;  ///< k of the fixed-k schedule the text speaks of; 0: none
  PaperFigure small_algbw;
  double measured_allgather;
  double measured_reduce_scatter;
  double measured_allreduce;
};

constexpr const char* least_measured = "below what was measured: the model of the fabric is wrong";

ReportRow optimum_row(const Topology& topology, const char* what, const char* unit, std::optional<double> ours,
                      PaperFigure paper, std::string why) {
  return {{topology.name(), what, unit}, ours, std::move(paper), std::move(why)};
}

/// A bound lies above what hardware reached.
PaperFigure reached(double gigabytes_per_second) {
  char text[48];
  std::snprintf(text, sizeof text, "%.4g measured at 1 GB", gigabytes_per_second);
  return {text, gigabytes_per_second, std::nullopt};
}

void add_testbed(const Testbed& testbed, const ReportScope& scope, ReportTable& table) {
  const Topology& topology = testbed.topology;
  PlanOptions options;
  options.threads = scope.threads;
  const auto add = [&](const char* what, const char* unit, std::optional<double> ours, const PaperFigure& paper,
                       const std::string& why) {
    table.rows.push_back(optimum_row(topology, what, unit, ours, paper, why));
  };
  const Result<Plan> plan = make_plan(topology, Collective::allgather, "forestcoll", options);
  if (!plan || !plan->faults.empty()) {
    add("1/x*", "1/(GB/s)", {}, said(""), plan ? "FAULTY: " + plan->faults.front() : plan.error().message);
    return;
  }
  const std::string fraction = forest_figure<std::string>(*plan, "inverse_x").value_or("");
  add(("1/x* = " + fraction).c_str(), "1/(GB/s)", forest_figure<double>(*plan, "inverse_x_float"), said(""), "");
  const std::optional<double> algbw = forest_figure<double>(*plan, "algbw_bytes_per_second");
  const std::optional<double> rate = algbw ? std::optional(*algbw / one_gigabyte) : std::nullopt;
  add("allgather, optimum", "GB/s", rate, testbed.algbw, "");
  const std::optional<std::int64_t> trees = forest_figure<std::int64_t>(*plan, "trees_per_root");
  add("trees per root", "", trees ? std::optional(static_cast<double>(*trees)) : std::nullopt, testbed.trees, "");
  if (testbed.small_trees > 0) {
    PlanOptions few = options;
    few.trees = testbed.small_trees;
    const Result<Plan> small = make_plan(topology, Collective::allgather, "forestcoll", few);
    const std::optional<double> bandwidth =
        small ? forest_figure<double>(*small, "algbw_bytes_per_second") : std::nullopt;
    add(("allgather, " + counted(testbed.small_trees) + " trees per root").c_str(), "GB/s",
        bandwidth ? std::optional(*bandwidth / one_gigabyte) : std::nullopt, testbed.small_algbw, "");
  }
  const auto bounded = [&](const char* what, std::optional<double> ours, double measured) {
    const ReportRow row = optimum_row(topology, what, "GB/s", ours, reached(measured), "");
    add(what, "GB/s", ours, row.paper, difference(row).value_or(0) < 0 ? least_measured : "");
  };
  bounded("allgather, bound of what was measured", rate, testbed.measured_allgather);
  for (const auto& [collective, what, measured] :
       {std::tuple{Collective::reduce_scatter, "reduce-scatter, bound of what was measured",
                   testbed.measured_reduce_scatter},
        std::tuple{Collective::allreduce, "allreduce, bound of what was measured", testbed.measured_allreduce}}) {
    const Result<Plan> other = make_plan(topology, collective, "forestcoll", options);
    const std::optional<double> bandwidth =
        other ? forest_figure<double>(*other, "algbw_bytes_per_second") : std::nullopt;
    bounded(what, bandwidth ? std::optional(*bandwidth / one_gigabyte) : std::nullopt, measured);
  }
}

/// T_B in seconds per byte of the vector.
double seconds_per_byte(const Schedule& schedule) {
  return schedule.proof.bandwidth_time.to_double() /
         (static_cast<double>(node_degree(schedule)) *
          static_cast<double>(schedule.topology.unit_bandwidth_bytes_per_second()));
}

/// §5.3: a ring leaves and enters a box with nearly all of the data. Rings that use every NIC share the load, one ring
/// leaves by one NIC.
void add_rings(const Topology& topology, ReportTable& table) {
  constexpr double nics_per_box = 8;
  constexpr double nic = 25 * one_gigabyte;
  const auto gpus = static_cast<double>(topology.host_count());
  const Result<Plan> forest = make_plan(topology, Collective::allgather, "forestcoll", {});
  const Result<Plan> ring = make_plan(topology, Collective::allgather, "ring", {});
  const auto over_optimum = [&](double seconds_of_a_byte) {
    return forest ? std::optional(seconds_of_a_byte / seconds_per_byte(forest->schedule)) : std::nullopt;
  };
  constexpr double half_digit = 0.0005;
  table.rows.push_back(optimum_row(topology, "rings through every NIC, time over the optimum at least", "",
                                   over_optimum((gpus - 1) / gpus / (nics_per_box * nic)),
                                   printed("62.5 % worse", 1.625, half_digit), forest ? "" : forest.error().message));
  table.rows.push_back(optimum_row(topology, "one ring, time over the optimum", "",
                                   ring ? over_optimum(seconds_per_byte(ring->schedule)) : std::nullopt, said(""),
                                   ring ? "" : ring.error().message));
}

ReportTable testbed_optima(const ReportScope& scope) {
  constexpr double half_digit = 0.005;
  ReportTable table{{"fabric", "what", "unit"}, "figure", {}, ""};
  const Topology two_boxes = a100(2);
  const double a100_optimum = 16 * 325.0 / 15;
  add_testbed({two_boxes,
               printed("15/16 of the data at the 325 GB/s of one GPU: 346.67", a100_optimum, half_digit),
               said(""),
               0,
               {},
               247,
               247,
               122},
              scope, table);
  add_rings(two_boxes, table);
  add_testbed({mi250(16), printed("354.13", 354.13, half_digit), said("lost in our text, much more than 2"), 2,
               printed("341.33", 341.33, half_digit), 174, 177, 87.4},
              scope, table);
  add_testbed({mi250(8), said(""), said(""), 0, {}, 121, 109, 61.4}, scope, table);
  table.note =
      "§4.5, §5.2 and §5.3, Tables 2 and 3. Optima are algorithmic bandwidths, data over time, of the fluid plan.";
  return table;
}

// --- fabrics of several bandwidths -----------------------------------------------------------------------------------

/// A fabric, and the cut that is its bottleneck: so many shards have to come over so many GB/s.
struct Uneven {
  Topology topology;
  std::int64_t shards;
  std::int64_t gigabytes_per_second;
  const char* cut;
};

void add_uneven(const Uneven& fabric, const ReportScope& scope, ReportTable& table) {
  constexpr double rounding = 1e-12;
  const double expected = static_cast<double>(fabric.shards) / static_cast<double>(fabric.gigabytes_per_second);
  const PaperFigure by_cut =
      printed(std::to_string(fabric.shards) + "/" + std::to_string(fabric.gigabytes_per_second) + ", " + fabric.cut,
              expected, rounding);
  const auto add = [&](const char* what, const char* unit, std::optional<double> ours, const PaperFigure& paper,
                       const std::string& why = "") {
    table.rows.push_back(optimum_row(fabric.topology, what, unit, ours, paper, why));
  };
  PlanOptions options;
  options.threads = scope.threads;
  const Result<Plan> plan = make_plan(fabric.topology, Collective::allgather, "forestcoll", options);
  if (!plan || !plan->faults.empty()) {
    add("1/x*", "1/(GB/s)", {}, by_cut, plan ? "FAULTY: " + plan->faults.front() : plan.error().message);
    return;
  }
  const auto whole = [&](const char* name) {
    const std::optional<std::int64_t> value = forest_figure<std::int64_t>(*plan, name);
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
  };
  const std::optional<double> trees = whole("trees_per_root");
  add("1/x*", "1/(GB/s)", forest_figure<double>(*plan, "inverse_x_float"), by_cut);
  add("trees per root", "", trees, said(""));
  add("trees", "", trees ? std::optional(*trees * fabric.topology.host_count()) : std::nullopt, said(""));
  add("deepest tree", "links", whole("tree_depth_max"), said(""));
  add("planning time", "s", plan->seconds, said(""));
}

ReportTable uneven_fabrics(const ReportScope& scope) {
  ReportTable table{{"fabric", "what", "unit"}, "figure", {}, ""};
  constexpr const char* around_gpu = "the cut around a GPU";
  constexpr const char* around_box = "the cut around a box";
  // From three boxes on the others' shards have a narrower way into a box than into one GPU.
  add_uneven({a100(2), 15, 325, around_gpu}, scope, table);
  add_uneven({a100(4), 24, 200, around_box}, scope, table);
  add_uneven({two_levels("two levels 4x4", 4, {4, 200, 10}), 12, 40, around_box}, scope, table);
  add_uneven({pods(), 8, 4, "the trunk between the pods"}, scope, table);
  table.note =
      "§4.2: nothing is faster than the cut allows. The last two are ours, samples of the topology files: two levels "
      "of "
      "twenty to one, and rings of 100 GB/s under switches of 10 under a trunk of 4. Deepest tree: in links between "
      "hosts, switches left out.";
  return table;
}

// --- allreduce ------------------------------------------------------------------------------------------------------

ReportTable allreduce_optima(const ReportScope& scope) {
  ReportTable table{{"fabric", "hosts"}, "bandwidth_time", {}, ""};
  constexpr double accuracy = 1e-6;  // of the solver
  std::vector<Topology> fabrics;
  for (const char* specification : {"ring:5", "complete:4", "hypercube:3", "torus:3x3", "fat_tree:2,2"}) {
    if (Result<Topology> fabric = generate(specification); fabric.ok()) fabrics.push_back(std::move(fabric).value());
  }
  fabrics.push_back(two_levels("two boxes of three", 2, {3, 60, 10}));
  for (const Topology& fabric : fabrics) {
    ReportRow row{{fabric.name(), fabric.host_count()}, {}, said(""), ""};
    PlanOptions options;
    options.threads = scope.threads;
    const Result<double> rate = allreduce_lp_rate(fabric);
    const Result<Plan> plan = make_plan(fabric, Collective::allreduce, "forestcoll", options);
    if (!rate || !plan || !plan->faults.empty()) {
      row.why = !rate ? rate.error().message : !plan ? plan.error().message : "FAULTY: " + plan->faults.front();
    } else {
      // T is M over Σ x_v links' bandwidth, and B is d of them.
      const double optimum = degree(fabric) / *rate;
      char text[48];
      std::snprintf(text, sizeof text, "%.6g by the LP", optimum);
      row.paper = printed(text, optimum, accuracy * optimum);
      row.ours = plan->schedule.proof.bandwidth_time.to_double();
      if (difference(row).value_or(0) != 0) row.why = "one forest in and one out is not the best here";
    }
    table.rows.push_back(std::move(row));
  }
  table.note =
      "§4.6 and appendix E: T_B in M/B of reduce-scatter and allgather in turn, beside the optimum of the linear "
      "program "
      "over all trees in and out; the paper says that they were equal wherever its authors looked.";
  return table;
}

// --- planning time --------------------------------------------------------------------------------------------------

ReportTable forest_planning_time(const ReportScope& scope) {
  ReportTable table{{"fabric", "gpus", "what", "algbw_gb_per_second"}, "plan_seconds", {}, ""};
  const std::vector<std::int32_t> sizes =
      scope.full ? std::vector<std::int32_t>{2, 4, 8, 16, 32, 64, 128} : std::vector<std::int32_t>{2, 4};
  constexpr std::int32_t boxes_within_a_second = 4;
  constexpr double growth = 3;
  for (const bool complete : {false, true}) {
    const char* what = complete ? "complete plan" : "optimum";
    Pace pace;
    for (const std::int32_t boxes : sizes) {
      const Topology topology = a100(boxes);
      ReportRow row{{topology.name(), topology.host_count(), what, nullptr}, {}, said(""), ""};
      if (boxes <= boxes_within_a_second) row.paper = {"below 1 s (Figure 11)", std::nullopt, 1};
      const double expected = pace.expected(what, topology.host_count(), growth);
      if (scope.deadline.limited() && expected > scope.deadline.remaining()) {
        row.why = "no time left";
        table.rows.push_back(std::move(row));
        break;
      }
      PlanOptions options;
      options.threads = scope.threads;
      options.schedule = complete;
      const Result<Plan> plan = make_plan(topology, Collective::allgather, "forestcoll", options);
      if (!plan) {
        row.why = plan.error().message;
      } else if (!plan->faults.empty()) {
        row.why = "FAULTY: " + plan->faults.front();
      } else {
        row.ours = plan->seconds;
        pace.took(what, topology.host_count(), plan->seconds);
        const std::optional<double> algbw = forest_figure<double>(*plan, "algbw_bytes_per_second");
        if (algbw) row.cells[3] = *algbw / one_gigabyte;
        if (difference(row).value_or(0) != 0) row.why = "this machine against the paper's";
      }
      table.rows.push_back(std::move(row));
    }
  }
  table.note = "Figure 11 is a drawing; of its times our text keeps those of up to four boxes only.";
  return table;
}

}  // namespace

std::span<const Report> forestcoll_reports() {
  static constexpr std::array<Report, 4> table = {
      {{"forestcoll-optima", "004", "optima of two A100 boxes and two MI250 boxes, beside what was measured on them",
        testbed_optima},
       {"forestcoll-hybrid", "004", "fabrics with bandwidths of several orders: optimum, trees, depth, planning time",
        uneven_fabrics},
       {"forestcoll-allreduce-lp", "004", "allreduce by two forests beside the linear program of appendix E",
        allreduce_optima},
       {"forestcoll-fig11", "004", "planning time of allgather on A100 boxes", forest_planning_time}}};
  return table;
}

}  // namespace libcoll::command

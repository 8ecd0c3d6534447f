#include "planner/plan/claims.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "planner/base/index.h"
#include "planner/broadcast/bound/cut_bound.h"
#include "planner/schedule/cost.h"
#include "planner/topology/facts.h"

namespace libcoll::default_plan {

using namespace broadcast::bound;
using namespace schedule;
using namespace topology;

namespace {

using Wide = Rational::Wide;

constexpr double tolerance = 1e-9;  // of figures in floating point, relative

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// "53/28", or digits where that is long.
std::string number(const Rational& value) {
  constexpr std::size_t most = 60;
  std::string text = value.to_string();
  return text.size() <= most ? text : "about " + number(value.to_double());
}

bool close(double a, double b) { return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)); }

/// F ≤ Σ cap·ℓ / Σ dist_ℓ (paper 003), by Dijkstra's algorithm from every host. Lengths are those of the links, then,
/// if there are more, of what the hosts inject and of what they take in.
class LengthBound {
 public:
  /// Where hosts forward, every hop is injected and taken in; where NICs do, only a path's ends are.
  LengthBound(const Topology& topology, const std::vector<std::int64_t>& lengths, bool hosts_forward)
      : topology_(topology), lengths_(lengths), hosts_forward_(hosts_forward) {
    if (lengths_.empty()) lengths_.assign(at(topology.link_count()), 1);
    const std::size_t hosts = at(topology.host_count());
    const std::size_t links = at(topology.link_count());
    fits_ = lengths_.size() == links || lengths_.size() == links + 2 * hosts;
    if (!fits_) return;
    injected_ = lengths_.size() > links;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      const std::int64_t bandwidth = i < links ? topology.link(static_cast<LinkId>(i)).bandwidth_bytes_per_second
                                               : topology.injection_bytes_per_second();
      capacity_ += Wide{bandwidth} * lengths_[i];
    }
    for (NodeId source = 0; source < topology.host_count(); ++source) add_distances_from(source);
  }

  [[nodiscard]] bool fits() const { return fits_ && distances_ > 0; }
  /// Of the rate of every pair, link bandwidths being multiples of the slowest.
  [[nodiscard]] Rational rate() const {
    return Rational::quotient(capacity_, distances_) / Rational(topology_.unit_bandwidth_bytes_per_second());
  }

 private:
  [[nodiscard]] std::int64_t out(NodeId node) const {
    const bool host = node < topology_.host_count();
    return injected_ && host ? lengths_[at(topology_.link_count()) + at(node)] : 0;
  }
  [[nodiscard]] std::int64_t in(NodeId node) const {
    const bool host = node < topology_.host_count();
    return injected_ && host ? lengths_[at(topology_.link_count()) + at(topology_.host_count()) + at(node)] : 0;
  }

  void add_distances_from(NodeId source) {
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> distance(at(topology_.node_count()), far);
    using Entry = std::pair<std::int64_t, NodeId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.emplace(distance[at(source)] = 0, source);
    while (!queue.empty()) {
      const auto [length, node] = queue.top();
      queue.pop();
      if (length > distance[at(node)]) continue;
      for (const LinkId link : topology_.out_links(node)) {
        const NodeId to = topology_.link(link).to;
        const std::int64_t longer =
            length + lengths_[at(link)] + (hosts_forward_ ? out(node) + in(to) : std::int64_t{0});
        if (longer >= distance[at(to)]) continue;
        distance[at(to)] = longer;
        queue.emplace(longer, to);
      }
    }
    for (NodeId host = 0; host < topology_.host_count(); ++host) {
      if (host == source || distance[at(host)] == far) continue;
      distances_ += distance[at(host)] + (hosts_forward_ ? 0 : out(source) + in(host));
    }
  }

  const Topology& topology_;
  std::vector<std::int64_t> lengths_;
  bool hosts_forward_;
  bool fits_ = false;
  bool injected_ = false;
  Wide capacity_ = 0;
  Wide distances_ = 0;
};

class Claims {
 public:
  explicit Claims(const Schedule& schedule) : schedule_(schedule), proof_(schedule.proof) {}

  std::vector<FalseClaim> check() {
    check_steps();
    check_loads();
    check_bound();
    check_flow();
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_alltoall() const { return schedule_.collective == Collective::alltoall; }

  template <class Figure>
  void refuse(const char* name, const Figure& claimed, const Figure& found) {
    found_.push_back({name, number(claimed), number(found)});
  }

  void check_steps() {
    std::int32_t last = 0;
    for (const Transfer& transfer : schedule_.transfers) last = std::max(last, transfer.step);
    if (last != schedule_.steps) {
      found_.push_back({"steps", std::to_string(schedule_.steps), std::to_string(last)});
    }
  }

  void check_loads() {
    load_ = busiest_load(schedule_);
    if (proof_.max_link_load != load_) refuse("max_link_load", proof_.max_link_load, load_);
    const Rational time = bandwidth_time(schedule_);
    if (proof_.bandwidth_time != time) refuse("bandwidth_time", proof_.bandwidth_time, time);
  }

  void check_bound() {
    const Rational& claimed = proof_.bandwidth_bound;
    if (claimed == Rational(0)) return;
    const Topology& topology = schedule_.topology;
    if (!schedule_.wirings.empty()) {
      const Rational universal = universal_bandwidth_bound(schedule_.collective, topology.host_count());
      if (claimed != universal) refuse("bandwidth_bound", claimed, universal);
      return;
    }
    if (is_alltoall()) {
      check_alltoall_bound();
      return;
    }
    const Rational quick = quick_cut_bound(topology, schedule_.collective, schedule_.root);
    if (claimed == quick || claimed == around_hosts()) return;
    const Rational cut = cut_bound(topology, schedule_.collective, schedule_.root);
    if (claimed != cut) refuse("bandwidth_bound", claimed, std::max(cut, quick));
  }

  [[nodiscard]] Rational around_hosts() const {
    const Topology& topology = schedule_.topology;
    if (is_rooted(schedule_.collective)) return 0;
    const Rational out = allgather_bandwidth_bound(transpose(topology));
    const Rational in = allgather_bandwidth_bound(topology);
    if (schedule_.collective == Collective::allreduce) return out + in;
    return schedule_.collective == Collective::allgather ? in : out;
  }

  /// d/N over the bound on the rate; planners round it down, to 10⁻⁹ of a load.
  void check_alltoall_bound() {
    const std::optional<Rational> rate = rate_bound(false);
    if (!rate) return refuse("bandwidth_bound", proof_.bandwidth_bound, Rational(0));
    const Topology& topology = schedule_.topology;
    const auto agrees = [&](const Rational& most) {
      const Rational unit(degree(topology), topology.host_count());
      const Rational bound = unit / most;
      const double claimed = proof_.bandwidth_bound.to_double();
      return proof_.bandwidth_bound <= bound && claimed >= bound.to_double() * (1 - 1e-6);
    };
    if (agrees(*rate)) return;
    const std::optional<Rational> forwarded = schedule_.routes.empty() ? rate_bound(true) : std::nullopt;
    if (forwarded && agrees(*forwarded)) return;
    refuse("bandwidth_bound", proof_.bandwidth_bound,
           Rational(degree(topology), topology.host_count()) / (forwarded ? std::min(*rate, *forwarded) : *rate));
  }

  void check_flow() {
    if (!is_alltoall() || !schedule_.wirings.empty()) {
      if (proof_.flow != 0) refuse("flow", proof_.flow, 0.0);
      if (proof_.flow_upper_bound != 0) refuse("flow_upper_bound", proof_.flow_upper_bound, 0.0);
      return;
    }
    if (proof_.flow != 0) {
      const double reached = load_ > Rational(0) ? 1 / load_.to_double() : 0;
      if (!close(proof_.flow, reached)) {
        refuse("flow", proof_.flow, reached);
      }
    }
    if (proof_.flow_upper_bound == 0) return;
    const std::optional<Rational> rate = rate_bound(false);
    if (!rate) return refuse("flow_upper_bound", proof_.flow_upper_bound, 0.0);
    if (close(proof_.flow_upper_bound, rate->to_double())) return;
    const std::optional<Rational> forwarded = schedule_.routes.empty() ? rate_bound(true) : std::nullopt;
    if (forwarded && close(proof_.flow_upper_bound, forwarded->to_double())) return;
    refuse("flow_upper_bound", proof_.flow_upper_bound,
           std::min(rate->to_double(), forwarded ? forwarded->to_double() : rate->to_double()));
  }

  [[nodiscard]] std::optional<Rational> rate_bound(bool hosts_forward) const {
    const LengthBound bound(schedule_.topology, proof_.lengths, hosts_forward);
    if (!bound.fits()) return std::nullopt;
    return bound.rate();
  }

  const Schedule& schedule_;
  const Proof& proof_;
  Rational load_;
  std::vector<FalseClaim> found_;
};

}  // namespace

std::vector<FalseClaim> false_claims(const Schedule& schedule) { return Claims(schedule).check(); }

std::string to_string(const FalseClaim& claim) {
  return claim.name + ": claimed " + claim.claimed + ", found " + claim.found;
}

void claim_what_is_reached(Schedule& schedule) {
  if (schedule.collective != Collective::alltoall || schedule.transfers.empty()) return;
  Proof& proof = schedule.proof;
  if (proof.flow == 0) return;
  proof.flow = 1 / proof.max_link_load.to_double();
}

}  // namespace libcoll::default_plan

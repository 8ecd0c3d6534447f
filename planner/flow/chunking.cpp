#include "planner/flow/chunking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "planner/topology/facts.h"

namespace libcoll {
namespace {

constexpr std::int32_t default_max_chunks = 8;
constexpr std::size_t most_shortest_paths = 16;  // candidates added per pair
constexpr std::int32_t most_rounds = 100;        // of negotiation, per chunk to gain
constexpr std::size_t most_pairs_to_polish = 100'000;
constexpr double congestion = 1;    // price of a unit of overload
constexpr double tolerance = 1e-6;  // of the LP solution behind the weights

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

/// A path that chunks of a pair may take.
struct Candidate {
  std::vector<LinkId> links;
  std::vector<ClassLoad> loads;  ///< what one chunk on it adds, one entry per class; empty: 1 to every link's class
  double weight = 0;             ///< of the fluid plan, 0 for added shortest paths
};

using Candidates = std::vector<Candidate>;  // of one pair

/// Some hop-shortest paths of a pair, walking back from the destination.
class ShortestPaths {
 public:
  ShortestPaths(const Topology& topology, const DistanceMatrix& distance, NodeId source)
      : topology_(topology), hops_(distance[at(source)]) {}

  void collect(NodeId node, std::set<std::vector<LinkId>>& found) {
    if (found.size() >= most_shortest_paths) return;
    if (hops_[at(node)] == 0) {
      found.insert({reversed_.rbegin(), reversed_.rend()});
      return;
    }
    for (const LinkId link : topology_.in_links(node)) {
      if (hops_[at(topology_.link(link).from)] + 1 != hops_[at(node)]) continue;
      reversed_.push_back(link);
      collect(topology_.link(link).from, found);
      reversed_.pop_back();
    }
  }

 private:
  const Topology& topology_;
  const std::vector<std::int32_t>& hops_;
  std::vector<LinkId> reversed_;
};

/// Without symmetry every link is its own class, and a million pairs need not say so.
bool trivial(const LinkClasses& classes) { return classes.images.size() == 1; }

Candidate make_candidate(const LinkClasses& classes, std::vector<LinkId> links, double weight) {
  if (trivial(classes)) return {std::move(links), {}, weight};
  std::map<std::int32_t, std::int32_t> loads;
  for (const LinkId link : links) {
    for (const ClassLoad& load : classes.loads[at(link)]) loads[load.link_class] += load.times;
  }
  Candidate candidate{std::move(links), {}, weight};
  for (const auto& [link_class, times] : loads) candidate.loads.push_back({link_class, times});
  return candidate;
}

Candidates candidates_of(const Topology& topology, const DistanceMatrix& distance, const LinkClasses& classes,
                         const PairPaths& pair) {
  std::set<std::vector<LinkId>> shortest;
  ShortestPaths(topology, distance, pair.source).collect(pair.destination, shortest);
  Candidates candidates;
  candidates.reserve(pair.paths.size() + shortest.size());
  for (const WeightedPath& path : pair.paths) {
    shortest.erase(path.links);
    candidates.push_back(make_candidate(classes, path.links, path.weight));
  }
  for (const std::vector<LinkId>& links : shortest) candidates.push_back(make_candidate(classes, links, 0));
  return candidates;
}

/// Largest-remainder rounding of weight·chunks, by candidate.
std::vector<std::int32_t> round_weights(const Candidates& pair, std::int32_t chunks) {
  std::vector<std::int32_t> counts;
  std::vector<double> remainder;
  for (const Candidate& candidate : pair) {
    const double exact = candidate.weight * chunks;
    counts.push_back(static_cast<std::int32_t>(std::floor(exact + tolerance)));
    remainder.push_back(exact - counts.back());
  }
  std::vector<std::size_t> order(pair.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  std::int32_t missing = chunks - std::accumulate(counts.begin(), counts.end(), 0);
  for (std::size_t i = 0; missing > 0; ++i, --missing) ++counts[order[i % order.size()]];
  return counts;
}

/// Negotiated congestion, as in PathFinder's routing of wires: a class has room for so many chunks; chunks on classes
/// with more take the cheapest path of their pair, and a class gets dearer with every round that leaves it overloaded.
class Negotiation {
 public:
  /// Starts from the weights, rounded to `chunks` per pair.
  Negotiation(const LinkClasses& classes, const std::vector<Candidates>& candidates, std::int32_t chunks)
      : classes_(classes),
        candidates_(candidates),
        load_(classes.capacity.size(), 0),
        room_(load_.size()),
        history_(load_.size()) {
    for (const Rational capacity : classes.capacity) capacity_.push_back(capacity.to_double());
    for (const Candidates& pair : candidates_) {
      counts_.push_back(round_weights(pair, chunks));
      for (std::size_t i = 0; i < pair.size(); ++i) add(pair[i], counts_.back()[i]);
    }
    best_ = counts_;
    best_load_ = largest_load();
  }

  /// Lowers the largest load chunk by chunk until it is at most `enough` or does not yield.
  void run(double enough) {
    while (best_load_ > enough && gain_one_chunk()) {
      best_load_ = largest_load();
      best_ = counts_;
    }
  }

  /// The largest load per unit capacity, in chunks, of the best state met, and that state: chunks by pair and
  /// candidate.
  [[nodiscard]] double best_load() const { return best_load_; }
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& best() const { return best_; }

 private:
  /// Calls visit with every load of a candidate until it says false.
  template <class Visit>
  void visit_loads(const Candidate& candidate, const Visit& visit) const {
    for (const ClassLoad& entry : candidate.loads) {
      if (!visit(entry)) return;
    }
    if (!candidate.loads.empty()) return;
    for (const LinkId link : candidate.links) {
      if (!visit(classes_.loads[at(link)].front())) return;
    }
  }

  void add(const Candidate& candidate, std::int32_t chunks) {
    visit_loads(candidate, [&](const ClassLoad& entry) {
      load_[at(entry.link_class)] += std::int64_t{chunks} * entry.times;
      return true;
    });
  }

  [[nodiscard]] double largest_load() const {
    double largest = 0;
    for (std::size_t i = 0; i < load_.size(); ++i) {
      largest = std::max(largest, static_cast<double>(load_[i]) / capacity_[i]);
    }
    return largest;
  }

  /// Aims one chunk below the best state and says whether it got there.
  bool gain_one_chunk() {
    for (std::size_t i = 0; i < load_.size(); ++i) {
      room_[i] = static_cast<std::int64_t>(std::ceil(best_load_ * capacity_[i] - tolerance)) - 1;
      history_[i] = 1;
    }
    for (std::int32_t round = 0; round < most_rounds; ++round) {
      if (!raise_prices()) return true;
      for (std::size_t pair = 0; pair < candidates_.size(); ++pair) {
        for (std::size_t i = 0; i < candidates_[pair].size(); ++i) {
          if (counts_[pair][i] > 0 && overloads(candidates_[pair][i])) reroute(pair, i);
        }
      }
    }
    return false;
  }

  /// False when no class is overloaded.
  bool raise_prices() {
    bool overloaded = false;
    for (std::size_t i = 0; i < load_.size(); ++i) {
      if (load_[i] <= room_[i]) continue;
      overloaded = true;
      history_[i] += static_cast<double>(load_[i] - room_[i]);
    }
    return overloaded;
  }

  [[nodiscard]] bool overloads(const Candidate& candidate) const {
    bool found = false;
    visit_loads(candidate, [&](const ClassLoad& entry) {
      found = load_[at(entry.link_class)] > room_[at(entry.link_class)];
      return !found;
    });
    return found;
  }

  /// Takes one chunk off its path and puts it on the cheapest.
  void reroute(std::size_t pair, std::size_t from) {
    const Candidates& candidates = candidates_[pair];
    add(candidates[from], -1);
    std::size_t cheapest = from;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double candidate_price = price(candidates[i]);
      if (candidate_price >= least) continue;
      least = candidate_price;
      cheapest = i;
    }
    add(candidates[cheapest], 1);
    --counts_[pair][from];
    ++counts_[pair][cheapest];
  }

  [[nodiscard]] double price(const Candidate& candidate) const {
    double sum = 0;
    visit_loads(candidate, [&](const ClassLoad& entry) {
      const std::size_t i = at(entry.link_class);
      const auto excess = static_cast<double>(std::max<std::int64_t>(0, load_[i] + entry.times - room_[i]));
      sum += history_[i] * entry.times * (1 + congestion * excess);
      return true;
    });
    return sum;
  }

  const LinkClasses& classes_;
  const std::vector<Candidates>& candidates_;
  std::vector<double> capacity_;    // by class, as the next three
  std::vector<std::int64_t> load_;  // in chunks
  std::vector<std::int64_t> room_;
  std::vector<double> history_;                    ///< price of a unit of load
  std::vector<std::vector<std::int32_t>> counts_;  ///< chunks by pair and candidate
  std::vector<std::vector<std::int32_t>> best_;
  double best_load_ = 0;
};

/// No whole number of chunks loads the hottest link less: the fluid load, rounded up to whole chunks on some link.
double least_load(const LinkClasses& classes, double fluid_load, std::int32_t chunks) {
  double least = 0;
  for (const Rational capacity : classes.capacity) {
    const double whole = std::ceil(fluid_load * chunks * capacity.to_double() - tolerance * chunks);
    const double load = whole / capacity.to_double();
    if (least <= 0 || load < least) least = load;
  }
  return least;
}

std::vector<ChunkedPair> chunked_pairs(const std::vector<PairPaths>& pairs, const std::vector<Candidates>& candidates,
                                       const std::vector<std::vector<std::int32_t>>& counts) {
  std::vector<ChunkedPair> result;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    std::map<std::vector<LinkId>, std::int32_t> paths;
    for (std::size_t i = 0; i < candidates[pair].size(); ++i) {
      if (counts[pair][i] > 0) paths[candidates[pair][i].links] += counts[pair][i];
    }
    ChunkedPair& chunked = result.emplace_back();
    chunked.source = pairs[pair].source;
    chunked.destination = pairs[pair].destination;
    for (const auto& [links, chunks] : paths) chunked.paths.push_back({links, chunks});
  }
  return result;
}

}  // namespace

Chunking round_to_chunks(const Topology& topology, const ConcurrentFlow& plan, const PlanOptions& options) {
  const DistanceMatrix distance = hop_distances(topology);
  std::vector<Candidates> candidates;
  for (const PairPaths& pair : plan.pairs) {
    candidates.push_back(candidates_of(topology, distance, plan.classes, pair));
  }
  const double fluid_load = 1 / plan.flow;
  const std::int32_t limit = options.max_chunks > 0 ? options.max_chunks : default_max_chunks;
  std::optional<Chunking> best;
  for (std::int32_t chunks = 1; chunks <= limit; ++chunks) {
    const double least = least_load(plan.classes, fluid_load, chunks);
    const auto loss_of = [&](double largest) { return std::max(0.0, 1 - fluid_load * chunks / largest); };
    if (best && loss_of(least) >= best->loss) continue;
    Negotiation search(plan.classes, candidates, chunks);
    // Negotiation about many pairs is slow: then what was asked for is enough.
    const double asked = fluid_load * chunks / (1 - std::min(options.chunk_loss, 0.5));
    search.run(plan.pairs.size() > most_pairs_to_polish ? std::max(least * (1 + tolerance), asked)
                                                        : least * (1 + tolerance));
    const double loss = loss_of(search.best_load());
    if (best && loss >= best->loss) continue;
    best = Chunking{chunks, loss, chunked_pairs(plan.pairs, candidates, search.best())};
    if (loss <= options.chunk_loss) break;
  }
  return std::move(*best);
}

}  // namespace libcoll

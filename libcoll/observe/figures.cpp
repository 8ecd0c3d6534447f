#include "libcoll/observe/figures.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "libcoll/version.h"

namespace libcoll::observe {

using namespace schedule;
using namespace topology;

namespace {

constexpr std::string_view magic = "libcoll figures " LIBCOLL_VERSION "\n";

/// Adds up what one plan or another was used for.
void add_use(PlanUse& to, const PlanUse& from) {
  if (to.algorithm.empty()) to.algorithm = from.algorithm;
  for (const auto& [link, bytes] : from.link_bytes) to.link_bytes[link] += bytes;
  to.memory_bytes += from.memory_bytes;
  to.vector_bytes += from.vector_bytes;
  to.node_memory_bytes += from.node_memory_bytes;
  to.node_vector_bytes += from.node_vector_bytes;
}

/// Those that are numbers.
template <class Use>
auto numbers_of(Use& plan) {
  return std::array{&plan.rounds, &plan.memory_bytes, &plan.vector_bytes, &plan.node_memory_bytes,
                    &plan.node_vector_bytes};
}

class Writer {
 public:
  template <class Value>
  void number(Value value) {
    static_assert(std::is_integral_v<Value>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    text_.append(value);
  }
  void histogram(const SizeHistogram& histogram) {
    number(histogram.calls());
    number(histogram.bins().size());
    for (const SizeHistogram::Bin& bin : histogram.bins()) {
      for (const std::int64_t value : {bin.calls, bin.total, bin.least, bin.most}) number(value);
    }
  }
  void figures(const CommunicatorFigures& figures) {
    text(figures.name);
    text(figures.key);
    number(figures.size);
    number(figures.nodes);
    for (const CallFigures& call : figures.calls) {
      histogram(call.served);
      histogram(call.fallen_through);
      for (const std::int64_t count : call.reasons) number(count);
      number(call.protocols.size());
      for (const auto& [protocol, calls] : call.protocols) {
        for (const std::string& word : {protocol.use, protocol.algorithm, protocol.chosen_by}) text(word);
        histogram(calls);
      }
    }
    for (const PlanUse& plan : figures.plans) {
      text(plan.algorithm);
      for (const std::int64_t* value : numbers_of(plan)) number(*value);
      number(plan.link_bytes.size());
      for (const auto& [link, bytes] : plan.link_bytes) {
        number(link.first);
        number(link.second);
        number(bytes);
      }
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_{magic};
};

/// Reads what a Writer wrote; once something does not fit, everything reads as zero.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), good_(text.starts_with(magic)) {
    if (good_) text_.remove_prefix(magic.size());
  }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && text_.empty(); }

  template <class Value>
  void number(Value& value) {
    value = 0;
    if (text_.size() < sizeof value) good_ = false;
    if (!good_) return;
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
  }
  /// How many things follow that take at least `each` bytes.
  std::size_t count(std::size_t each) {
    std::size_t value = 0;
    number(value);
    if (value > text_.size() / each) good_ = false;
    return good_ ? value : 0;
  }
  void text(std::string& value) {
    const std::size_t length = count(1);
    value = text_.substr(0, length);
    text_.remove_prefix(length);
  }
  void histogram(SizeHistogram& histogram) {
    std::int64_t calls = 0;
    number(calls);
    std::vector<SizeHistogram::Bin> bins(count(sizeof(SizeHistogram::Bin)));
    for (SizeHistogram::Bin& bin : bins) {
      for (std::int64_t* value : {&bin.calls, &bin.total, &bin.least, &bin.most}) number(*value);
    }
    histogram = SizeHistogram(calls, std::move(bins));
  }
  void figures(CommunicatorFigures& figures) {
    text(figures.name);
    text(figures.key);
    number(figures.size);
    number(figures.nodes);
    for (CallFigures& call : figures.calls) {
      histogram(call.served);
      histogram(call.fallen_through);
      for (std::int64_t& count : call.reasons) number(count);
      for (std::size_t left = count(3 * sizeof(std::size_t)); left > 0; --left) {
        CallProtocol protocol;
        for (std::string* word : {&protocol.use, &protocol.algorithm, &protocol.chosen_by}) text(*word);
        histogram(call.protocols[protocol]);
      }
    }
    for (PlanUse& plan : figures.plans) {
      text(plan.algorithm);
      for (std::int64_t* value : numbers_of(plan)) number(*value);
      for (std::size_t left = count(2 * sizeof(NodeId) + sizeof(std::int64_t)); left > 0; --left) {
        std::pair<NodeId, NodeId> link;
        number(link.first);
        number(link.second);
        number(plan.link_bytes[link]);
      }
    }
  }

 private:
  std::string_view text_;
  bool good_;
};

}  // namespace

void CallFigures::join_rank(const CallFigures& other) {
  served.take_slower(other.served);
  fallen_through.take_slower(other.fallen_through);
  for (std::size_t reason = 0; reason < reason_count; ++reason) {
    reasons[reason] = std::max(reasons[reason], other.reasons[reason]);
  }
  for (const auto& [protocol, calls] : other.protocols) protocols[protocol].take_slower(calls);
  // A rank that leads no node does not know the plan: its calls are those of a rank that does.
  std::erase_if(protocols, [this](const auto& unnamed) {
    const CallProtocol& protocol = unnamed.first;
    if (!protocol.algorithm.empty()) return false;
    return std::any_of(protocols.begin(), protocols.end(), [&](const auto& each) {
      return each.first.use == protocol.use && each.first.chosen_by == protocol.chosen_by &&
             !each.first.algorithm.empty();
    });
  });
}

void CommunicatorFigures::add(const CommunicatorFigures& other) {
  for (std::size_t kind = 0; kind < call_count; ++kind) {
    calls[kind].served.add(other.calls[kind].served);
    calls[kind].fallen_through.add(other.calls[kind].fallen_through);
    for (std::size_t reason = 0; reason < reason_count; ++reason) {
      calls[kind].reasons[reason] += other.calls[kind].reasons[reason];
    }
    for (const auto& [protocol, sizes] : other.calls[kind].protocols) calls[kind].protocols[protocol].add(sizes);
  }
  for (std::size_t plan = 0; plan < collective_count; ++plan) {
    add_use(plans[plan], other.plans[plan]);
    plans[plan].rounds += other.plans[plan].rounds;
  }
}

void CommunicatorFigures::join_rank(const CommunicatorFigures& other) {
  nodes = std::max(nodes, other.nodes);
  for (std::size_t kind = 0; kind < call_count; ++kind) calls[kind].join_rank(other.calls[kind]);
  for (std::size_t plan = 0; plan < collective_count; ++plan) {
    add_use(plans[plan], other.plans[plan]);
    plans[plan].rounds = std::max(plans[plan].rounds, other.plans[plan].rounds);
  }
}

void Report::join(const Report& other) {
  ranks += other.ranks;
  for (const CommunicatorFigures& figures : other.communicators) {
    const auto with_key = [&](std::string_view key) {
      return std::find_if(communicators.begin(), communicators.end(),
                          [&](const CommunicatorFigures& each) { return each.key == key; });
    };
    if (const auto same = with_key(figures.key); same != communicators.end()) {
      same->join_rank(figures);
    } else if (communicators.size() < most_communicators) {
      communicators.push_back(figures);
    } else if (const auto others = with_key(others_key); others != communicators.end()) {
      others->add(figures);
    } else {
      communicators.push_back(figures);
      communicators.back().name = others_key;
      communicators.back().key = others_key;
      communicators.back().size = 0;
      communicators.back().nodes = 0;
    }
  }
}

std::string pack(const Report& report) {
  Writer writer;
  writer.number(report.ranks);
  writer.number(report.communicators.size());
  for (const CommunicatorFigures& figures : report.communicators) writer.figures(figures);
  return writer.take();
}

std::optional<Report> unpack(std::string_view bytes) {
  Reader reader(bytes);
  Report report;
  reader.number(report.ranks);
  for (std::size_t left = reader.count(1); left > 0 && reader.good(); --left) {
    reader.figures(report.communicators.emplace_back());
  }
  if (!reader.at_end()) return std::nullopt;
  return report;
}

CommunicatorFigures CommunicatorRecord::figures() const {
  const std::lock_guard guard(lock_);
  return figures_;
}

void CommunicatorRecord::set_nodes(std::int32_t nodes) {
  const std::lock_guard guard(lock_);
  figures_.nodes = nodes;
}

void CommunicatorRecord::count_served(CallKind kind, const CallProtocol& protocol, std::int64_t bytes,
                                      std::int64_t nanoseconds) {
  const std::lock_guard guard(lock_);
  CallFigures& figures = figures_.calls[static_cast<std::size_t>(kind)];
  figures.served.count(bytes, nanoseconds);
  figures.protocols[protocol].count(bytes, nanoseconds);
}

void CommunicatorRecord::count_fallen_through(CallKind kind, Reason reason, std::int64_t bytes,
                                              std::int64_t nanoseconds) {
  const std::lock_guard guard(lock_);
  CallFigures& figures = figures_.calls[static_cast<std::size_t>(kind)];
  figures.fallen_through.count(bytes, nanoseconds);
  ++figures.reasons[static_cast<std::size_t>(reason)];
  figures.protocols[{"native", "", std::string(to_string(reason))}].count(bytes, nanoseconds);
}

void CommunicatorRecord::set_plan(Collective collective, std::string_view algorithm) {
  const std::lock_guard guard(lock_);
  std::string& said = figures_.plans[static_cast<std::size_t>(collective)].algorithm;
  const bool known = (", " + said + ", ").find(", " + std::string(algorithm) + ", ") != std::string::npos;
  if (!known) said.append(said.empty() ? "" : ", ").append(algorithm);
}

void CommunicatorRecord::count_round(Collective collective, const std::vector<std::pair<NodeId, NodeId>>& ends,
                                     const std::vector<std::int64_t>& bytes) {
  const std::lock_guard guard(lock_);
  PlanUse& use = figures_.plans[static_cast<std::size_t>(collective)];
  ++use.rounds;
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    if (bytes[link] != 0) use.link_bytes[ends[link]] += bytes[link];
  }
}

void CommunicatorRecord::count_memory(Collective collective, std::int64_t memory_bytes, std::int64_t vector_bytes) {
  const std::lock_guard guard(lock_);
  PlanUse& use = figures_.plans[static_cast<std::size_t>(collective)];
  use.memory_bytes += memory_bytes;
  use.vector_bytes += vector_bytes;
}

void CommunicatorRecord::count_node_memory(Collective collective, std::int64_t memory_bytes,
                                           std::int64_t vector_bytes) {
  const std::lock_guard guard(lock_);
  PlanUse& use = figures_.plans[static_cast<std::size_t>(collective)];
  use.node_memory_bytes += memory_bytes;
  use.node_vector_bytes += vector_bytes;
}

}  // namespace libcoll::observe

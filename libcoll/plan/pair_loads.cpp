#include "libcoll/plan/pair_loads.h"

#include <algorithm>

#include "planner/base/index.h"

namespace libcoll::plan {

using namespace schedule;
using namespace topology;

PairLoads::PairLoads(const Schedule& schedule) {
  const Topology& topology = schedule.topology;
  for (LinkId link = 0; link < topology.link_count(); ++link) {
    chunk_capacities_.push_back(topology.capacity(link).to_double() * schedule.chunks_per_shard);
  }
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.route == direct) {
      crossings_.push_back({transfer.shard, topology.find_link(transfer.from, transfer.to), transfer.chunk_count});
      continue;
    }
    for (const LinkId link : schedule.routes[at(transfer.route)].links) {
      crossings_.push_back({transfer.shard, link, transfer.chunk_count});
    }
  }
}

double PairLoads::busiest(std::span<const std::int64_t> bytes) const {
  std::vector<double> loads(chunk_capacities_.size(), 0);
  for (const Crossing& crossing : crossings_) {
    loads[at(crossing.link)] += static_cast<double>(bytes[at(crossing.block)]) * crossing.chunks;
  }
  double most = 0;
  for (std::size_t link = 0; link < loads.size(); ++link) most = std::max(most, loads[link] / chunk_capacities_[link]);
  return most;
}

std::vector<std::int64_t> spread_evenly(std::span<const std::int64_t> bytes, std::int32_t nodes) {
  std::vector<std::int64_t> sent(at(nodes), 0);
  std::vector<std::int64_t> received(at(nodes), 0);
  for (std::int32_t from = 0; from < nodes; ++from) {
    for (std::int32_t to = 0; to < nodes; ++to) {
      if (from == to) continue;
      sent[at(from)] += bytes[at(from * nodes + to)];
      received[at(to)] += bytes[at(from * nodes + to)];
    }
  }
  std::vector<std::int64_t> spread(bytes.size(), 0);
  for (std::int32_t from = 0; from < nodes; ++from) {
    for (std::int32_t to = 0; to < nodes; ++to) {
      if (from != to) spread[at(from * nodes + to)] = (sent[at(from)] + received[at(to)]) / nodes;
    }
  }
  return spread;
}

}  // namespace libcoll::plan

#include "planner/schedule/schedule.h"

#include <algorithm>
#include <tuple>

namespace libcoll {

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::allreduce:
      return "allreduce";
    case Collective::alltoall:
      return "alltoall";
  }
  return "unknown";
}

Result<Collective> parse_collective(std::string_view text) {
  if (text == "reduce-scatter") return Collective::reduce_scatter;
  for (const Collective collective :
       {Collective::allgather, Collective::reduce_scatter, Collective::allreduce, Collective::alltoall}) {
    if (text == to_string(collective)) return collective;
  }
  return Error{"unknown collective '" + std::string(text) +
               "', expected allgather, reduce_scatter, allreduce or alltoall"};
}

void sort_transfers(Schedule& schedule) {
  const auto key = [](const Transfer& t) {
    return std::tie(t.step, t.from, t.to, t.route, t.shard, t.chunk_begin, t.chunk_count, t.kind);
  };
  std::sort(schedule.transfers.begin(), schedule.transfers.end(),
            [&key](const Transfer& a, const Transfer& b) { return key(a) < key(b); });
}

}  // namespace libcoll

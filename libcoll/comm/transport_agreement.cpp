#include "libcoll/comm/transport_agreement.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "libcoll/base/log.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/runtime.h"

namespace libcoll::comm {

namespace {

struct Vote {
  std::int32_t choice;
  std::int32_t may_change;
};

}  // namespace

void agree_on_transport(Runtime& runtime, HostCommunicator& host) {
  std::vector<Vote> votes(static_cast<std::size_t>(host.size()));
  // A rank that changes may find that it has to change further than the others did: once for every transport at most.
  for (std::int32_t round = 0; round < transports_by_availability; ++round) {
    const Vote mine{runtime.transport_choice(), runtime.may_change_transport() ? 1 : 0};
    if (!host.allgather(&mine, sizeof mine, votes.data())) return;
    // From here on every rank looks at the same data. Those whose transport was named do not change.
    std::int32_t last = 0;
    for (const Vote& vote : votes) last = std::max(last, vote.choice);
    const auto changes = [last](const Vote& vote) { return vote.choice >= 0 && vote.choice < last; };
    const auto changing = std::count_if(votes.begin(), votes.end(), changes);
    const bool possible = std::none_of(votes.begin(), votes.end(),
                                       [&](const Vote& vote) { return changes(vote) && vote.may_change == 0; });
    if (changing == 0 || !possible) return;
    if (host.rank() == 0) {
      log(LogLevel::warn, host.name() + ": " + std::to_string(changing) + " of " + std::to_string(votes.size()) +
                              " ranks change their transport, because others cannot have the same");
    }
    if (changes(mine)) runtime.fall_back_to(last);
  }
}

}  // namespace libcoll::comm

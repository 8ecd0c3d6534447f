#include "libcoll/comm/transport_agreement.h"

#include <algorithm>
#include <string>
#include <vector>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/runtime.h"

namespace libcoll::comm {

using namespace observe;

namespace {

struct Vote {
  std::uint64_t digest;
  std::int64_t opening_nanoseconds;
  std::int32_t choice;
  std::int32_t may_change;
  std::uint32_t address_bytes;
  std::uint32_t is_open;
};

/// From the votes of ranks none of which changes its transport any more.
TransportAgreement result_of(const std::vector<Vote>& votes) {
  TransportAgreement result;
  for (const Vote& vote : votes) {
    if (vote.is_open == 0) {
      result.obstacle = Reason::transport;
    } else if (vote.digest != votes.front().digest && !result.obstacle) {
      result.obstacle = Reason::settings_differ;
    }
    result.longest_address_bytes = std::max<std::size_t>(result.longest_address_bytes, vote.address_bytes);
    result.longest_opening_nanoseconds = std::max(result.longest_opening_nanoseconds, vote.opening_nanoseconds);
  }
  return result;
}

}  // namespace

TransportAgreement agree_on_transport(Runtime& runtime, HostCommunicator& host) {
  const std::int64_t began = steady_nanoseconds();
  const bool is_open = runtime.open_transport();
  const std::int64_t opening = steady_nanoseconds() - began;
  std::vector<Vote> votes(static_cast<std::size_t>(host.size()));
  // A rank that changes may find that it has to change further than the others did: once for every transport at most.
  for (std::int32_t round = 0; round <= transports_by_availability; ++round) {
    const Vote mine{runtime.transport_digest(),
                    opening,
                    runtime.transport_choice(),
                    runtime.may_change_transport() ? 1 : 0,
                    static_cast<std::uint32_t>(runtime.transport().address().size()),
                    is_open ? 1U : 0U};
    if (!host.allgather(&mine, sizeof mine, votes.data())) break;
    // From here on every rank looks at the same data. Those whose transport was named do not change.
    std::int32_t last = 0;
    for (const Vote& vote : votes) last = std::max(last, vote.choice);
    const auto changes = [last](const Vote& vote) { return vote.choice >= 0 && vote.choice < last; };
    const auto changing = std::count_if(votes.begin(), votes.end(), changes);
    const bool possible = std::none_of(votes.begin(), votes.end(),
                                       [&](const Vote& vote) { return changes(vote) && vote.may_change == 0; });
    if (changing == 0 || !possible) return result_of(votes);
    if (host.rank() == 0) {
      log(LogLevel::warn, host.name() + ": " + std::to_string(changing) + " of " + std::to_string(votes.size()) +
                              " ranks change their transport, because others cannot have the same");
    }
    if (changes(mine)) runtime.fall_back_to(last);
  }
  return {Reason::transport, 0, 0};
}

}  // namespace libcoll::comm

#include "libcoll/comm/group_meeting.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace libcoll::comm {

namespace {

struct Greeting {
  AgreementStamp known;
  AgreementStamp spare;
  std::uint64_t number;
  std::uint32_t id;  ///< taken here; 0: none
  std::uint32_t may_have_device_memory;
};

/// The first free one. With an agreement to take over, all ranks mostly find the same.
std::uint32_t take_id(IdPool& ids) {
  const std::uint32_t id = ids.next_free(1);
  return ids.take(id) ? id : 0;
}

}  // namespace

GroupMeeting meet(HostCommunicator& host, IdPool& ids, const AgreementStamp& known, const AgreementStamp& spare,
                  std::uint64_t number) {
  const std::uint32_t id = known.communicator != 0 ? take_id(ids) : 0;
  const Greeting mine{known, spare, number, id, host.may_have_device_memory() ? 1U : 0U};
  std::vector<Greeting> all(static_cast<std::size_t>(host.size()));
  GroupMeeting meeting;
  meeting.heard = host.allgather(&mine, sizeof mine, all.data());
  if (meeting.heard) {
    // From here on every rank looks at the same data and comes to the same end.
    const Greeting& first = all.front();
    const auto all_say = [&](auto Greeting::*said) {
      return std::all_of(all.begin(), all.end(), [&](const Greeting& rank) { return rank.*said == first.*said; });
    };
    meeting.all_know = first.known.communicator != 0 && all_say(&Greeting::known);
    meeting.same_memory = first.spare.communicator != 0 && all_say(&Greeting::spare);
    meeting.id = meeting.all_know && all_say(&Greeting::id) ? first.id : 0;
    meeting.number = first.number;
    meeting.may_have_device_memory =
        std::any_of(all.begin(), all.end(), [](const Greeting& rank) { return rank.may_have_device_memory != 0; });
  }
  if (id != meeting.id) ids.give_back(id);
  return meeting;
}

}  // namespace libcoll::comm

// The first words of a new communicator's ranks: whether they can take over an earlier agreement of their group.
#pragma once

#include <cstdint>

#include "libcoll/comm/agreed_groups.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/id_pool.h"

namespace libcoll::comm {

/// What all ranks have heard: the same on all of them, unless MPI reported an error here.
struct GroupMeeting {
  bool heard = false;        ///< MPI reported no error
  bool all_know = false;     ///< all know the same agreement
  bool same_memory = false;  ///< all have the same memory to spare
  std::uint64_t number = 0;  ///< of the new communicator, for its stamp
  std::uint32_t id = 0;      ///< of the new communicator, taken on all ranks; 0: they have to look for one
  bool may_have_device_memory = false;
};

/// Collective. `known`, `spare`: what this rank knows of the group, and of memory that it has left. `number`: of the
/// new communicator, if this is rank 0.
GroupMeeting meet(HostCommunicator& host, IdPool& ids, const AgreementStamp& known, const AgreementStamp& spare,
                  std::uint64_t number);

}  // namespace libcoll::comm

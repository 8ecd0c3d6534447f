#include "libcoll/serve/mpi_host.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "libcoll/base/mpi_name.h"
#include "libcoll/serve/agreeing.h"
#include "libcoll/serve/communicator_state.h"
#include "libcoll/serve/device_memory.h"
#include "libcoll/serve/mpi_messages.h"
#include "libcoll/serve/next.h"
#include "libcoll/serve/process.h"

namespace libcoll::serve {

using namespace comm;

namespace {

/// Where it has none, the handle.
std::int64_t fortran_number_of(MpiComm comm) {
  if (mpi.description->fortran_number == nullptr) return static_cast<std::int32_t>(number_of(comm));
  return next_symbol<int (*)(MpiComm)>(mpi.description->fortran_number)(comm);
}

}  // namespace

int MpiHost::rank() const {
  int value = 0;
  mpi.comm_rank(comm_, &value);
  return value;
}

int MpiHost::size() const {
  int value = 0;
  mpi.comm_size(comm_, &value);
  return value;
}

int MpiHost::world_rank() const { return MpiHost(mpi.comm_world).rank(); }
int MpiHost::world_size() const { return MpiHost(mpi.comm_world).size(); }
bool MpiHost::may_have_device_memory() const { return has_device_runtime(); }
std::vector<int> MpiHost::world_ranks() const { return PrivateMessages::world_ranks_of(comm_); }

std::string MpiHost::host_name() const {
  std::array<char, mpi_longest_name> text{};
  int length = 0;
  mpi.get_processor_name(text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string MpiHost::name() const {
  std::array<char, mpi_longest_name> text{};
  int length = 0;
  mpi.comm_get_name(comm_, text.data(), &length);
  return length > 0 ? std::string(text.data()) : "communicator " + std::to_string(fortran_number_of(comm_));
}

std::string MpiHost::mpi_library() const {
  constexpr std::size_t longest_version = 8192;  // MPICH's tells how it was configured
  static const std::string found = [] {
    std::string version(longest_version, '\0');
    int length = 0;
    mpi.get_library_version(version.data(), &length);
    return mpi_name(version.substr(0, static_cast<std::size_t>(length)), environ);
  }();
  return found;
}

bool MpiHost::allgather(const void* mine, std::size_t bytes, void* all) {
  const int count = static_cast<int>(bytes);
  const Agreeing agreeing(number_of(comm_));
  const MpiComm own = own_of(comm_);
  return own != mpi.comm_null &&
         mpi.allgather(mine, count, mpi.byte_type, all, count, mpi.byte_type, own) == mpi_success;
}

bool MpiHost::broadcast(void* data, std::size_t bytes) {
  constexpr std::size_t most = 1U << 30U;
  const Agreeing agreeing(number_of(comm_));
  const MpiComm own = own_of(comm_);
  if (own == mpi.comm_null) return false;
  for (std::size_t begin = 0; begin < bytes; begin += most) {
    const int count = static_cast<int>(std::min(most, bytes - begin));
    if (mpi.bcast(static_cast<char*>(data) + begin, count, mpi.byte_type, 0, own) != mpi_success) {
      return false;
    }
  }
  return true;
}

bool MpiHost::barrier() {
  const Agreeing agreeing(number_of(comm_));
  const MpiComm own = own_of(comm_);
  return own != mpi.comm_null && mpi.barrier(own) == mpi_success;
}

bool MpiHost::begin_barrier() {
  const MpiComm own = own_of(comm_);
  return own != mpi.comm_null && mpi.ibarrier(own, &barrier_) == mpi_success;
}

bool MpiHost::barrier_passed() {
  int passed = 0;
  // An error ends the wait as well: there is nothing left to wait for.
  return mpi.test(&barrier_, &passed, mpi.status_ignore) != mpi_success || passed != 0;
}

void MpiHost::progress() { progress_mpi(); }

bool MpiHost::reach_all(Runtime& process) {
  if (!process.over_host_messages()) return true;
  // A channel of some processes is known to all of them, but threads may make several at once, in any order: so all
  // say what they have.
  enum Vote : char { no, with_new_channel, yes };
  const std::vector<int> processes = PrivateMessages::world_ranks_of(comm_);
  char mine = no;
  {
    const std::lock_guard guard(process.lock());
    if (private_messages()->reaches(processes)) {
      mine = yes;
    } else if (private_messages()->has_room()) {
      mine = with_new_channel;
    }
  }
  if (processes.empty()) mine = no;
  std::vector<char> votes(static_cast<std::size_t>(size()));
  if (!allgather(&mine, 1, votes.data())) return false;
  const char least = *std::min_element(votes.begin(), votes.end());
  if (least != with_new_channel) return least == yes;
  PrivateMessages::Channel channel{PrivateMessages::make_communicator(own_of(comm_)), processes};
  char made = channel.comm == mpi.comm_null ? no : yes;
  if (made == yes) {
    const std::lock_guard guard(process.lock());
    private_messages()->add(std::move(channel));
  }
  if (!allgather(&made, 1, votes.data())) return false;
  return *std::min_element(votes.begin(), votes.end()) == yes;
}

}  // namespace libcoll::serve

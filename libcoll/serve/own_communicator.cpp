#include "libcoll/serve/own_communicator.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "libcoll/serve/mpi_messages.h"
#include "libcoll/serve/next.h"

namespace libcoll::serve {
namespace {

/// The parent has no other messages than these.
constexpr int creation_tag = 0;

struct Own {
  MpiComm comm = mpi.comm_null;
  std::vector<int> world_ranks;  ///< by rank; empty: for one communicator of the program's alone
  int users = 0;
};

std::mutex own_lock;
std::vector<Own> own_communicators;
std::optional<MpiComm> own_world;  ///< stays until the end
std::optional<Presence> presence;
bool kept = false;

MpiComm make_in_own_world(MpiComm comm) {
  MpiGroup group = mpi.group_null;
  MpiComm made = mpi.comm_null;
  if (mpi.comm_group(comm, &group) != mpi_success) return made;
  // Ranks of the own world are those of the world.
  if (mpi.comm_create_group(*own_world, group, creation_tag, &made) != mpi_success) made = mpi.comm_null;
  mpi.group_free(&group);
  if (made != mpi.comm_null) {
    mpi.comm_set_errhandler(made, mpi.errors_return);
  }
  return made;
}

bool is_whole_world(const std::vector<int>& world_ranks) {
  int size = 0;
  mpi.comm_size(*own_world, &size);
  if (world_ranks.size() != static_cast<std::size_t>(size)) return false;
  for (int rank = 0; rank < size; ++rank) {
    if (world_ranks[static_cast<std::size_t>(rank)] != rank) return false;
  }
  return true;
}

/// Nothing where it is not known.
std::optional<Presence> announced() {
  const libcoll_presence& said = *preload->presence;
  if (said.known == 0) return std::nullopt;
  Presence result{{}, said.serves != 0, said.root_reports != 0};
  for (int i = 0; i < said.absentees; ++i) {
    const libcoll_absentee& each = said.list[i];
    result.absentees.push_back({each.world_rank, &each.host[0], &each.version[0]});
  }
  return result;
}

}  // namespace

void open_own_world() noexcept try {
  int size = 1;
  mpi.comm_size(mpi.comm_world, &size);
  if (size == 1) return;
  presence = announced();
  if (!presence || !presence->absentees.empty() || !presence->serves) return;
  const MpiComm made = PrivateMessages::make_communicator(mpi.comm_world);
  if (made != mpi.comm_null) own_world = made;
} catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; nothing is known then, as without PMIx
}

MpiComm own_world_communicator() { return own_world.value_or(mpi.comm_null); }

const std::optional<Presence>& presence_in_world() { return presence; }

MpiComm make_own_communicator(MpiComm comm, bool threads_may_call_mpi) {
  std::vector<int> world_ranks = PrivateMessages::world_ranks_of(comm);
  const bool alone = !own_world || world_ranks.empty() || threads_may_call_mpi;
  if (own_world && (comm == mpi.comm_world || (!alone && is_whole_world(world_ranks)))) {
    return *own_world;
  }
  if (!alone) {
    const std::lock_guard guard(own_lock);
    const auto same = std::find_if(own_communicators.begin(), own_communicators.end(),
                                   [&](const Own& own) { return own.world_ranks == world_ranks; });
    if (same != own_communicators.end()) {
      ++same->users;
      return same->comm;
    }
  }
  const MpiComm made = alone ? PrivateMessages::make_communicator(comm) : make_in_own_world(comm);
  if (made == mpi.comm_null) return made;
  if (alone) world_ranks.clear();
  const std::lock_guard guard(own_lock);
  own_communicators.push_back({made, std::move(world_ranks), 1});
  return made;
}

void give_back_own_communicator(MpiComm own) noexcept {
  MpiComm unused = mpi.comm_null;
  {
    const std::lock_guard guard(own_lock);
    const auto found = std::find_if(own_communicators.begin(), own_communicators.end(),
                                    [own](const Own& each) { return each.comm == own; });
    if (found == own_communicators.end() || --found->users > 0) return;
    unused = found->comm;
    own_communicators.erase(found);
  }
  if (!kept) mpi.comm_free(&unused);
}

void keep_own_communicators() noexcept { kept = true; }

}  // namespace libcoll::serve

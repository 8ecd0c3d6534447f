#include "pmpi/shim/own_communicator.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "pmpi/shim/mpi_messages.h"
#include "pmpi/shim/next.h"

namespace libcoll::pmpi {
namespace {

/// The parent has no other messages than these.
constexpr int creation_tag = 0;

struct Own {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> world_ranks;  ///< by rank; empty: for one communicator of the program's alone
  int users = 0;
};

std::mutex own_lock;
std::vector<Own> own_communicators;
MPI_Comm own_world = MPI_COMM_NULL;  ///< stays until the end
std::optional<Presence> presence;
bool kept = false;

MPI_Comm make_in_own_world(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return made;
  // Ranks of the own world are those of the world.
  if (PMPI_Comm_create_group(own_world, group, creation_tag, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
  PMPI_Group_free(&group);
  if (made != MPI_COMM_NULL) {
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  }
  return made;
}

bool is_whole_world(const std::vector<int>& world_ranks) {
  int size = 0;
  PMPI_Comm_size(own_world, &size);
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
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) return;
  presence = announced();
  if (!presence || !presence->absentees.empty() || !presence->serves) return;
  own_world = PrivateMessages::make_communicator(MPI_COMM_WORLD);
} catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; nothing is known then, as without PMIx
}

MPI_Comm own_world_communicator() { return own_world; }

const std::optional<Presence>& presence_in_world() { return presence; }

MPI_Comm make_own_communicator(MPI_Comm comm, bool threads_may_call_mpi) {
  std::vector<int> world_ranks = PrivateMessages::world_ranks_of(comm);
  const bool alone = own_world == MPI_COMM_NULL || world_ranks.empty() || threads_may_call_mpi;
  if (own_world != MPI_COMM_NULL && (comm == MPI_COMM_WORLD || (!alone && is_whole_world(world_ranks)))) {
    return own_world;
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
  const MPI_Comm made = alone ? PrivateMessages::make_communicator(comm) : make_in_own_world(comm);
  if (made == MPI_COMM_NULL) return made;
  if (alone) world_ranks.clear();
  const std::lock_guard guard(own_lock);
  own_communicators.push_back({made, std::move(world_ranks), 1});
  return made;
}

void give_back_own_communicator(MPI_Comm own) noexcept {
  MPI_Comm unused = MPI_COMM_NULL;
  {
    const std::lock_guard guard(own_lock);
    const auto found = std::find_if(own_communicators.begin(), own_communicators.end(),
                                    [own](const Own& each) { return each.comm == own; });
    if (found == own_communicators.end() || --found->users > 0) return;
    unused = found->comm;
    own_communicators.erase(found);
  }
  if (!kept) PMPI_Comm_free(&unused);
}

void keep_own_communicators() noexcept { kept = true; }

}  // namespace libcoll::pmpi

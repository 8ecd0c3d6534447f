#include "pmpi/shim/mpi_messages.h"

#include <algorithm>
#include <numeric>

namespace libcoll::pmpi {

using namespace transport::mpi;

namespace {

thread_local bool inside = false;

/// While it lives this thread is in a call of MPI of ours.
class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// Of an error code, which may say more than its class.
int error_class(int code) {
  int result = code;
  PMPI_Error_class(code, &result);
  return result;
}

}  // namespace

bool PrivateMessages::calling() noexcept { return inside; }

std::vector<int> PrivateMessages::world_ranks_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return {};
  std::vector<int> translated;
  if (PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
    int size = 0;
    PMPI_Group_size(group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    translated.resize(ranks.size());
    const int code = PMPI_Group_translate_ranks(group, size, ranks.data(), world, translated.data());
    const bool all = std::find(translated.begin(), translated.end(), MPI_UNDEFINED) == translated.end();
    if (code != MPI_SUCCESS || !all) translated.clear();
    PMPI_Group_free(&world);
  }
  PMPI_Group_free(&group);
  return translated;
}

bool PrivateMessages::reaches(const std::vector<int>& world_ranks) const {
  return std::any_of(channels_.begin(), channels_.end(), [&](const Channel& channel) {
    return std::all_of(world_ranks.begin(), world_ranks.end(), [&](int rank) {
      return std::find(channel.world_ranks.begin(), channel.world_ranks.end(), rank) != channel.world_ranks.end();
    });
  });
}

MPI_Comm PrivateMessages::make_communicator(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  // Not a duplicate: that would call the copy functions of the program's attributes.
  if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return made;
  if (PMPI_Comm_create(comm, group, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
  PMPI_Group_free(&group);
  if (made != MPI_COMM_NULL) {
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  }
  return made;
}

void PrivateMessages::close() {
  const Inside guard;
  closed_ = true;
  over_.clear();
  for (MPI_Request& request : requests_) {
    PMPI_Cancel(&request);
    // Not all MPIs cancel sends; those that are left belong to calls that failed.
    PMPI_Request_free(&request);
  }
  requests_.clear();
  tokens_.clear();
}

std::int32_t PrivateMessages::world_rank() const {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

std::optional<MpiPlace> PrivateMessages::place_of(std::int32_t world_rank) const {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const std::vector<int>& ranks = channels_[i].world_ranks;
    const auto found = std::find(ranks.begin(), ranks.end(), world_rank);
    if (found != ranks.end()) {
      return MpiPlace{static_cast<std::int32_t>(i), static_cast<std::int32_t>(found - ranks.begin())};
    }
  }
  return std::nullopt;
}

bool PrivateMessages::send(MpiPlace to, std::int32_t tag, const void* data, std::size_t bytes, bool synchronous,
                           std::uint32_t token) {
  if (closed_) return false;
  const Inside guard;
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm comm = channels_[static_cast<std::size_t>(to.channel)].comm;
  const auto start = synchronous ? &PMPI_Issend : &PMPI_Isend;
  if (start(data, static_cast<int>(bytes), MPI_BYTE, to.rank, tag, comm, &request) != MPI_SUCCESS) return false;
  return keep(request, token);
}

bool PrivateMessages::receive(MpiPlace from, std::int32_t tag, void* data, std::size_t bytes, std::uint32_t token) {
  if (closed_) return false;
  const Inside guard;
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm comm = channels_[static_cast<std::size_t>(from.channel)].comm;
  const int source = from.rank < 0 ? MPI_ANY_SOURCE : from.rank;
  if (PMPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, source, tag, comm, &request) != MPI_SUCCESS) return false;
  return keep(request, token);
}

bool PrivateMessages::keep(MPI_Request request, std::uint32_t token) {
  requests_.push_back(request);
  tokens_.push_back(token);
  return true;
}

void PrivateMessages::forget(std::size_t place) {
  requests_[place] = requests_.back();
  tokens_[place] = tokens_.back();
  requests_.pop_back();
  tokens_.pop_back();
}

std::size_t PrivateMessages::finished(std::span<MpiFinished> list) {
  if (over_.empty() && !requests_.empty()) {
    const Inside guard;
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int code =
        PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
    if (count == MPI_UNDEFINED || (code != MPI_SUCCESS && error_class(code) != MPI_ERR_IN_STATUS)) count = 0;
    for (int i = 0; i < count; ++i) {
      const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
      int bytes = 0;
      PMPI_Get_count(&status, MPI_BYTE, &bytes);
      const bool ok = code == MPI_SUCCESS || status.MPI_ERROR == MPI_SUCCESS;
      const auto place = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
      over_.push_back({tokens_[place], ok, status.MPI_SOURCE, bytes > 0 ? static_cast<std::size_t>(bytes) : 0});
    }
    // The last places first, so that what fills a gap is never one of these.
    std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
    for (int i = 0; i < count; ++i) forget(static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]));
    std::reverse(over_.begin(), over_.end());
  }
  std::size_t handed_out = 0;
  for (; handed_out < list.size() && !over_.empty(); ++handed_out) {
    list[handed_out] = over_.back();
    over_.pop_back();
  }
  return handed_out;
}

}  // namespace libcoll::pmpi

#include "libcoll/serve/mpi_messages.h"

#include <algorithm>
#include <numeric>

namespace libcoll::serve {

using namespace transport::mpi;

namespace {

thread_local bool inside = false;

/// Of an error code, which may say more than its class.
int error_class(int code) {
  int result = code;
  mpi.error_class(code, &result);
  return result;
}

}  // namespace

InsideMpi::InsideMpi() noexcept { inside = true; }
InsideMpi::~InsideMpi() { inside = false; }

bool PrivateMessages::calling() noexcept { return inside; }

std::vector<int> PrivateMessages::world_ranks_of(MpiComm comm) {
  MpiGroup group = mpi.group_null;
  MpiGroup world = mpi.group_null;
  if (mpi.comm_group(comm, &group) != mpi_success) return {};
  std::vector<int> translated;
  if (mpi.comm_group(mpi.comm_world, &world) == mpi_success) {
    int size = 0;
    mpi.group_size(group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    translated.resize(ranks.size());
    const int code = mpi.group_translate_ranks(group, size, ranks.data(), world, translated.data());
    const bool all = std::find(translated.begin(), translated.end(), mpi.undefined) == translated.end();
    if (code != mpi_success || !all) translated.clear();
    mpi.group_free(&world);
  }
  mpi.group_free(&group);
  return translated;
}

bool PrivateMessages::reaches(const std::vector<int>& world_ranks) const {
  return std::any_of(channels_.begin(), channels_.end(), [&](const Channel& channel) {
    return std::all_of(world_ranks.begin(), world_ranks.end(), [&](int rank) {
      return std::find(channel.world_ranks.begin(), channel.world_ranks.end(), rank) != channel.world_ranks.end();
    });
  });
}

MpiComm PrivateMessages::make_communicator(MpiComm comm) {
  MpiGroup group = mpi.group_null;
  MpiComm made = mpi.comm_null;
  // Not a duplicate: that would call the copy functions of the program's attributes.
  if (mpi.comm_group(comm, &group) != mpi_success) return made;
  if (mpi.comm_create(comm, group, &made) != mpi_success) made = mpi.comm_null;
  mpi.group_free(&group);
  if (made != mpi.comm_null) {
    mpi.comm_set_errhandler(made, mpi.errors_return);
  }
  return made;
}

void PrivateMessages::close() {
  const InsideMpi guard;
  closed_ = true;
  over_.clear();
  for (std::size_t place = 0; place < requests_.size(); ++place) {
    const MpiRequests request = requests_.data().from(place);
    mpi.cancel(request);
    // Not all MPIs cancel sends; those that are left belong to calls that failed.
    mpi.request_free(request);
  }
  requests_.clear();
  tokens_.clear();
}

std::int32_t PrivateMessages::world_rank() const {
  int rank = 0;
  mpi.comm_rank(mpi.comm_world, &rank);
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
  const InsideMpi guard;
  MpiRequest request = mpi.request_null;
  const MpiComm comm = channels_[static_cast<std::size_t>(to.channel)].comm;
  const auto start = synchronous ? mpi.issend : mpi.isend;
  if (start(data, static_cast<int>(bytes), mpi.byte_type, to.rank, tag, comm, &request) != mpi_success) return false;
  return keep(request, token);
}

bool PrivateMessages::receive(MpiPlace from, std::int32_t tag, void* data, std::size_t bytes, std::uint32_t token) {
  if (closed_) return false;
  const InsideMpi guard;
  MpiRequest request = mpi.request_null;
  const MpiComm comm = channels_[static_cast<std::size_t>(from.channel)].comm;
  const int source = from.rank < 0 ? mpi.any_source : from.rank;
  if (mpi.irecv(data, static_cast<int>(bytes), mpi.byte_type, source, tag, comm, &request) != mpi_success) return false;
  return keep(request, token);
}

bool PrivateMessages::keep(MpiRequest request, std::uint32_t token) {
  requests_.push_back(request);
  tokens_.push_back(token);
  return true;
}

void PrivateMessages::forget(std::size_t place) {
  requests_.data().set(place, requests_.at(requests_.size() - 1));
  tokens_[place] = tokens_.back();
  requests_.pop_back();
  tokens_.pop_back();
}

std::size_t PrivateMessages::finished(std::span<MpiFinished> list) {
  if (over_.empty() && !requests_.empty()) {
    const InsideMpi guard;
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int code =
        mpi.testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
    if (count == mpi.undefined || (code != mpi_success && error_class(code) != mpi.err_in_status)) count = 0;
    for (int i = 0; i < count; ++i) {
      const MpiStatus* status = statuses_.at(static_cast<std::size_t>(i));
      int bytes = 0;
      mpi.get_count(status, mpi.byte_type, &bytes);
      const bool ok = code == mpi_success || error_of(status) == mpi_success;
      const auto place = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
      over_.push_back({tokens_[place], ok, source_of(status), bytes > 0 ? static_cast<std::size_t>(bytes) : 0});
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

}  // namespace libcoll::serve

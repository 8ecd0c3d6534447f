#include "libcoll/api/bootstrap_host.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

namespace libcoll::api {
namespace {

/// Ranks that wait share cores with those they wait for.
constexpr std::chrono::microseconds between_looks{50};

/// Of an allgather that stands in for a broadcast: what each rank hears of all of them together at most.
constexpr std::size_t most_broadcast_bytes = std::size_t{1} << 20;
constexpr std::size_t least_piece_bytes = 4096;

}  // namespace

std::string BootstrapHost::host_name() const {
  std::array<char, 256> text{};
  return gethostname(text.data(), text.size() - 1) == 0 ? std::string(text.data()) : std::string();
}

bool BootstrapHost::begin(const void* mine, std::size_t bytes, void* all) {
  request_ = nullptr;
  failed_ = failed_ || bootstrap_.allgather(bootstrap_.context, mine, all, bytes, &request_) != 0;
  return !failed_;
}

bool BootstrapHost::over() {
  if (failed_) return true;
  const int answer = bootstrap_.test(bootstrap_.context, request_);
  failed_ = answer < 0;
  return answer != 0;
}

bool BootstrapHost::allgather(const void* mine, std::size_t bytes, void* all) {
  if (!begin(mine, bytes, all)) return false;
  while (!over()) {
    if (runtime_ == nullptr || !runtime_->engine().progress()) std::this_thread::sleep_for(between_looks);
  }
  return !failed_;
}

bool BootstrapHost::broadcast(void* data, std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t piece = std::max(most_broadcast_bytes / ranks, least_piece_bytes);
  std::vector<std::byte> all(std::min(piece, bytes) * ranks);
  auto* const text = static_cast<std::byte*>(data);
  for (std::size_t begin = 0; begin < bytes; begin += piece) {
    const std::size_t length = std::min(piece, bytes - begin);
    if (!allgather(text + begin, length, all.data())) return false;
    std::memcpy(text + begin, all.data(), length);  // rank 0's
  }
  return true;
}

bool BootstrapHost::begin_barrier() {
  barrier_all_.resize(static_cast<std::size_t>(size()));
  return begin(&barrier_mine_, sizeof barrier_mine_, barrier_all_.data());
}

bool BootstrapHost::barrier_passed() { return over(); }

}  // namespace libcoll::api

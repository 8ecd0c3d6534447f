#include "libcoll/runtime/transport_host.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

namespace libcoll {
namespace {

/// Messages that are waited for together.
class Exchange final : public Waiter {
 public:
  explicit Exchange(Transport& transport) : transport_(transport) {}

  void send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes) {
    Completion& completion = start();
    count(transport_.send(peer, tag, data, bytes, &completion));
  }
  void receive(std::uint64_t tag, void* data, std::size_t bytes) {
    Completion& completion = start();
    count(transport_.receive(0, tag, data, bytes, &completion));
  }
  [[nodiscard]] bool done() const { return waiting_ == 0; }
  [[nodiscard]] bool good() const { return good_; }
  void completed(std::uint32_t, bool ok) noexcept override {
    --waiting_;
    good_ = good_ && ok;
  }

 private:
  Completion& start() {
    ++waiting_;
    return completions_.emplace_back(Completion{this, 0, 0});
  }
  void count(Posted posted) {
    if (posted != Posted::pending) completed(0, posted == Posted::done);
  }

  Transport& transport_;
  std::deque<Completion> completions_;
  std::int64_t waiting_ = 0;
  bool good_ = true;
};

/// Posts messages, under the lock, and waits for all of them. `memory` is what they point to.
bool exchange(Runtime& runtime, HostCommunicator& host, std::vector<std::byte>& memory,
              const std::function<void(Exchange&)>& post) {
  auto messages = std::make_unique<Exchange>(runtime.transport());
  {
    const std::lock_guard guard(runtime.lock());
    post(*messages);
  }
  if (runtime.wait([&] { return messages->done(); }, [&host] { host.progress(); })) return messages->good();
  // What is under way may yet report to it, and write into its memory: both stay behind.
  static_cast<void>(messages.release());
  static_cast<void>(new std::vector<std::byte>(std::move(memory)));
  return false;
}

}  // namespace

bool TransportHost::broadcast(void* data, std::size_t bytes) {
  const TagSpace tags = tags_();
  const auto piece = static_cast<std::size_t>(runtime_.config().segment_bytes);
  std::vector<std::byte> memory(bytes);
  if (rank() == 0 && bytes > 0) std::memcpy(memory.data(), data, bytes);
  const bool good = exchange(runtime_, host_, memory, [&](Exchange& messages) {
    std::uint32_t number = 0;
    for (std::size_t begin = 0; begin < bytes; begin += piece, ++number) {
      const std::uint64_t tag = tags.tag(nodes_.front(), number);
      const std::size_t length = std::min(piece, bytes - begin);
      if (rank() != 0) messages.receive(tag, memory.data() + begin, length);
      for (std::size_t other = 1; rank() == 0 && other < peers_.size(); ++other) {
        messages.send(peers_[other], tag, memory.data() + begin, length);
      }
    }
  });
  if (good && bytes > 0) std::memcpy(data, memory.data(), bytes);
  return good;
}

bool TransportHost::allgather(const void* mine, std::size_t bytes, void* all) {
  const TagSpace tags = tags_();
  std::vector<std::byte> memory(bytes * peers_.size());
  std::memcpy(memory.data() + bytes * static_cast<std::size_t>(rank()), mine, bytes);
  const bool good = exchange(runtime_, host_, memory, [&](Exchange& messages) {
    if (rank() != 0) {
      const std::size_t own = static_cast<std::size_t>(rank());
      messages.send(peers_.front(), tags.tag(nodes_[own], 0), memory.data() + bytes * own, bytes);
      return;
    }
    for (std::size_t other = 1; other < peers_.size(); ++other) {
      messages.receive(tags.tag(nodes_[other], 0), memory.data() + bytes * other, bytes);
    }
  });
  if (!good || !broadcast(memory.data(), memory.size())) return false;
  std::memcpy(all, memory.data(), memory.size());
  return true;
}

bool TransportHost::begin_barrier() {
  const char here = 1;
  std::vector<char> all(peers_.size());
  return allgather(&here, 1, all.data());
}

}  // namespace libcoll

#include "libcoll/comm/transport_host.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::comm {

using namespace recover;
using namespace transport;

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
  if (runtime.engine().wait([&] { return messages->done(); }, [&host] { host.progress(); },
                            [&host] { return host.name() + ": the ranks agree on new plans"; }))
    return messages->good();
  // What is under way may yet report to it, and write into its memory: both stay behind.
  static_cast<void>(messages.release());
  static_cast<void>(new std::vector<std::byte>(std::move(memory)));
  return false;
}

/// Calls visit(number, offset, length) for the pieces that so many bytes travel in.
template <class Visit>
void for_pieces(std::size_t bytes, std::int64_t longest, Visit visit) {
  const auto piece = static_cast<std::size_t>(longest);
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < bytes; begin += piece) visit(number++, begin, std::min(piece, bytes - begin));
}

/// Calls of the same number have messages of lower ones.
constexpr std::uint32_t first_message = 1U << 23U;

}  // namespace

std::uint64_t TransportHost::tag(TagSpace tags, int from, int to, std::uint32_t number) const {
  const bool between_nodes = place(from).node != place(to).node;
  return tags.tag(between_nodes ? place(from).node : nodes_ + from, first_message | number);
}

bool TransportHost::is_below(int which, int through) const {
  for (int each = which; each >= 0; each = place(each).parent) {
    if (each == through) return true;
  }
  return false;
}

bool TransportHost::is_joined() const {
  const int parent = place(rank()).parent;
  return (parent < 0 ? rank() == 0 : place(parent).peer >= 0) &&
         std::all_of(places_.begin(), places_.end(),
                     [this](const TreePlace& each) { return each.parent != rank() || each.peer >= 0; });
}

bool TransportHost::pass_down(std::vector<std::byte>& memory) {
  const TagSpace tags = tags_();
  const std::int64_t piece = runtime_.config().segment_bytes;
  const int parent = place(rank()).parent;
  if (!is_joined()) return false;
  const bool had = parent < 0 || exchange(runtime_, host_, memory, [&](Exchange& messages) {
                     for_pieces(memory.size(), piece, [&](std::uint32_t number, std::size_t begin, std::size_t length) {
                       messages.receive(tag(tags, parent, rank(), number), memory.data() + begin, length);
                     });
                   });
  return had && exchange(runtime_, host_, memory, [&](Exchange& messages) {
           for (int child = 0; child < size(); ++child) {
             if (place(child).parent != rank()) continue;
             for_pieces(memory.size(), piece, [&](std::uint32_t number, std::size_t begin, std::size_t length) {
               messages.send(place(child).peer, tag(tags, rank(), child, number), memory.data() + begin, length);
             });
           }
         });
}

bool TransportHost::pass_up(std::vector<std::byte>& memory, std::size_t bytes_per_rank) {
  const TagSpace tags = tags_();
  if (!is_joined()) return false;
  const std::int64_t piece = runtime_.config().segment_bytes;
  std::vector<int> children;
  for (int other = 0; other < size(); ++other) {
    if (place(other).parent == rank()) children.push_back(other);
  }
  std::vector<std::byte> heard(memory.size() * children.size());
  const bool had = exchange(runtime_, host_, heard, [&](Exchange& messages) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      for_pieces(memory.size(), piece, [&](std::uint32_t number, std::size_t begin, std::size_t length) {
        messages.receive(tag(tags, children[i], rank(), number), heard.data() + i * memory.size() + begin, length);
      });
    }
  });
  if (!had) return false;
  for (std::size_t i = 0; i < children.size(); ++i) {
    for (int other = 0; other < size(); ++other) {
      const std::size_t row = static_cast<std::size_t>(other) * bytes_per_rank;
      if (!is_below(other, children[i])) continue;
      std::memcpy(memory.data() + row, heard.data() + i * memory.size() + row, bytes_per_rank);
    }
  }
  const int parent = place(rank()).parent;
  if (parent < 0) return true;
  return exchange(runtime_, host_, memory, [&](Exchange& messages) {
    for_pieces(memory.size(), piece, [&](std::uint32_t number, std::size_t begin, std::size_t length) {
      messages.send(place(parent).peer, tag(tags, rank(), parent, number), memory.data() + begin, length);
    });
  });
}

bool TransportHost::broadcast(void* data, std::size_t bytes) {
  if (!good_) return false;
  std::vector<std::byte> memory(bytes);
  if (rank() == 0 && bytes > 0) std::memcpy(memory.data(), data, bytes);
  good_ = pass_down(memory);
  if (!good_) return false;
  if (bytes > 0) std::memcpy(data, memory.data(), bytes);
  return true;
}

bool TransportHost::allgather(const void* mine, std::size_t bytes, void* all) {
  if (!good_) return false;
  std::vector<std::byte> memory(bytes * places_.size());
  std::memcpy(memory.data() + bytes * static_cast<std::size_t>(rank()), mine, bytes);
  good_ = pass_up(memory, bytes) && pass_down(memory);
  if (!good_) return false;
  std::memcpy(all, memory.data(), memory.size());
  return true;
}

bool TransportHost::begin_barrier() { return barrier(); }

}  // namespace libcoll::comm

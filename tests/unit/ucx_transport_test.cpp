// What libcoll's use of UCX costs a process: shared memory, and connections.
#include "libcoll/transport/ucx/ucx_transport.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace libcoll::ucx_transport_test {

using namespace schedule;
using namespace transport;
using namespace transport::ucx;

namespace {

using Clock = std::chrono::steady_clock;

/// How often each worker was progressed; null: nobody counts.
std::map<ucp_worker_h, int>* passes = nullptr;

/// Mappings of memory that UCX shares between processes, System V's or files.
std::size_t shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    const bool is_shared = line.find("/SYSV") != std::string::npos || line.find("ucx_shm") != std::string::npos;
    count += is_shared ? 1 : 0;
  }
  return count;
}

std::size_t sockets() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    struct stat facts {};
    count += stat(entry.path().c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode) ? 1 : 0;
  }
  return count;
}

RouteBinding classes(std::int32_t count, const std::vector<std::pair<std::string, std::string>>& settings) {
  RouteBinding binding;
  for (std::int32_t k = 0; k < count; ++k) binding.classes.push_back({k, settings, {}});
  return binding;
}

/// Mappings that such a transport has made.
std::size_t mappings_of(const RouteBinding& binding, HostMates mates) {
  const std::size_t before = shared_mappings();
  const Result<std::unique_ptr<Transport>> transport = make_ucx_transport(binding, mates);
  EXPECT_TRUE(transport.ok());
  return shared_mappings() - before;
}

TEST(UcxTransport, SharesMemoryInClassZeroOnlyAndWithMatesOnly) {
  const std::size_t of_one = mappings_of(classes(1, {}), HostMates::possible);
  if (of_one == 0) GTEST_SKIP() << "UCX shares no memory here";
  EXPECT_EQ(mappings_of(classes(3, {}), HostMates::possible), of_one);
  EXPECT_EQ(mappings_of(classes(3, {}), HostMates::none), 0U);
}

TEST(UcxTransport, SharesMemoryWhereTheBindingSaysSo) {
  const RouteBinding one = classes(1, {{"TLS", "posix,tcp"}});
  const std::size_t of_one = mappings_of(one, HostMates::none);
  if (of_one == 0) GTEST_SKIP() << "UCX shares no memory here";
  EXPECT_EQ(mappings_of(classes(2, one.classes.front().settings), HostMates::none), 2 * of_one);
}

/// What decides how segments are cut follows from addresses alone, whoever reads them.
TEST(UcxTransport, AddressesSayWhetherAllMessagesGoThroughMemory) {
  const auto one = make_ucx_transport(classes(1, {}), HostMates::possible);
  const auto other = make_ucx_transport(classes(1, {}), HostMates::possible);
  const auto alone = make_ucx_transport(classes(1, {}), HostMates::none);
  ASSERT_TRUE(one.ok() && other.ok() && alone.ok());
  const std::string& ours = (*one)->address();
  EXPECT_TRUE((*one)->share_memory(ours, (*other)->address()));
  EXPECT_TRUE((*other)->share_memory(ours, (*other)->address()));
  EXPECT_FALSE((*one)->share_memory(ours, (*alone)->address()));
  EXPECT_FALSE((*other)->share_memory(ours, (*alone)->address()));
  // By routes, messages leave the host.
  const auto steered = make_ucx_transport(classes(2, {}), HostMates::possible);
  ASSERT_TRUE(steered.ok());
  EXPECT_FALSE((*steered)->share_memory((*steered)->address(), (*steered)->address()));
}

class Heard final : public Waiter {
 public:
  void completed(std::uint32_t, bool ok) noexcept override { is_heard = ok; }
  bool is_heard = false;
};

/// A word from one to the other; false when it does not arrive.
bool say(Transport& from, PeerId peer, Transport& to, std::uint64_t tag) {
  const std::uint64_t said = tag;
  std::uint64_t got = 0;
  Heard sender;
  Heard receiver;
  Completion sent{&sender, 0, 0};
  Completion received{&receiver, 0, 0};
  if (to.receive(0, tag, &got, sizeof got, &received) == Posted::done) receiver.is_heard = true;
  if (from.send(peer, tag, &said, sizeof said, &sent) == Posted::done) sender.is_heard = true;
  const Clock::time_point begin = Clock::now();
  while (!sender.is_heard || !receiver.is_heard) {
    from.progress();
    to.progress();
    if (Clock::now() - begin > std::chrono::seconds(60)) return false;
  }
  return got == said;
}

// One connection is two sockets, for both ends are in this process. Communicators connect from one end first.
TEST(UcxTransport, AnswersByTheConnectionThatTheOtherEndMade) {
  const RouteBinding binding = classes(1, {{"TLS", "tcp"}, {"NET_DEVICES", "lo"}});
  const auto left = make_ucx_transport(binding).value();
  const auto right = make_ucx_transport(binding).value();
  const std::size_t before = sockets();
  ASSERT_TRUE(say(*left, left->connect(right->address(), 0).value(), *right, 1));
  EXPECT_EQ(sockets(), before + 2);
  ASSERT_TRUE(say(*right, right->connect(left->address(), 0).value(), *left, 2));
  EXPECT_EQ(sockets(), before + 2);
}

/// How often each worker of `transport` is progressed in so many passes, in descending order.
std::vector<int> workers_passes(Transport& transport, int count) {
  std::map<ucp_worker_h, int> by_worker;
  passes = &by_worker;
  for (int i = 0; i < count; ++i) transport.progress();
  passes = nullptr;
  std::vector<int> found;
  found.reserve(by_worker.size());
  for (const auto& [worker, times] : by_worker) found.push_back(times);
  std::sort(found.rbegin(), found.rend());
  return found;
}

// An idle worker costs a system call a pass over TCP. Peers connect to it, so it has its turn in one of 16.
TEST(UcxTransport, ProgressesWorkersThatHaveSomethingOutstanding) {
  using Passes = std::vector<int>;
  const auto transport = make_ucx_transport(classes(3, {{"TLS", "tcp"}, {"NET_DEVICES", "lo"}})).value();
  EXPECT_EQ(workers_passes(*transport, 160), (Passes{160, 160, 160}));
  std::uint64_t word = 0;
  Heard receiver;
  Completion received{&receiver, 0, 0};
  ASSERT_EQ(transport->receive(1, 7, &word, sizeof word, &received), Posted::pending);
  EXPECT_EQ(workers_passes(*transport, 160), (Passes{160, 10, 10}));

  const std::uint64_t said = 5;
  Heard sender;
  Completion sent{&sender, 0, 0};
  const PeerId self = transport->connect(transport->address(), 1).value();
  if (transport->send(self, 7, &said, sizeof said, &sent) == Posted::done) sender.is_heard = true;
  const Clock::time_point begin = Clock::now();
  while ((!sender.is_heard || !receiver.is_heard) && Clock::now() - begin < std::chrono::seconds(60)) {
    transport->progress();
  }
  EXPECT_EQ(word, said);
  EXPECT_EQ(workers_passes(*transport, 160), (Passes{160, 160, 160}));
}

/// Sockets of this process that the system closes when their peer is silent for some time.
std::size_t sockets_with_keepalive() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int is_set = 0;
    socklen_t bytes = sizeof is_set;
    const int descriptor = std::stoi(entry.path().filename());
    count += getsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &is_set, &bytes) == 0 && is_set != 0 ? 1 : 0;
  }
  return count;
}

/// Those that two transports have once one has said a word to the other.
std::size_t new_sockets_with_keepalive() {
  const RouteBinding binding = classes(1, {{"TLS", "tcp"}, {"NET_DEVICES", "lo"}});
  const auto left = make_ucx_transport(binding).value();
  const auto right = make_ucx_transport(binding).value();
  const std::size_t before = sockets_with_keepalive();
  EXPECT_TRUE(say(*left, left->connect(right->address(), 0).value(), *right, 3));
  return sockets_with_keepalive() - before;
}

// A cable that is out for a minute does not cost the connections that nothing is sent on meanwhile, unless the user
// wants it so.
TEST(UcxTransport, KeepsConnectionsThatAreIdle) {
  EXPECT_EQ(new_sockets_with_keepalive(), 0U);
  setenv("UCX_TCP_KEEPIDLE", "10s", 1);
  EXPECT_GT(new_sockets_with_keepalive(), 0U);
  unsetenv("UCX_TCP_KEEPIDLE");
}

}  // namespace

unsigned count_pass(ucp_worker_h worker) {
  static const auto next = reinterpret_cast<unsigned (*)(ucp_worker_h)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  if (passes != nullptr) ++(*passes)[worker];
  return next(worker);
}

}  // namespace libcoll::ucx_transport_test

/// In place of UCX's: the transport calls this one.
extern "C" unsigned ucp_worker_progress(ucp_worker_h worker) { return libcoll::ucx_transport_test::count_pass(worker); }

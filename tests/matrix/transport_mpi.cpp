// The MPI transport under a real MPI. Every process runs the checks that all transports pass, between two transports of
// its own; then all processes send to each other.
#include <dlfcn.h>
#include <gtest/gtest.h>
#define OMPI_SKIP_MPICXX 1  // C++ bindings would need their library
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/serve/mpi_messages.h"
#include "libcoll/transport/mpi/mpi_transport.h"
#include "pmpi/shim/shim.h"
#include "tests/unit/transport_conformance.h"

namespace libcoll::test {

using namespace transport;
using namespace transport::mpi;

namespace {

using serve::mpi;
using serve::MpiComm;
using serve::PrivateMessages;

constexpr auto patience = std::chrono::seconds(60);

/// A process's messages to itself, by two communicators so that two transports can talk: what one sends by, the other
/// receives by.
class HalfMessages final : public MpiMessages {
 public:
  HalfMessages(MpiComm out, MpiComm in) {
    for (const MpiComm comm : {out, in}) messages_.add({comm, PrivateMessages::world_ranks_of(mpi.comm_self)});
  }
  std::int32_t world_rank() const override { return messages_.world_rank(); }
  std::int32_t channels() const override { return 1; }
  std::optional<MpiPlace> place_of(std::int32_t world_rank) const override { return messages_.place_of(world_rank); }
  bool send(MpiPlace to, std::int32_t tag, const void* data, std::size_t bytes, bool synchronous,
            std::uint32_t token) override {
    return messages_.send({0, to.rank}, tag, data, bytes, synchronous, token);
  }
  bool receive(MpiPlace from, std::int32_t tag, void* data, std::size_t bytes, std::uint32_t token) override {
    return messages_.receive({1, from.rank}, tag, data, bytes, token);
  }
  std::size_t finished(std::span<MpiFinished> list) override { return messages_.finished(list); }
  void close() { messages_.close(); }

 private:
  PrivateMessages messages_;
};

/// Of all checks so far; the last two are in use.
std::deque<HalfMessages>& halves() {
  static std::deque<HalfMessages> all;
  return all;
}

void close_halves() {
  for (HalfMessages& each : halves()) each.close();
  halves().clear();
}

TransportPair mpi_pair() {
  close_halves();
  const MpiComm one = PrivateMessages::make_communicator(mpi.comm_self);
  const MpiComm other = PrivateMessages::make_communicator(mpi.comm_self);
  HalfMessages& left = halves().emplace_back(one, other);
  HalfMessages& right = halves().emplace_back(other, one);
  return {make_mpi_transport(left), make_mpi_transport(right), {}};
}

INSTANTIATE_TEST_SUITE_P(Mpi, TransportConformance, testing::Values(TransportKind{"mpi", mpi_pair}), kind_name);

/// All processes of the world, each with one transport.
class Everybody : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    messages_.add(
        {PrivateMessages::make_communicator(mpi.comm_world), PrivateMessages::world_ranks_of(mpi.comm_world)});
    transport_ = make_mpi_transport(messages_);
    for (int peer = 0; peer < size_; ++peer) peers_.push_back(*transport_->connect(std::to_string(peer), 0));
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    messages_.close();
  }

  /// Tag and data of the `index`-th message between two processes.
  static std::uint64_t tag_of(int from, int index) {
    return (static_cast<std::uint64_t>(from) << 40U) | static_cast<std::uint64_t>(index);
  }
  static std::vector<std::byte> message(int from, int to, int index) {
    constexpr std::array<std::size_t, 8> lengths = {0, 1, 100, 4096, 4097, 5000, 70001, 300000};
    return pattern(lengths[static_cast<std::size_t>(index) % lengths.size()],
                   static_cast<std::uint32_t>(from * 131 + to * 17 + index));
  }

  int rank_ = 0;
  int size_ = 0;
  PrivateMessages messages_;
  std::unique_ptr<Transport> transport_;
  std::vector<PeerId> peers_;
};

TEST_F(Everybody, SendsToEverybodyInAnyOrder) {
  constexpr int count = 40;
  std::vector<std::pair<int, int>> order;  // peer, index
  for (int peer = 0; peer < size_; ++peer) {
    for (int index = 0; index < count; ++index) order.emplace_back(peer, index);
  }
  std::mt19937 random(static_cast<unsigned>(rank_) + 1);
  std::deque<std::vector<std::byte>> sent;
  std::deque<std::vector<std::byte>> got;
  std::deque<std::vector<std::byte>> expected;
  std::deque<Watched> watched;
  std::shuffle(order.begin(), order.end(), random);
  for (const auto& [peer, index] : order) {
    sent.push_back(message(rank_, peer, index));
    Watched& each = watched.emplace_back();
    each.posted(transport_->send(peers_[static_cast<std::size_t>(peer)], tag_of(rank_, index), sent.back().data(),
                                 sent.back().size(), &each.completion));
  }
  // Half of the messages have come by now, or have not.
  transport_->progress();
  std::shuffle(order.begin(), order.end(), random);
  for (const auto& [peer, index] : order) {
    expected.push_back(message(peer, rank_, index));
    got.emplace_back(expected.back().size());
    Watched& each = watched.emplace_back();
    each.posted(transport_->receive(0, tag_of(peer, index), got.back().data(), got.back().size(), &each.completion));
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto over = [&] {
    return std::all_of(watched.begin(), watched.end(), [](const Watched& w) { return w.over(); });
  };
  while (!over() && std::chrono::steady_clock::now() < deadline) {
    if (!transport_->progress()) transport_->block(1);
  }
  ASSERT_TRUE(over());
  EXPECT_TRUE(std::all_of(watched.begin(), watched.end(), [](const Watched& w) { return w.sound(); }));
  EXPECT_EQ(got, expected);
  Flush flush;
  EXPECT_TRUE(transport_->flushed(flush, peers_));
}

TEST_F(Everybody, ReachesNobodyElse) {
  EXPECT_FALSE(transport_->connect(std::to_string(size_), 0).ok());
  EXPECT_FALSE(transport_->connect("-1", 0).ok());
  EXPECT_FALSE(transport_->connect("", 0).ok());
  EXPECT_FALSE(transport_->connect("0", 1).ok());
  EXPECT_TRUE(messages_.reaches({size_ - 1, 0}));
  EXPECT_FALSE(messages_.reaches({size_}));
}

}  // namespace
}  // namespace libcoll::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
#ifdef OPEN_MPI
  const auto* description = libcoll_describe_openmpi(find);
#else
  const auto* description = libcoll_describe_mpich(find);
#endif
  if (libcoll::serve::find_mpi(*description, find) != nullptr) return 1;
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  libcoll::test::close_halves();
  MPI_Finalize();
  return failed;
}

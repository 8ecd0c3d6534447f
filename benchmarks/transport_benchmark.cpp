// Messages between two processes of this host over one transport: latency, rate and bandwidth. transports.py runs it
// beside ucx_perftest and fi_pingpong.
//   transport_benchmark [--transport=ucx|uct|PROVIDER] [OPTIONS OF GOOGLE BENCHMARK]
// PROVIDER is libfabric's, as "shm" or "tcp;ofi_rxm". UCX_TLS and the like choose what UCX takes.
#include <benchmark/benchmark.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/transport/ofi/ofi_transport.h"
#include "libcoll/transport/transport.h"
#include "libcoll/transport/uct/uct_transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "planner/base/index.h"

namespace libcoll {

using namespace transport;
using namespace transport::ofi;
using namespace transport::uct;
using namespace transport::ucx;

namespace {

/// What the partner is to do until a message says that it was the last one.
struct Order {
  std::int64_t bytes = 0;  ///< of a message
  std::int32_t window = 1;
  std::int64_t reply_bytes = 0;
};

/// Memory of both processes.
struct Shared {
  std::array<std::array<char, max_address_bytes>, 2> address;
  std::array<std::atomic<std::uint32_t>, 2> address_bytes;
  Order order;
  std::atomic<std::uint32_t> orders;
};

constexpr std::uint64_t next_word = 0;
constexpr std::uint64_t last_word = 1;
constexpr std::int64_t least_bytes = sizeof(std::uint64_t);
constexpr std::int64_t most_bytes = std::int64_t{4} << 20U;
constexpr std::int32_t most_window = 64;

/// One of the two processes: its transport, and messages to and from the other one.
class End final : public Waiter {
 public:
  End(std::unique_ptr<Transport> transport, Shared& shared, std::size_t which)
      : transport_(std::move(transport)), completions_(at(most_window) + 1), data_(at(most_bytes)) {
    const std::string& own = transport_->address();
    std::copy(own.begin(), own.end(), shared.address[which].begin());
    shared.address_bytes[which].store(static_cast<std::uint32_t>(own.size()), std::memory_order_release);
    const std::size_t other = 1 - which;
    std::uint32_t bytes = 0;
    while ((bytes = shared.address_bytes[other].load(std::memory_order_acquire)) == 0) transport_->progress();
    const Result<PeerId> peer = transport_->connect(std::string(shared.address[other].data(), bytes), 0);
    good_ = peer.ok();
    if (peer) peer_ = *peer;
  }

  void completed(std::uint32_t, bool ok) noexcept override {
    --pending_;
    good_ = good_ && ok;
  }
  [[nodiscard]] bool good() const { return good_; }
  void progress() { transport_->progress(); }

  /// Sends a window of messages and waits for the answer.
  void ask(const Order& order, std::uint64_t word) {
    std::memcpy(data_.data(), &word, sizeof word);
    receive(0, order.reply_bytes);
    for (std::int32_t i = 1; i <= order.window; ++i) send(i, order.bytes);
    wait();
    round_ += 2;
  }

  /// The other side of it; returns the word.
  std::uint64_t answer(const Order& order) {
    for (std::int32_t i = 1; i <= order.window; ++i) receive(i, order.bytes);
    wait();
    std::uint64_t word = 0;
    std::memcpy(&word, data_.data(), sizeof word);
    send(0, order.reply_bytes);
    wait();
    round_ += 2;
    return word;
  }

 private:
  /// Message 0 is the answer.
  [[nodiscard]] std::uint64_t tag(std::int32_t message) const {
    return round_ << 16U | static_cast<std::uint64_t>(message);
  }
  Completion& start(std::int32_t message) {
    ++pending_;
    return completions_[at(message)] = {this, 0};
  }
  void count(Posted posted) {
    if (posted != Posted::pending) completed(0, posted == Posted::done);
  }
  void send(std::int32_t message, std::int64_t bytes) {
    Completion& completion = start(message);
    count(transport_->send(peer_, tag(message), data_.data(), at(bytes), &completion));
  }
  void receive(std::int32_t message, std::int64_t bytes) {
    Completion& completion = start(message);
    count(transport_->receive(0, tag(message), data_.data(), at(bytes), &completion));
  }
  void wait() {
    while (pending_ > 0 && good_) transport_->progress();
  }

  std::unique_ptr<Transport> transport_;
  PeerId peer_ = -1;
  std::vector<Completion> completions_;
  std::vector<std::byte> data_;
  std::uint64_t round_ = 0;
  std::int64_t pending_ = 0;
  bool good_ = true;
};

Result<std::unique_ptr<Transport>> make_transport(const std::string& name) {
  if (name == "ucx") return make_ucx_transport({});
  if (name == "uct") return make_uct_transport({});
  return make_ofi_transport({}, {name, most_bytes, false});
}

void bind_to(int processor) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(processor, &processors);
  static_cast<void>(sched_setaffinity(0, sizeof processors, &processors));
}

/// The child's: ends with its parent.
[[noreturn]] void serve(Shared& shared, const std::string& name) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bind_to(1);
  Result<std::unique_ptr<Transport>> transport = make_transport(name);
  if (!transport) _exit(1);
  End end(std::move(*transport), shared, 1);
  for (std::uint32_t done = 0; end.good(); ++done) {
    while (shared.orders.load(std::memory_order_acquire) == done) end.progress();
    const Order order = shared.order;
    while (end.good() && end.answer(order) != last_word) {
    }
  }
  _exit(1);
}

void run(benchmark::State& state, End& end, Shared& shared, const Order& order) {
  shared.order = order;
  shared.orders.fetch_add(1, std::memory_order_release);
  end.ask(order, next_word);
  while (end.good() && state.KeepRunning()) end.ask(order, next_word);
  end.ask(order, last_word);
  if (!end.good()) state.SkipWithError("a message could not be delivered");
}

void add_benchmarks(const std::string& name, End& end, Shared& shared) {
  constexpr double ends = 2;
  benchmark::RegisterBenchmark((name + "/latency/8").c_str(), [&](benchmark::State& state) {
    run(state, end, shared, {least_bytes, 1, least_bytes});
    state.counters["one_way"] = benchmark::Counter(static_cast<double>(state.iterations()) * ends,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  })->UseRealTime();
  benchmark::RegisterBenchmark((name + "/rate/8").c_str(), [&](benchmark::State& state) {
    run(state, end, shared, {least_bytes, most_window, least_bytes});
    state.SetItemsProcessed(state.iterations() * most_window);
  })->UseRealTime();
  constexpr std::int32_t in_flight = 16;
  for (std::int64_t bytes = 4096; bytes <= most_bytes; bytes *= 4) {
    benchmark::RegisterBenchmark((name + "/bandwidth/" + std::to_string(bytes)).c_str(), [&, bytes](
                                                                                             benchmark::State& state) {
      run(state, end, shared, {bytes, in_flight, least_bytes});
      state.SetBytesProcessed(state.iterations() * in_flight * bytes);
    })->UseRealTime();
  }
}

int run_all(int count, char** arguments) {
  constexpr std::string_view option = "--transport=";
  std::string name = "ucx";
  std::vector<char*> left;
  for (int i = 0; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument.starts_with(option)) {
      name = argument.substr(option.size());
    } else {
      left.push_back(arguments[i]);
    }
  }
  int left_count = static_cast<int>(left.size());
  benchmark::Initialize(&left_count, left.data());
  if (benchmark::ReportUnrecognizedArguments(left_count, left.data())) return 2;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Shared& shared = *new (memory) Shared();
  const pid_t partner = fork();
  if (partner < 0) return 1;
  if (partner == 0) serve(shared, name);
  bind_to(0);
  Result<std::unique_ptr<Transport>> transport = make_transport(name);
  if (!transport) {
    std::fprintf(stderr, "%s\n", transport.error().message.c_str());
    return 1;
  }
  {
    End end(std::move(*transport), shared, 0);
    add_benchmarks(name, end, shared);
    benchmark::RunSpecifiedBenchmarks();
    kill(partner, SIGKILL);
    waitpid(partner, nullptr, 0);
  }
  return 0;
}

}  // namespace
}  // namespace libcoll

int main(int count, char** arguments) { return libcoll::run_all(count, arguments); }

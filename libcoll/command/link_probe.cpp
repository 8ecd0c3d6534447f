#include "libcoll/command/link_probe.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "planner/base/index.h"

namespace libcoll::command {

using namespace transport;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

/// The sender: pings and pongs, waits for the word to go, sends all messages, waits for the word that they are there.
/// The receiver: the same from the other side, and looks at the clock.
class LinkProbe::Task final : public Waiter {
 public:
  Task(Transport& transport, LinkOrder order) : transport_(transport), order_(std::move(order)) {
    const Result<PeerId> peer = transport_.connect(order_.peer, 0);
    failed_ = !peer.ok();
    if (peer) peer_ = *peer;
    data_.resize(at(std::max<std::int64_t>(order_.message_bytes, small)));
    completions_.resize(at(order_.messages) + 1);
  }
  ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  void completed(std::uint32_t index, bool ok) noexcept override {
    --pending_;
    failed_ = failed_ || !ok;
    if (index == data_index) note_arrival();
  }

  /// Goes on with what nothing is waited for.
  void advance() {
    while (pending_ == 0 && !over()) step();
  }
  [[nodiscard]] bool over() const { return failed_ || stage_ == Stage::over; }
  [[nodiscard]] bool may_yet_arrive() const { return pending_ != 0; }

  [[nodiscard]] LinkFigure figure() const {
    LinkFigure figure;
    figure.measurement = order_.measurement;
    figure.good = !failed_ && stage_ == Stage::over && pending_ == 0;
    if (!figure.good) return figure;
    if (order_.sends) {
      figure.latency_seconds = fastest_ / 2;
    } else {
      const double seconds = seconds_between(first_, last_);
      const double bytes = static_cast<double>(order_.message_bytes) * (order_.messages - skipped());
      figure.bytes_per_second = seconds > 0 ? bytes / seconds : 0;
    }
    return figure;
  }

 private:
  enum class Stage : std::uint8_t { ping, pong, go, data, done, over };
  static constexpr std::int64_t small = 8;
  static constexpr std::uint32_t other_index = 0;
  static constexpr std::uint32_t data_index = 1;
  // Numbers of messages in a measurement's tags.
  static constexpr std::uint64_t go_number = 1U << 20U;
  static constexpr std::uint64_t done_number = go_number + 1;
  static constexpr std::uint64_t first_data_number = go_number + 2;

  [[nodiscard]] std::uint64_t tag(std::uint64_t number) const {
    return (std::uint64_t{order_.measurement} << 24U) | number;
  }
  [[nodiscard]] std::int32_t skipped() const { return order_.messages / 4; }

  void note_arrival() noexcept {
    ++arrived_;
    if (arrived_ == skipped()) first_ = Clock::now();
    if (arrived_ == order_.messages) last_ = Clock::now();
  }

  void post(bool sends, std::uint64_t number, std::int64_t bytes, Completion& completion, std::uint32_t index) {
    completion = {this, index};
    ++pending_;
    const Posted posted = sends ? transport_.send(peer_, tag(number), data_.data(), at(bytes), &completion)
                                : transport_.receive(0, tag(number), data_.data(), at(bytes), &completion);
    if (posted != Posted::pending) completed(index, posted == Posted::done);
  }
  void post_small(bool sends, std::uint64_t number) { post(sends, number, small, completions_.back(), other_index); }
  void post_data() {
    for (std::int32_t i = 0; i < order_.messages; ++i) {
      post(order_.sends, first_data_number + at(i), order_.message_bytes, completions_[at(i)],
           order_.sends ? other_index : data_index);
    }
  }

  /// Posts the next message, or messages, once those before are complete.
  void step() {
    switch (stage_) {
      case Stage::ping:
        if (pings_ > 0 && order_.sends) fastest_ = std::min(fastest_, seconds_between(pinged_, Clock::now()));
        if (pings_ == order_.pings) {
          stage_ = Stage::go;
          break;
        }
        pinged_ = Clock::now();
        stage_ = Stage::pong;
        post_small(order_.sends, 2 * at(pings_));
        break;
      case Stage::pong:
        stage_ = Stage::ping;
        post_small(!order_.sends, 2 * at(pings_++) + 1);
        break;
      case Stage::go:  // a receiver has room for all messages before it says so
        stage_ = order_.sends ? Stage::data : Stage::done;
        if (!order_.sends) post_data();
        post_small(!order_.sends, go_number);
        break;
      case Stage::data:
        stage_ = Stage::done;
        post_data();
        break;
      case Stage::done:
        stage_ = Stage::over;
        post_small(!order_.sends, done_number);
        break;
      case Stage::over:
        break;
    }
  }

  Transport& transport_;
  const LinkOrder order_;
  PeerId peer_ = -1;
  std::vector<std::byte> data_;
  std::vector<Completion> completions_;  ///< the last one is that of small messages
  Stage stage_ = Stage::ping;
  std::int32_t pending_ = 0;
  std::int32_t pings_ = 0;
  std::int32_t arrived_ = 0;
  bool failed_ = false;
  double fastest_ = std::numeric_limits<double>::infinity();
  Clock::time_point pinged_;
  Clock::time_point first_;
  Clock::time_point last_;
};

LinkProbe::LinkProbe(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

LinkProbe::LinkProbe(LinkProbe&&) noexcept = default;

LinkProbe::~LinkProbe() {
  transport_.reset();  // it may write to their memory
}

std::vector<LinkFigure> LinkProbe::measure(std::span<const LinkOrder> orders, const Deadline& deadline) {
  constexpr int look_milliseconds = 5;
  std::vector<std::unique_ptr<Task>> tasks;
  for (const LinkOrder& order : orders) tasks.push_back(std::make_unique<Task>(*transport_, order));
  while (!deadline.passed()) {
    const bool moved = transport_->progress();
    for (const auto& task : tasks) task->advance();
    const bool rest = std::all_of(tasks.begin(), tasks.end(),
                                  [](const auto& task) { return task->over() && !task->may_yet_arrive(); });
    if (rest) break;
    if (!moved && transport_->arm()) transport_->block(look_milliseconds);
  }
  std::vector<LinkFigure> figures;
  for (auto& task : tasks) {
    figures.push_back(task->figure());
    if (task->may_yet_arrive()) abandoned_.push_back(std::move(task));
  }
  return figures;
}

}  // namespace libcoll::command

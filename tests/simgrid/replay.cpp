// Replays a schedule on SimGrid's flow model, where messages that share a link share its bandwidth (max-min), and
// prints how long it takes, as JSON.
//
//   simgrid_replay SCHEDULE BYTES SEGMENT_BYTES
//
// Nodes go by data-flow, as the runtime does: every link, and every route from its source, has a lane that sends
// segment after segment, those of the earliest step first. A segment arrives a latency after its last byte was sent:
// SimGrid's own latency comes before the first byte, when the link would be idle. Nothing of planner/simulate is in it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <queue>
#include <simgrid/s4u.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/base/index.h"
#include "planner/base/text_file.h"
#include "planner/schedule/schedule.h"
#include "planner/schedule/xml.h"

namespace libcoll::test {

using namespace schedule;
using namespace topology;

namespace {

namespace s4u = simgrid::s4u;

/// A segment of a chunk, on one transfer's way.
struct Segment {
  std::size_t lane = 0;
  std::int32_t step = 0;
  std::uint64_t bytes = 0;
  std::int32_t awaited = 0;             ///< contributions that have yet to arrive at the sender
  std::vector<std::size_t> dependents;  ///< what its arrival lets go
};

/// What has one way through the fabric: a link between hosts, or a route.
struct Lane {
  using Waiting = std::pair<std::int32_t, std::size_t>;  ///< step, segment
  std::vector<LinkId> links;
  s4u::Host* from = nullptr;
  s4u::Host* to = nullptr;
  double latency_seconds = 0;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue;
  s4u::SemaphorePtr ready;                               ///< of `queue`
  std::queue<std::pair<double, std::size_t>> under_way;  ///< when it arrives, segment
  s4u::SemaphorePtr sent;                                ///< of `under_way`
};

class Replay {
 public:
  Replay(const Schedule& schedule, double bytes, std::int64_t segment_bytes)
      : schedule_(schedule),
        chunk_bytes_(bytes / static_cast<double>(shards_in_vector(schedule) * schedule.chunks_per_shard)),
        segments_per_chunk_(std::max<std::int64_t>(
            1, static_cast<std::int64_t>(std::ceil(chunk_bytes_ / static_cast<double>(segment_bytes))))) {
    make_segments();
    count_dependencies();
    make_platform();
  }

  /// Seconds until the last segment has arrived.
  double run() {
    start_lanes();
    s4u::Engine::get_instance()->run();
    return seconds_;
  }
  [[nodiscard]] std::size_t messages() const { return segments_.size(); }

 private:
  std::size_t lane_of(const Transfer& transfer) {
    const std::tuple key(transfer.from, transfer.to, transfer.route);
    const auto [found, is_new] = lane_numbers_.try_emplace(key, lanes_.size());
    if (is_new) {
      Lane& lane = lanes_.emplace_back();
      if (transfer.route == direct) {
        lane.links = {schedule_.topology.find_link(transfer.from, transfer.to)};
      } else {
        lane.links = schedule_.routes[at(transfer.route)].links;
      }
      for (const LinkId link : lane.links) lane.latency_seconds += schedule_.topology.link(link).latency_seconds;
    }
    return found->second;
  }

  void make_segments() {
    const auto bytes =
        static_cast<std::uint64_t>(std::llround(chunk_bytes_ / static_cast<double>(segments_per_chunk_)));
    for (const Transfer& transfer : schedule_.transfers) {
      first_segment_.push_back(segments_.size());
      const std::size_t lane = lane_of(transfer);
      for (std::int64_t i = 0; i < transfer.chunk_count * segments_per_chunk_; ++i) {
        segments_.push_back({lane, transfer.step, bytes, 0, {}});
      }
    }
  }

  /// What goes out waits for all that comes in of the same chunk in earlier steps.
  void count_dependencies() {
    using Copy = std::tuple<NodeId, ShardId, std::int32_t>;  // of a chunk of a shard at a node
    std::map<Copy, std::vector<std::size_t>> arrivals;       // transfers
    const auto for_each_chunk = [](const Transfer& transfer, const auto& visit) {
      for (std::int32_t i = 0; i < transfer.chunk_count; ++i) visit(transfer.chunk_begin + i);
    };
    for (std::size_t i = 0; i < schedule_.transfers.size(); ++i) {
      const Transfer& transfer = schedule_.transfers[i];
      for_each_chunk(transfer, [&](std::int32_t chunk) {
        arrivals[{transfer.to, transfer.shard, chunk}].push_back(i);
      });
    }
    for (std::size_t i = 0; i < schedule_.transfers.size(); ++i) {
      const Transfer& transfer = schedule_.transfers[i];
      for_each_chunk(transfer, [&](std::int32_t chunk) {
        for (const std::size_t before : arrivals[{transfer.from, transfer.shard, chunk}]) {
          if (schedule_.transfers[before].step < transfer.step) link_segments(before, i, chunk);
        }
      });
    }
  }

  void link_segments(std::size_t before, std::size_t after, std::int32_t chunk) {
    const auto first_of_chunk = [&](std::size_t transfer) {
      return first_segment_[transfer] + at((chunk - schedule_.transfers[transfer].chunk_begin) * segments_per_chunk_);
    };
    for (std::size_t i = 0; i < at(segments_per_chunk_); ++i) {
      segments_[first_of_chunk(before) + i].dependents.push_back(first_of_chunk(after) + i);
      ++segments_[first_of_chunk(after) + i].awaited;
    }
  }

  /// SimGrid has one route from host to host: ways beside the first have a source of their own.
  void make_platform() {
    constexpr double any_speed = 1e9;
    s4u::NetZone* zone = s4u::create_full_zone("fabric");
    std::vector<s4u::Link*> links;
    for (LinkId id = 0; id < schedule_.topology.link_count(); ++id) {
      const Link& link = schedule_.topology.link(id);
      links.push_back(
          zone->create_link("link-" + std::to_string(id), static_cast<double>(link.bandwidth_bytes_per_second))
              ->set_latency(0)
              ->seal());
    }
    std::map<std::pair<NodeId, std::int32_t>, s4u::Host*> hosts;  // by node and way
    const auto host = [&](NodeId node, std::int32_t way) {
      s4u::Host*& found = hosts[{node, way}];
      if (found == nullptr) {
        found = zone->create_host("node-" + std::to_string(node) + "-" + std::to_string(way), any_speed)->seal();
      }
      return found;
    };
    std::map<std::pair<NodeId, NodeId>, std::int32_t> ways;
    for (const auto& [key, number] : lane_numbers_) {
      const auto& [from, to, route] = key;
      Lane& lane = lanes_[number];
      lane.from = host(from, ways[{from, to}]++);
      lane.to = host(to, 0);
      std::vector<s4u::LinkInRoute> crossed;
      for (const LinkId link : lane.links) crossed.emplace_back(links[at(link)]);
      zone->add_route(lane.from->get_netpoint(), lane.to->get_netpoint(), nullptr, nullptr, crossed, false);
    }
    zone->seal();
  }

  void start_lanes() {
    for (Lane& lane : lanes_) {
      lane.ready = s4u::Semaphore::create(0);
      lane.sent = s4u::Semaphore::create(0);
    }
    all_arrived_ = s4u::Semaphore::create(0);
    for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
      if (segments_[segment].awaited == 0) enqueue(segment);
    }
    for (Lane& lane : lanes_) {
      s4u::Actor::create("sender", lane.from, [this, &lane] { send(lane); })->daemonize();
      s4u::Actor::create("receiver", lane.to, [this, &lane] { receive(lane); })->daemonize();
    }
    s4u::Actor::create("all", lanes_.front().from, [this] {
      all_arrived_->acquire();
      seconds_ = s4u::Engine::get_clock();
    });
  }

  void enqueue(std::size_t segment) {
    Lane& lane = lanes_[segments_[segment].lane];
    lane.queue.emplace(segments_[segment].step, segment);
    lane.ready->release();
  }

  void send(Lane& lane) const {
    for (;;) {
      lane.ready->acquire();
      const std::size_t segment = lane.queue.top().second;
      lane.queue.pop();
      s4u::Comm::sendto(lane.from, lane.to, segments_[segment].bytes);
      lane.under_way.emplace(s4u::Engine::get_clock() + lane.latency_seconds, segment);
      lane.sent->release();
    }
  }

  void receive(Lane& lane) {
    for (;;) {
      lane.sent->acquire();
      const auto [seconds, segment] = lane.under_way.front();
      lane.under_way.pop();
      s4u::this_actor::sleep_until(seconds);
      for (const std::size_t dependent : segments_[segment].dependents) {
        if (--segments_[dependent].awaited == 0) enqueue(dependent);
      }
      if (++arrived_ == segments_.size()) all_arrived_->release();
    }
  }

  const Schedule& schedule_;
  double chunk_bytes_;
  std::int64_t segments_per_chunk_;
  std::vector<Segment> segments_;
  std::vector<std::size_t> first_segment_;  ///< by transfer
  std::vector<Lane> lanes_;
  std::map<std::tuple<NodeId, NodeId, std::int32_t>, std::size_t> lane_numbers_;  ///< by ends and route
  std::size_t arrived_ = 0;
  s4u::SemaphorePtr all_arrived_;
  double seconds_ = 0;
};

bool read_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0;
}

int replay(int argc, char** argv) {
  constexpr int wrong_usage = 2;
  std::int64_t bytes = 0;
  std::int64_t segment_bytes = 0;
  if (argc != 4 || !read_number(argv[2], bytes) || !read_number(argv[3], segment_bytes)) {
    std::fputs("usage: simgrid_replay SCHEDULE BYTES SEGMENT_BYTES, sizes above 0\n", stderr);
    return wrong_usage;
  }
  const Result<std::string> text = read_text_file(argv[1], most_schedule_bytes);
  const Result<Schedule> schedule = text ? read_schedule(*text, argv[1]) : Result<Schedule>(text.error());
  if (!schedule || schedule->transfers.empty()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], schedule ? "no transfers" : schedule.error().message.c_str());
    return wrong_usage;
  }
  Replay run(*schedule, static_cast<double>(bytes), segment_bytes);
  std::printf("{\"seconds\": %.17g, ", run.run());
  std::printf("\"messages\": %zu}\n", run.messages());
  return 0;
}

}  // namespace
}  // namespace libcoll::test

int main(int argc, char** argv) {
  // The plain flow model: no factors, no cross traffic, no window of TCP's.
  std::vector<std::string> settings{argv[0],
                                    "--log=root.thres:error",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/bandwidth-factor:1",
                                    "--cfg=network/latency-factor:1",
                                    "--cfg=network/weight-S:0",
                                    "--cfg=network/TCP-gamma:0",
                                    "--cfg=network/crosstraffic:0",
                                    "--cfg=surf/precision:1e-12",
                                    "--cfg=contexts/stack-size:64"};
  std::vector<char*> arguments;
  arguments.reserve(settings.size() + 1);
  for (std::string& setting : settings) arguments.push_back(setting.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  const simgrid::s4u::Engine engine(&count, arguments.data());
  return libcoll::test::replay(argc, argv);
}

#include "libcoll/runtime/hierarchy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "libcoll/runtime/log.h"

namespace libcoll {
namespace {

constexpr std::int64_t page_bytes = 4096;

/// What a process has done in a round, in this order.
enum Phase : std::uint32_t { copied_in = 1, domain_reduced, node_reduced, moved, phases_per_round = 8 };

/// Names of the segments of a job that was killed while it set them up are of no use after this time.
constexpr std::chrono::seconds stale_age = std::chrono::minutes(10);

/// A leader has messages of its own to look after, which other nodes may be waiting for.
constexpr std::chrono::microseconds longest_sleep_of_leaders{1000};
constexpr std::chrono::microseconds longest_sleep_of_others{8000};

std::int64_t header_bytes(std::int32_t processes) {
  const auto bytes = static_cast<std::int64_t>(Phases::bytes(processes));
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

struct Announcement {
  char created;
  std::array<char, segment_name_bytes> name;
};

/// Says on this rank what went wrong; the others learn only that something did.
bool succeeded(const Status& status) {
  if (!status) log(LogLevel::warn, status.error().message);
  return status.ok();
}

}  // namespace

Hierarchy::Hierarchy(Runtime& runtime, Arrangement arrangement, std::int32_t rank)
    : runtime_(runtime),
      arrangement_(std::move(arrangement)),
      rank_(rank),
      half_bytes_(runtime.config().node_bytes / 2 / page_bytes * page_bytes),
      staging_(arrangement_, rank, half_bytes_) {}

std::unique_ptr<Hierarchy> Hierarchy::make(Runtime& runtime, HostCommunicator& host, Arrangement arrangement) {
  std::unique_ptr<Hierarchy> hierarchy(new Hierarchy(runtime, std::move(arrangement), host.rank()));
  return hierarchy->share_memory(host) ? std::move(hierarchy) : nullptr;
}

bool Hierarchy::share_memory(HostCommunicator& host) {
  const std::int64_t header = header_bytes(staging_.locals());
  const auto bytes = static_cast<std::size_t>(header + 2 * half_bytes_);
  const std::vector<std::int32_t>& neighbours =
      arrangement_.nodes[static_cast<std::size_t>(arrangement_.node_of_rank[static_cast<std::size_t>(rank_)])].ranks;
  const bool creator = staging_.local() == 0;

  // The creator says the name; nobody but it can have made what lies under it.
  Announcement mine{1, {}};
  if (creator) {
    remove_stale_segments(stale_age);
    Result<Segment> segment = Segment::create(bytes);
    mine.created = segment.ok() ? 1 : 0;
    if (segment.ok()) {
      segment_ = std::move(*segment);
      segment_.name().copy(mine.name.data(), mine.name.size() - 1);
    } else {
      log(LogLevel::warn, segment.error().message);
    }
  }
  std::vector<Announcement> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(&mine, sizeof mine, all.data())) return false;
  if (std::any_of(all.begin(), all.end(), [](const Announcement& each) { return each.created == 0; })) return false;

  bool good = true;
  if (!creator) {
    const Announcement& announced = all[static_cast<std::size_t>(neighbours.front())];
    Result<Segment> segment = Segment::open(announced.name.data(), bytes);
    if (segment.ok()) {
      segment_ = std::move(*segment);
    } else {
      good = succeeded(segment.error());
    }
  }
  // Memory comes to lie near the rank that reserves it: its own vectors here, the rest near the creator.
  for (std::uint32_t number = 0; good && number < 2; ++number) {
    const std::int64_t begin = header + number * half_bytes_ + staging_.local() * staging_.vector_bytes();
    good =
        succeeded(segment_.reserve(static_cast<std::size_t>(begin), static_cast<std::size_t>(staging_.vector_bytes())));
  }
  good = all_agree(host, good);
  segment_.remove_name();
  if (!good) return false;
  if (creator) good = succeeded(segment_.reserve(0, bytes));
  segment_.close_descriptor();
  phases_ = std::make_unique<Phases>(segment_.data(), staging_.locals(), staging_.local());
  return all_agree(host, good);
}

bool Hierarchy::serves(Collective collective, bool equal_shards) const {
  // The largest element of a predefined reduction is a complex number of two times 16 bytes.
  constexpr std::int64_t largest_element_bytes = 32;
  if (collective == Collective::reduce_scatter || !equal_shards) {
    return collective != Collective::alltoall && ShardStaging::fits(arrangement_, half_bytes_, largest_element_bytes);
  }
  return Staging::serves(collective) && staging_.capacity(collective, largest_element_bytes) > 0;
}

std::string Hierarchy::to_string() const {
  return std::to_string(arrangement_.nodes.size()) + " nodes of " + std::to_string(arrangement_.most_ranks) +
         " ranks at most, " + std::to_string(arrangement_.leaders) + " leaders each";
}

std::byte* Hierarchy::half(std::uint32_t number) const {
  return segment_.data() + header_bytes(staging_.locals()) + (number % 2) * half_bytes_;
}

bool Hierarchy::reduce(const Round& round, std::int32_t leaders, const Reducer& reducer, std::uint32_t base,
                       const Patience& patience) {
  if (staging_.has_domains()) {
    staging_.reduce_domain(round, reducer);
    phases_->post(base + domain_reduced);
    if (!phases_->wait(staging_.locals(), base + domain_reduced, patience)) return false;
  }
  staging_.reduce_node(round, reducer);
  phases_->post(base + node_reduced);
  // A leader that moves just what it has reduced itself need not wait.
  return leaders == staging_.locals() || phases_->wait(staging_.locals(), base + node_reduced, patience);
}

/// Nobody overwrites what another still reads: that all have copied in, which everybody waits for, means that all have
/// copied out of the round before, and the round after uses that round's half.
bool Hierarchy::run_round(const Round& round, const Call& call, ProgressHook hook, const Patience& patience,
                          const RunSlice& run_slice) {
  const std::uint32_t base = rounds_ * phases_per_round;
  staging_.copy_in(round, call.input);
  phases_->post(base + copied_in);
  if (!phases_->wait(staging_.locals(), base + copied_in, patience)) return false;
  if (round.collective == Collective::allreduce) {
    const std::int32_t reducing_leaders = has_slices() ? staging_.leaders(round) : 0;
    if (!reduce(round, reducing_leaders, call.reducer, base, patience)) return false;
  }
  if (has_slices()) {
    const std::int32_t leaders = staging_.leaders(round);
    if (staging_.local() < leaders) {
      const SlicePart part = staging_.part_of(round, staging_.local());
      Call slice_call;
      slice_call.collective = call.collective;
      slice_call.input = part.input;
      slice_call.output = part.output;
      slice_call.elements = part.elements;
      slice_call.element_bytes = round.element_bytes;
      slice_call.reducer = call.reducer;
      Shape shape;
      shape.elements = part.elements;
      shape.element_bytes = round.element_bytes;
      shape.input_stride_bytes = part.stride_bytes;
      shape.output_stride_bytes = part.stride_bytes;
      hook.signs_of_life = &phases_->signs_of_life();
      if (part.elements > 0 && !run_slice(slice_call, shape, hook)) return false;
      phases_->post(base + moved);
    }
    if (!phases_->wait(leaders, base + moved, patience)) return false;
  }
  staging_.copy_out(round, call.output);
  return true;
}

/// The same for shards of any length. A leader's part is here no stretch that it has reduced itself.
bool Hierarchy::run_shard_round(const ShardStaging& shards, const Call& call, ProgressHook hook,
                                const Patience& patience, const RunSlice& run_slice) {
  const std::uint32_t base = rounds_ * phases_per_round;
  shards.copy_in(call.input);
  phases_->post(base + copied_in);
  if (!phases_->wait(staging_.locals(), base + copied_in, patience)) return false;
  if (call.collective == Collective::reduce_scatter && !reduce(shards.row(), 0, call.reducer, base, patience)) {
    return false;
  }
  if (has_slices()) {
    const std::int32_t leaders = shards.leaders();
    if (staging_.local() < leaders) {
      ShardPart part = shards.part_of(staging_.local());
      Call slice_call;
      slice_call.collective = call.collective;
      slice_call.input = part.input;
      slice_call.output = part.output;
      slice_call.element_bytes = call.element_bytes;
      slice_call.reducer = call.reducer;
      hook.signs_of_life = &phases_->signs_of_life();
      if (!part.empty && !run_slice(slice_call, part.shape, hook)) return false;
      phases_->post(base + moved);
    }
    if (!phases_->wait(leaders, base + moved, patience)) return false;
  }
  shards.copy_out(call.output);
  return true;
}

bool Hierarchy::run_shards(const Call& call, ProgressHook hook, const Patience& patience, const RunSlice& run_slice) {
  Shards described{call.collective, call.element_bytes, call.counts, {}};
  if (call.counts.empty()) {
    for (std::size_t rank = 0; rank < arrangement_.node_of_rank.size(); ++rank) {
      described.counts.push_back(call.elements);
      described.offsets.push_back(static_cast<std::int64_t>(rank) * call.elements * call.element_bytes);
    }
  } else {
    described.offsets = call.collective == Collective::allgather ? call.output_offsets : call.input_offsets;
  }
  ShardStaging shards(arrangement_, rank_, half_bytes_, described);
  for (std::int64_t round = 0; round < shards.rounds(); ++round) {
    ++rounds_;
    shards.begin_round(round, half(rounds_));
    if (!run_shard_round(shards, call, hook, patience, run_slice)) return false;
  }
  return true;
}

bool Hierarchy::run_rounds(const Call& call, ProgressHook hook, const Patience& patience, const RunSlice& run_slice) {
  const std::int64_t capacity = staging_.capacity(call.collective, call.element_bytes);
  for (std::int64_t begin = 0; begin < call.elements; begin += capacity) {
    ++rounds_;
    const Round round{call.collective,    begin,        std::min(capacity, call.elements - begin), call.elements,
                      call.element_bytes, half(rounds_)};
    if (!run_round(round, call, hook, patience, run_slice)) return false;
  }
  return true;
}

bool Hierarchy::run(const Call& call, ProgressHook hook, const RunSlice& run_slice) {
  const std::function<void()> other_things = [&] {
    runtime_.progress();
    hook();
  };
  const Config& config = runtime_.config();
  const Patience patience{std::chrono::microseconds(config.poll_microseconds),
                          std::chrono::seconds(config.timeout_seconds),
                          leads() ? longest_sleep_of_leaders : longest_sleep_of_others, &other_things};
  const bool shards = !call.counts.empty() || call.collective == Collective::reduce_scatter;
  if (shards ? run_shards(call, hook, patience, run_slice) : run_rounds(call, hook, patience, run_slice)) return true;
  log(LogLevel::error, "a collective fails: a rank of this node gave up, or gave no sign of life for " +
                           std::to_string(config.timeout_seconds) + " s");
  phases_->fail();
  // The transport may still have messages under way to and from it.
  segment_.abandon();
  return false;
}

}  // namespace libcoll

#include "libcoll/node/shard_staging.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace libcoll::node {

using namespace execute;
using namespace schedule;

namespace {

/// Who adds up its own shard may have so many times what each of the others has on average: then waiting for it takes
/// no longer than adding up together and copying the sum.
constexpr std::int64_t most_times_the_mean = 4;
/// Of all shards together, in a round within a node: some ranks copy in while others add up or copy out what came
/// before, and all of it stays in their caches. A reduction has that much for every rank.
constexpr std::int64_t most_round_bytes = 256 * 1024;
constexpr std::int64_t most_added_up_bytes = 128 * 1024;
/// Not less of a shard, which waiting for the others would take longer than.
constexpr std::int64_t least_added_up_bytes = 32 * 1024;

std::int64_t row_bytes_of(const RankLayout& layout, std::int64_t bytes) {
  return bytes / layout.most_ranks / alignment_bytes * alignment_bytes;
}

/// Elements of a round at most, beside one for every rank that rounding may add.
std::int64_t row_capacity(const RankLayout& layout, std::int64_t bytes, std::int64_t element_bytes) {
  return bytes / element_bytes - static_cast<std::int64_t>(layout.node_of_rank.size());
}

}  // namespace

ShardStaging::ShardStaging(const RankLayout& layout, std::int32_t rank, std::int64_t bytes, const Shards& shards)
    : layout_(layout),
      shards_(shards),
      rank_(static_cast<std::size_t>(rank)),
      node_(static_cast<std::size_t>(layout.node_of_rank[rank_])),
      bytes_(bytes),
      all_elements_(std::accumulate(shards.counts.begin(), shards.counts.end(), std::int64_t{0})) {
  std::int64_t most = row_capacity(layout, row_bytes(), shards.element_bytes);
  if (adds_up_own()) {
    const std::int64_t most_bytes = std::max(most_added_up_bytes, least_added_up_bytes * layout.most_ranks);
    most = std::min(most, most_bytes / shards.element_bytes);
  } else if (layout.nodes.size() == 1 && !reduces()) {
    most = std::min(most, most_round_bytes / shards.element_bytes);
  }
  rounds_ = std::max<std::int64_t>(1, (all_elements_ + most - 1) / most);
}

bool ShardStaging::fits(const RankLayout& layout, std::int64_t bytes, std::int64_t element_bytes) {
  return row_capacity(layout, row_bytes_of(layout, bytes), element_bytes) > 0;
}

std::int64_t ShardStaging::row_bytes() const { return reduces() ? row_bytes_of(layout_, bytes_) : bytes_; }

std::int64_t ShardStaging::begin_of(std::size_t rank) const {
  return share_of(shards_.counts[rank], rounds_, round_).begin;
}

std::int64_t ShardStaging::elements_of(std::size_t rank) const {
  return share_of(shards_.counts[rank], rounds_, round_).length();
}

void ShardStaging::begin_round(std::int64_t round, const RoundMemory& memory) {
  round_ = round;
  place_.resize(shards_.counts.size());
  node_end_.clear();
  std::int64_t end = 0;
  for (const NodeRanks& node : layout_.nodes) {
    for (const std::int32_t rank : node.ranks) {
      place_[static_cast<std::size_t>(rank)] = end;
      end += elements_of(static_cast<std::size_t>(rank));
    }
    node_end_.push_back(end);
  }
  memory_ = memory.begin;
  if (layout_.nodes.size() > 1) return;
  const std::int64_t most = reduces() ? row_bytes_in_turn(layout_.most_ranks) : bytes_in_turn;
  memory_ += offset_in_turn(memory.turn, end * shards_.element_bytes, std::min(row_bytes(), most));
}

std::int64_t ShardStaging::copy_in(const std::byte* input) const {
  const std::int64_t element = shards_.element_bytes;
  if (!reduces()) {
    return copy_bytes(memory_ + place_[rank_] * element, input + begin_of(rank_) * element,
                      elements_of(rank_) * element);
  }
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < place_.size(); ++rank) moved += copy_shard_in(input, rank, {0, elements_of(rank)});
  return moved;
}

const std::byte* ShardStaging::part_of_input(const std::byte* input, std::size_t rank) const {
  return input + shards_.offsets[rank] + begin_of(rank) * shards_.element_bytes;
}

std::int64_t ShardStaging::copy_shard_in(const std::byte* input, std::size_t rank, Stretch part) const {
  const std::int64_t element = shards_.element_bytes;
  return copy_bytes(row_of(layout_.local_of_rank[rank_]) + (place_[rank] + part.begin) * element,
                    part_of_input(input, rank) + part.begin * element, part.length() * element);
}

Stretch ShardStaging::domain_stretch() const {
  return stretch_in_domain(layout_.nodes[node_], layout_.local_of_rank[rank_], node_end_.back());
}

Stretch ShardStaging::part_in(Stretch stretch, std::size_t rank) const {
  const std::int64_t elements = elements_of(rank);
  return {std::clamp<std::int64_t>(stretch.begin - place_[rank], 0, elements),
          std::clamp<std::int64_t>(stretch.end - place_[rank], 0, elements)};
}

bool ShardStaging::adds_up_own() const {
  if (!reduces() || layout_.nodes.size() != 1) return false;
  const std::int64_t longest = *std::max_element(shards_.counts.begin(), shards_.counts.end());
  const bool is_small = all_elements_ * shards_.element_bytes * layout_.most_ranks <= most_bytes_reduced_alone;
  if (is_small) return !has_domains();
  return longest * layout_.most_ranks <= most_times_the_mean * all_elements_;
}

bool ShardStaging::writes_over_own(const std::byte* input, const std::byte* output) const {
  const std::int64_t bytes = shards_.counts[rank_] * shards_.element_bytes;
  const std::byte* const own = input + shards_.offsets[rank_];
  const std::less<> before;
  if (!before(own, output + bytes) || !before(output, own + bytes)) return false;
  // In place. What the first two shards have in a place is read before their sum is written there.
  return own != output || layout_.local_of_rank[rank_] > 1;
}

std::int64_t ShardStaging::copy_in_for_others(const std::byte* input, const std::byte* output) const {
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < place_.size(); ++rank) {
    Stretch left;
    if (has_domains()) {
      left = part_in(domain_stretch(), rank);
    } else if (rank == rank_ && !writes_over_own(input, output)) {
      left = {0, elements_of(rank)};
    }
    moved += copy_shard_in(input, rank, {0, left.begin});
    moved += copy_shard_in(input, rank, {left.end, elements_of(rank)});
  }
  return moved;
}

std::int64_t ShardStaging::add_up_domain(const std::byte* input, const Reducer& reducer) const {
  const std::int64_t element = shards_.element_bytes;
  const std::int32_t own = layout_.local_of_rank[rank_];
  const std::vector<std::int32_t>& domain = domain_of(layout_.nodes[node_], own);
  std::vector<const std::byte*> vectors(domain.size());
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < place_.size(); ++rank) {
    const auto in_row = [&](std::int32_t local) { return row_of(local) + place_[rank] * element; };
    std::transform(domain.begin(), domain.end(), vectors.begin(),
                   [&](std::int32_t local) { return local == own ? part_of_input(input, rank) : in_row(local); });
    moved += reduce_stretch(part_in(domain_stretch(), rank), element, in_row(domain.front()), vectors, reducer);
  }
  return moved;
}

std::int64_t ShardStaging::add_up_own(const std::byte* input, std::byte* output, const Reducer& reducer) const {
  const std::int64_t element = shards_.element_bytes;
  std::vector<const std::byte*> vectors;
  vectors.reserve(place_.size());
  if (has_domains()) {
    for (const std::vector<std::int32_t>& domain : layout_.nodes[node_].domains)
      vectors.push_back(own_of(domain.front()));
  } else {
    const bool is_outside = !writes_over_own(input, output);
    for (std::int32_t local = 0; local < layout_.most_ranks; ++local) {
      const bool is_own = local == layout_.local_of_rank[rank_];
      vectors.push_back(is_own && is_outside ? part_of_input(input, rank_) : own_of(local));
    }
  }
  return reduce_stretch({0, elements_of(rank_)}, element, output + begin_of(rank_) * element, vectors, reducer);
}

Round ShardStaging::row() const {
  return {Collective::allreduce, 0, node_end_.back(), node_end_.back(), shards_.element_bytes, memory_};
}

const std::byte* ShardStaging::row_in(const std::byte* input) const {
  if (!reduces() || rounds_ != 1) return nullptr;
  std::optional<std::int64_t> begin;
  for (std::size_t rank = 0; rank < place_.size(); ++rank) {
    if (shards_.counts[rank] == 0) continue;
    const std::int64_t begin_here = shards_.offsets[rank] - place_[rank] * shards_.element_bytes;
    if (begin.value_or(begin_here) != begin_here) return nullptr;
    begin = begin_here;
  }
  return input + begin.value_or(0);
}

std::int32_t ShardStaging::leaders() const {
  std::int64_t longest = 0;
  std::int64_t begin = 0;
  for (const std::int64_t end : node_end_) {
    longest = std::max(longest, end - begin);
    begin = end;
  }
  return leaders_for(longest * shards_.element_bytes, layout_.leaders);
}

ShardPart ShardStaging::part_of(std::int32_t leader) const {
  ShardPart part;
  part.shape.element_bytes = shards_.element_bytes;
  std::vector<std::int64_t>& offsets = reduces() ? part.shape.input_offsets : part.shape.output_offsets;
  std::int64_t begin = 0;
  for (const std::int64_t end : node_end_) {
    const Stretch stretch = stretch_of(end - begin, leaders(), leader);
    part.shape.counts.push_back(stretch.end - stretch.begin);
    offsets.push_back((begin + stretch.begin) * shards_.element_bytes);
    part.empty = part.empty && stretch.end == stretch.begin;
    begin = end;
  }
  // In place: the node's own shard lies where its sum is to be, or where it is gathered.
  part.input = reduces() ? memory_ : memory_ + offsets[node_];
  part.output = reduces() ? memory_ + offsets[node_] : memory_;
  return part;
}

std::int64_t ShardStaging::copy_out(std::byte* output, const std::byte* input) const {
  const std::int64_t element = shards_.element_bytes;
  if (reduces()) {
    return copy_bytes(output + begin_of(rank_) * element, memory_ + place_[rank_] * element,
                      elements_of(rank_) * element);
  }
  std::int64_t moved = 0;
  for (std::size_t rank = 0; rank < place_.size(); ++rank) {
    const std::byte* const from = rank == rank_ ? input + begin_of(rank_) * element : memory_ + place_[rank] * element;
    std::byte* const to = output + shards_.offsets[rank] + begin_of(rank) * element;
    if (from != to) moved += copy_bytes(to, from, elements_of(rank) * element);
  }
  return moved;
}

}  // namespace libcoll::node

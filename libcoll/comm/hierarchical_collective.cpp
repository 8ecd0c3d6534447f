#include "libcoll/comm/hierarchical_collective.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "libcoll/base/log.h"
#include "libcoll/comm/communicator_parts.h"
#include "libcoll/comm/node_wait.h"
#include "libcoll/execute/memory_traffic.h"
#include "libcoll/node/call_blocks.h"

namespace libcoll::comm {

using namespace execute;
using namespace node;
using namespace observe;
using namespace plan;
using namespace transport;

namespace {

/// What a process of this node writes to memory wakes nobody who waits for the transport.
constexpr int milliseconds_between_looks = 1;
constexpr std::int64_t word_bytes = 8;

/// Of the blocks of an all-to-all that differ no rank knows all.
std::int64_t length_bytes(const Call& call) {
  if (call.counts.empty()) return call.elements * call.element_bytes;
  if (call.collective == schedule::Collective::alltoall) return 0;
  return std::accumulate(call.counts.begin(), call.counts.end(), std::int64_t{0}) * call.element_bytes;
}

}  // namespace

HierarchicalCollective::HierarchicalCollective(CommunicatorParts& parts, const Hierarchy& hierarchy, Call call,
                                               LoweredPlanPointer plan, CallSequence sequence,
                                               std::shared_ptr<PersistentContext> persistent)
    : parts_(parts),
      hierarchy_(hierarchy),
      plan_(std::move(plan)),
      sequence_(sequence),
      persistent_(std::move(persistent)),
      memory_(persistent_ == nullptr ? hierarchy.memory() : persistent_->memory()),
      collective_(call.collective),
      calls_mpi_(call.reducer.calls_mpi),
      tuning_(parts.choices.tuning_for(call)),
      vector_bytes_(vector_bytes(call.collective, {call.elements, call.element_bytes, 0, 0, call.counts, {}, {}},
                                 parts.members.rank(), parts.members.size())),
      length_bytes_(length_bytes(call)),
      can_go_on_(hierarchy.has_slices() && call.counts.empty() && !is_reduction(call.collective)),
      rounds_(hierarchy.rounds_of(*memory_, std::move(call), sequence.may_read)) {}

void HierarchicalCollective::begin() {
  if (over()) return;
  memory_->calls().push_back(this);
  advance();
}

void HierarchicalCollective::advance() noexcept {
  try {
    while (!over() && has_turn() && go_on()) continue;
  } catch (...) {
    abandon();  // no memory for the next stage
  }
}

void HierarchicalCollective::advance_all_to_this() noexcept {
  while (!over() && !has_turn()) {
    HierarchicalCollective& first = *memory_->calls().front();
    first.advance();
    if (!first.over()) return;
  }
  advance();
}

bool HierarchicalCollective::go_on() {
  if (slice_) return end_slice();
  if (stages_.empty() && !memory_->phases().failed()) begin_round();
  if (stages_.empty() || !memory_->phases().have_come(stage().awaited)) {
    if (memory_->phases().failed()) abandon();
    return false;
  }
  if (round_ == 0 && stage_ == 1 && !hierarchy_.has_slices() && sees_other_length()) {
    end_without_result();
    return true;
  }
  const Work work = stage().work;
  if (work == Work::move && !settle()) {
    if (parts_.members.is_broken()) abandon();
    return false;
  }
  if (work == Work::move && begin_slice()) return true;
  if (!perform(work)) {
    abandon();
    return false;
  }
  end_stage();
  return true;
}

void HierarchicalCollective::begin_round() {
  round_number_ = memory_->next_round();
  rounds_->begin(round_, memory_->half(round_number_));
  list_stages_of_round();
  if (round_ == 0) show_call();
}

/// What other ranks of the node do, by their lengths, a rank does not know before all have shown theirs.
void HierarchicalCollective::list_stages_of_round() {
  list_stages(rounds_->outline(), round_number_, stages_);
  if (round_ > 0 || !can_go_on_) return;
  const Awaited all{memory_->staging().locals(), stages_.front().published};
  stages_.insert(stages_.begin() + 1, {all, Work::compare, 0});
}

/// As a half, a note is written again two rounds later, when nobody reads it any more.
void HierarchicalCollective::show_call() {
  const RankLayout& layout = hierarchy_.layout();
  const std::int32_t local = layout.local_of_rank[static_cast<std::size_t>(parts_.members.rank())];
  Phases::Note& note = memory_->phases().note(local, round_number_);
  note.number = length_bytes_;
  rounds_->show(note);
}

std::vector<Phases::Note> HierarchicalCollective::shown() const {
  std::vector<Phases::Note> notes;
  notes.reserve(static_cast<std::size_t>(memory_->staging().locals()));
  for (std::int32_t local = 0; local < memory_->staging().locals(); ++local) {
    notes.push_back(memory_->phases().note(local, round_number_));
  }
  return notes;
}

bool HierarchicalCollective::sees_other_length() const {
  for (std::int32_t local = 0; local < memory_->staging().locals(); ++local) {
    if (memory_->phases().note(local, round_number_).number != length_bytes_) return true;
  }
  return false;
}

/// Who waits for a phase of this round is to see it, too.
void HierarchicalCollective::end_without_result() {
  memory_->phases().post(round_number_ * phases_per_round + phases_per_round - 1);
  lengths_differ_ = true;
  stages_.clear();
  stage_ = 0;
  round_ = rounds_->count();
  leave();
}

std::int64_t HierarchicalCollective::most_common_length() const {
  std::map<std::int64_t, int> ranks_of_length;
  std::pair<int, std::int64_t> most;
  // Of two it is as a rule the first rank, a root, that does something else.
  for (const Phases::Note& note : shown()) {
    const int ranks = ++ranks_of_length[note.number];
    if (ranks >= most.first) most = {ranks, note.number};
  }
  return most.second;
}

void HierarchicalCollective::go_on_with_another_length() {
  lengths_differ_ = true;
  // The same on all ranks of the node, and on those that call with that length.
  const std::int64_t bytes = most_common_length();
  const std::int64_t element_bytes = bytes % word_bytes == 0 ? word_bytes : 1;
  const std::int64_t elements = bytes / element_bytes;
  scratch_.resize(static_cast<std::size_t>((bytes + element_bytes) * parts_.members.size()));
  const auto begun = [&](std::int64_t length) {
    Call call;
    call.collective = collective_;
    call.input = call.output = scratch_.data();
    call.elements = length;
    call.element_bytes = element_bytes;
    // Nobody reads memory of others, who may have shown none.
    std::unique_ptr<NodeRounds> rounds =
        make_node_rounds(hierarchy_.layout(), memory_->staging(), nullptr, parts_.members.rank(), std::move(call));
    rounds->begin(0, memory_->half(round_number_));
    return rounds;
  };
  const std::unique_ptr<NodeRounds> usual = begun(elements);
  rounds_ = begun(elements > 1 ? elements - 1 : elements + 1);
  if (rounds_->count() != usual->count() || rounds_->outline().leaders != usual->outline().leaders) {
    rounds_ = begun(elements + 1);
  }
  list_stages_of_round();
}

bool HierarchicalCollective::perform(Work work) {
  switch (work) {
    case Work::copy_in:
      memory_bytes_ += rounds_->copy_in();
      return true;
    case Work::compare:
      if (sees_other_length()) go_on_with_another_length();
      return true;
    case Work::reduce_domain:
      memory_bytes_ += rounds_->reduce_domain();
      return true;
    case Work::reduce_node:
      memory_bytes_ += rounds_->reduce_node();
      return true;
    case Work::reduce_alone:
      memory_bytes_ += rounds_->reduce_alone();
      return true;
    case Work::copy_own_sum:
      memory_bytes_ += rounds_->copy_own_sum();
      return true;
    case Work::read_neighbours:
      return read_neighbours();
    case Work::copy_out:
      memory_bytes_ += rounds_->copy_out();
      return true;
    case Work::move:  // there was nothing to move
    case Work::end:
      break;
  }
  return true;
}

bool HierarchicalCollective::read_neighbours() {
  const std::optional<std::int64_t> moved = rounds_->read_neighbours(shown(), memory_->phases().signs_of_life());
  if (!moved) log(LogLevel::error, "a collective fails: a rank's memory cannot be read");
  memory_bytes_ += moved.value_or(0);
  return moved.has_value();
}

void HierarchicalCollective::record_end() {
  CommunicatorRecord* const record = parts_.members.record();
  if (record != nullptr) record->count_node_memory(collective_, memory_bytes_, vector_bytes_);
}

bool HierarchicalCollective::settle() {
  if (sequence_.settled) return true;
  if (!parts_.sequence.settles(sequence_, persistent_.get())) return false;
  parts_.sequence.settle(collective_, sequence_, plan_, persistent_.get());
  return true;
}

bool HierarchicalCollective::begin_slice() {
  SliceMove move = rounds_->move();
  if (move.empty) return false;
  // A call of several rounds would have peers of both kinds.
  if (rounds_->count() == 1 && !parts_.sequence.is_mended(sequence_) &&
      parts_.direct.moves(move.call, persistent_.get())) {
    slice_ = &direct_slice_.emplace(parts_, move.call);
  } else {
    slice_ = &planned_slice_.emplace(parts_, std::move(move.call), plan_, std::move(move.shape), tuning_, persistent_);
  }
  slices_begun_ = true;
  slice_->begin();
  return true;
}

bool HierarchicalCollective::end_slice() {
  slice_->advance();
  if (!slice_->over()) return false;
  if (slice_->failed()) {
    abandon();
    return false;
  }
  lengths_differ_ = lengths_differ_ || slice_->lengths_differ();
  largest_message_bytes_ = std::max(largest_message_bytes_, slice_->largest_message_bytes());
  slice_ = nullptr;
  end_stage();
  return true;
}

void HierarchicalCollective::end_stage() {
  if (stage().published != 0) memory_->phases().post(stage().published);
  ++stages_done_;
  if (++stage_ < stages_.size()) return;
  stages_.clear();
  stage_ = 0;
  ++round_;
  if (!over()) return;
  leave();
  record_end();
}

void HierarchicalCollective::leave() noexcept {
  std::vector<HierarchicalCollective*>& calls = memory_->calls();
  calls.erase(std::remove(calls.begin(), calls.end(), this), calls.end());
}

void HierarchicalCollective::abandon() noexcept {
  if (over()) return;
  if (slice_) slice_->abandon();
  failed_ = true;
  leave();
  memory_->fail();
  memory_->abandon();
  parts_.members.note_failure(persistent_.get());
}

std::span<const PeerId> HierarchicalCollective::peers() const {
  if (direct_slice_) return direct_slice_->peers();
  return plan_ == nullptr ? std::span<const PeerId>() : plan_->peers;
}

bool HierarchicalCollective::rests() const { return over() || !memory_->calls().front()->slice_; }

int HierarchicalCollective::milliseconds_to_next_advance() const {
  if (over() || !has_turn()) return std::numeric_limits<int>::max();
  return slice_ ? slice_->milliseconds_to_next_advance() : milliseconds_between_looks;
}

bool HierarchicalCollective::exchange_signs_of_life() noexcept {
  Phases& phases = memory_->phases();
  phases.signs_of_life().fetch_add(1, std::memory_order_relaxed);
  if (over() || !has_turn()) return false;
  const std::uint32_t missing = slice_ || stages_.empty() ? 0 : phases.signs_of_missing(stage().awaited);
  return std::exchange(signs_seen_, stages_done_ + missing) != stages_done_ + missing;
}

bool HierarchicalCollective::wait_for_neighbours(ProgressHook hook) {
  Runtime& runtime = parts_.members.runtime();
  NodeWait wait(runtime, hook, [this] { return in_words(); });
  for (std::unique_lock guard(runtime.lock());; guard.lock()) {
    advance_all_to_this();
    if (over() || !rests()) return !failed_;
    const Awaited awaited = memory_->calls().front()->stage().awaited;
    const bool has_messages = hierarchy_.leads() || runtime.engine().has_unattended();
    guard.unlock();
    if (!wait.wait(memory_->phases(), awaited, has_messages)) return false;
  }
}

std::string HierarchicalCollective::in_words() const {
  const HierarchicalCollective& first = *memory_->calls().front();
  if (first.slice_) return first.slice_->in_words();
  const std::string call = parts_.members.in_words(collective_, static_cast<std::uint32_t>(round_));
  return call + "waits for other ranks of its node, " +
         parts_.members.hosts()[static_cast<std::size_t>(parts_.members.rank())];
}

bool HierarchicalCollective::drive(ProgressHook hook) {
  hook.signs_of_life = &memory_->phases().signs_of_life();
  while (wait_for_neighbours(hook)) {
    if (over() && !slices_begun_) return true;
    if (!parts_.members.runtime().engine().drive(*this, hook, [this] { return in_words(); })) break;
    slices_begun_ = false;
    if (over()) return true;
  }
  if (hook.waits_in_vain()) return false;
  log(LogLevel::error, "a collective fails: a rank of this node gave up, or gave no sign of life for " +
                           std::to_string(parts_.members.runtime().config().timeout_seconds) + " s");
  return false;
}

}  // namespace libcoll::comm

#include "libcoll/recover/replan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "libcoll/base/calls.h"
#include "planner/base/index.h"

namespace libcoll::recover {

using namespace schedule;
using namespace topology;
using namespace transport;

namespace {

/// Calls of the same number have messages of lower ones, and so have the exchanges of TransportHost.
constexpr std::uint32_t first_message = 3U << 22U;

/// A row of numbers as bytes, and back.
class Words {
 public:
  void add(std::uint64_t word) {
    const auto bytes = std::as_bytes(std::span(&word, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void add(const Starts& map) {
    add(static_cast<std::uint64_t>(map.size()));
    for (const auto& [key, value] : map) {
      add(key);
      add(value);
    }
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class WordReader {
 public:
  explicit WordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool at_end() const { return bytes_.size() < sizeof(std::uint64_t); }
  std::uint64_t word() {
    std::uint64_t value = 0;
    if (at_end()) return value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  Starts map() {
    Starts result;
    for (std::uint64_t left = word(); left > 0 && !at_end(); --left) {
      const std::uint64_t key = word();
      result[key] = word();
    }
    return result;
  }

 private:
  std::span<const std::byte> bytes_;
};

std::vector<std::byte> packed(const Standing& standing) {
  Words words;
  words.add(standing.calls);
  words.add(standing.wanted);
  words.add(standing.started);
  return words.take();
}

std::vector<std::byte> packed(const Switch& agreed) {
  Words words;
  words.add(agreed.call);
  words.add(agreed.collectives);
  words.add(agreed.starts);
  words.add(agreed.changes);
  words.add(agreed.links_gone ? 1 : 0);
  words.add(agreed.next_look);
  for (const int parent : agreed.parents) words.add(static_cast<std::uint64_t>(parent));
  return words.take();
}

std::vector<Standing> unpacked_standings(std::span<const std::byte> bytes) {
  std::vector<Standing> ranks;
  for (WordReader reader(bytes); !reader.at_end();) {
    Standing& rank = ranks.emplace_back();
    rank.calls = reader.word();
    rank.wanted = static_cast<std::uint32_t>(reader.word());
    rank.started = reader.map();
  }
  return ranks;
}

Switch unpacked_switch(std::span<const std::byte> bytes) {
  WordReader reader(bytes);
  Switch agreed;
  agreed.call = reader.word();
  agreed.collectives = static_cast<std::uint32_t>(reader.word());
  agreed.starts = reader.map();
  agreed.changes = static_cast<std::uint32_t>(reader.word());
  agreed.links_gone = reader.word() != 0;
  agreed.next_look = reader.word();
  while (!reader.at_end()) agreed.parents.push_back(static_cast<int>(reader.word()));
  return agreed;
}

}  // namespace

Switch agreed_switch(std::span<const Standing> ranks) {
  Switch agreed;
  for (const Standing& rank : ranks) {
    agreed.call = std::max(agreed.call, rank.calls);
    for (const auto& [init, starts] : rank.started) {
      std::uint64_t& most = agreed.starts[init];
      most = std::max(most, starts);
    }
  }
  // Who has begun the init and has no such call any more has freed it; the others still have it to begin.
  std::erase_if(agreed.starts, [ranks](const auto& each) {
    return std::any_of(ranks.begin(), ranks.end(), [&](const Standing& rank) {
      return rank.calls > each.first && !rank.started.contains(each.first);
    });
  });
  return agreed;
}

Replan::Replan(ReplanParticipant& party, Transport& transport, std::vector<TreePlace> places, int self, NodeId nodes,
               std::int64_t piece_bytes, std::function<TagSpace()> tags)
    : party_(party),
      transport_(transport),
      places_(std::move(places)),
      self_(self),
      nodes_(nodes),
      piece_bytes_(piece_bytes),
      tags_(std::move(tags)) {
  for (std::size_t other = 0; other < places_.size(); ++other) {
    if (places_[other].parent == self_) children_.push_back(static_cast<int>(other));
  }
}

void Replan::advance() {
  while (!over() && !failed_ && waiting_ == 0) {
    const Stage before = stage_;
    next();
    if (stage_ == before && stage_ == Stage::idle) return;  // nothing to say now
  }
}

void Replan::next() {
  completions_.clear();
  const int parent = places_[at(self_)].parent;
  switch (stage_) {
    case Stage::idle:
      if (leads()) {
        if (!decide()) return;
        stage_ = Stage::informed;
      } else {
        stage_ = Stage::ordered;
      }
      space_ = tags_();
      down_ = 0;
      up_.assign(children_.size(), 0);
      if (!leads()) receive(parent, down_, &order_, sizeof order_);
      return;
    case Stage::ordered:
      stage_ = Stage::informed;
      body_.resize(order_.bytes);
      receive_pieces(parent, down_, body_);
      return;
    case Stage::informed:
      stage_ = Stage::obeyed;
      for (const int child : children_) {
        std::uint32_t number = 0;
        send(child, number, &order_, sizeof order_);
        send_pieces(child, number, body_);
      }
      return obey();
    case Stage::obeyed:
      if (!is_answered()) return end_order();
      stage_ = Stage::answered;
      answers_.assign(children_.size(), {});
      for (std::size_t i = 0; i < children_.size(); ++i) receive(children_[i], up_[i], &answers_[i], sizeof(Answer));
      return;
    case Stage::answered:
      stage_ = Stage::heard;
      answer_bodies_.assign(children_.size(), {});
      for (std::size_t i = 0; i < children_.size(); ++i) {
        answer_bodies_[i].resize(answers_[i].bytes);
        receive_pieces(children_[i], up_[i], answer_bodies_[i]);
      }
      return;
    case Stage::heard: {
      stage_ = Stage::told;
      for (const Answer& answer : answers_) own_.good = own_.good != 0 && answer.good != 0 ? 1 : 0;
      for (const auto& body : answer_bodies_) own_body_.insert(own_body_.end(), body.begin(), body.end());
      own_.bytes = own_body_.size();
      if (leads()) return conclude();
      std::uint32_t number = 0;
      send(parent, number, &own_, sizeof own_);
      send_pieces(parent, number, own_body_);
      return;
    }
    case Stage::told:
      return end_order();
    case Stage::over:
      return;
  }
}

void Replan::end_order() { stage_ = order_.word == Word::go ? Stage::over : Stage::idle; }

bool Replan::give(Word word, std::uint32_t collective, std::vector<std::byte> body) {
  body_ = std::move(body);
  order_ = {word, collective, body_.size()};
  return true;
}

bool Replan::decide() {
  // The answers to the last order are in.
  if (order_.word == Word::hold) {
    if ((asked_ & ~considered_) != 0) return give(Word::release);
    party_.add_findings(agreed_);
    return give(Word::go, 0, packed(agreed_));
  }
  if (!party_.must_switch()) {
    party_.add_findings(agreed_);
    return give(Word::go, 0, packed(agreed_));
  }
  asked_ |= party_.wanted();
  for (std::uint32_t each = 0; each < collective_count; ++each) {
    if ((asked_ & ~considered_ & 1U << each) == 0) continue;
    std::string text;
    const auto making = party_.make_plan(static_cast<Collective>(each), text);
    if (making == ReplanParticipant::Making::under_way) return false;
    considered_ |= 1U << each;
    if (making == ReplanParticipant::Making::none) continue;
    const auto bytes = std::as_bytes(std::span(text));
    return give(Word::plan, each, {bytes.begin(), bytes.end()});
  }
  return give(Word::hold);
}

void Replan::obey() {
  own_ = {};
  own_body_.clear();
  switch (order_.word) {
    case Word::plan: {
      const auto* text = reinterpret_cast<const char*>(body_.data());
      own_.good = party_.take_plan(static_cast<Collective>(order_.collective), {text, body_.size()}) ? 1 : 0;
      return;
    }
    case Word::hold: {
      const Standing own = party_.hold();
      own_body_ = packed(own);
      return;
    }
    case Word::release:
      return party_.release();
    case Word::go:
      return party_.switch_over(unpacked_switch(body_));
  }
}

void Replan::conclude() {
  if (order_.word == Word::plan && own_.good != 0) accepted_ |= 1U << order_.collective;
  if (order_.word != Word::hold) return;
  const std::vector<Standing> ranks = unpacked_standings(own_body_);
  for (const Standing& rank : ranks) asked_ |= rank.wanted;
  agreed_ = agreed_switch(ranks);
  agreed_.collectives = accepted_;
}

std::uint64_t Replan::tag(int from, int to, std::uint32_t number) const {
  const bool between_nodes = places_[at(from)].node != places_[at(to)].node;
  return space_->tag(between_nodes ? places_[at(from)].node : nodes_ + from, first_message | number);
}

Completion& Replan::start() {
  ++waiting_;
  return completions_.emplace_back(Completion{this, 0, 0});
}

void Replan::count(Posted posted) {
  if (posted != Posted::pending) completed(0, posted == Posted::done);
}

void Replan::completed(std::uint32_t, bool ok) noexcept {
  --waiting_;
  failed_ = failed_ || !ok;
}

void Replan::send(int to, std::uint32_t& number, const void* data, std::size_t bytes) {
  Completion& completion = start();
  count(transport_.send(places_[at(to)].peer, tag(self_, to, number++), data, bytes, &completion));
}

void Replan::receive(int from, std::uint32_t& number, void* data, std::size_t bytes) {
  Completion& completion = start();
  count(transport_.receive(0, tag(from, self_, number++), data, bytes, &completion));
}

void Replan::send_pieces(int to, std::uint32_t& number, std::span<const std::byte> data) {
  for (; !data.empty(); data = data.subspan(std::min(data.size(), at(piece_bytes_)))) {
    send(to, number, data.data(), std::min(data.size(), at(piece_bytes_)));
  }
}

void Replan::receive_pieces(int from, std::uint32_t& number, std::span<std::byte> data) {
  for (; !data.empty(); data = data.subspan(std::min(data.size(), at(piece_bytes_)))) {
    receive(from, number, data.data(), std::min(data.size(), at(piece_bytes_)));
  }
}

}  // namespace libcoll::recover

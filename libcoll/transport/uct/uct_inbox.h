// Tagged messages out of active messages: what arrives in fragments is matched with what is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "libcoll/transport/transport.h"

namespace libcoll::transport::uct {

/// What every fragment starts with, in the byte order of the machine. One sender's fragments of one route class come
/// in the order of `sequence`, those of a message one after the other; a transport may bring one twice.
struct FragmentHeader {
  std::uint64_t sender = 0;  ///< drawn at random by each process
  std::uint64_t tag = 0;
  std::uint64_t length = 0;  ///< bytes of the whole message
  std::uint64_t offset = 0;  ///< of this fragment's bytes in it
  std::uint32_t sequence = 0;
  std::uint32_t route_class = 0;
};
static_assert(sizeof(FragmentHeader) == 40, "the same on all ranks");

/// Messages that are complete and whose waiters are still to be told.
class FinishedMessages {
 public:
  void add(Completion* completion, bool ok) { entries_.push_back({completion, ok}); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  /// Tells the waiters, who may add more; those wait for the next call. Returns whether there were any.
  bool deliver();

 private:
  struct Entry {
    Completion* completion = nullptr;
    bool ok = false;
  };
  std::vector<Entry> entries_;
  std::vector<Entry> delivering_;
};

/// Matches receives and arriving messages by (route class, tag), first come first served, and puts messages together.
class UctInbox {
 public:
  explicit UctInbox(FinishedMessages& finished) : finished_(finished) {}

  /// As Transport::receive().
  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes, Completion* completion);
  /// Takes one fragment, header and payload. What does not fit in anywhere is dropped.
  void arrived(const void* fragment, std::size_t bytes);
  /// Messages, whole or in part, that nobody has asked for yet.
  [[nodiscard]] std::size_t unexpected() const { return unexpected_.size(); }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;        ///< route class, tag
  using StreamKey = std::pair<std::uint64_t, std::uint32_t>;  ///< sender, route class
  struct Waiting {
    void* data = nullptr;
    std::size_t bytes = 0;
    Completion* completion = nullptr;
  };
  /// A message of which some fragments have come.
  struct Message {
    std::size_t length = 0;
    std::size_t received = 0;
    bool spoilt = false;                   ///< some of it will never come
    std::byte* target = nullptr;           ///< nullptr: its bytes are thrown away
    std::unique_ptr<std::byte[]> storage;  ///< NOLINT(modernize-avoid-c-arrays): while nobody waits for it
    Completion* completion = nullptr;      ///< of who waits for it
  };
  struct Stream {
    std::uint32_t next_sequence = 0;
    std::shared_ptr<Message> current;  ///< not complete yet
  };

  std::shared_ptr<Message> begin(const FragmentHeader& header);
  void give_up(Stream& stream);

  FinishedMessages& finished_;
  std::multimap<Key, Waiting> waiting_;
  std::multimap<Key, std::shared_ptr<Message>> unexpected_;
  std::map<StreamKey, Stream> streams_;
};

}  // namespace libcoll::transport::uct

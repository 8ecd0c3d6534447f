// What the executor needs of a network: tagged messages between processes, completion, and waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/base/result.h"

namespace libcoll::transport {

/// Up to this length, what goes through memory of the host and is reduced there best goes as one message: longer ones
/// than over links, as nothing is forwarded while the processor copies, and each has costs of its own.
inline constexpr std::int64_t most_memory_segment_bytes = std::int64_t{512} * 1024;

/// The same of what is not reduced: the receiver reads it in the sender's memory, by one system call for each message.
inline constexpr std::int64_t most_read_segment_bytes = std::int64_t{4} * 1024 * 1024;

/// Index of a connected process in one Transport.
using PeerId = std::int32_t;

/// Told of every message that did not complete while it was posted.
class Waiter {
 public:
  /// `index` is the Completion's. `ok` is false when the transport gave the message up or its length was not
  /// the posted one. Called from Transport::progress().
  virtual void completed(std::uint32_t index, bool ok) noexcept = 0;

 protected:
  ~Waiter() = default;
};

/// Where messages come from or go to that are sent or received piece by piece. `index` is the Completion's, and `piece`
/// the transport's memory for bytes of the message from `offset` on. Called from Transport::progress() and from where
/// the message is posted, before its waiter is.
class Pieces {
 public:
  virtual void give(std::uint32_t index, std::size_t offset, std::span<std::byte> piece) noexcept = 0;
  virtual void take(std::uint32_t index, std::size_t offset, std::span<const std::byte> piece) noexcept = 0;

 protected:
  ~Pieces() = default;
};

/// Whom to tell; must stay in place until then.
struct Completion {
  Waiter* waiter = nullptr;
  std::uint32_t index = 0;
  std::size_t bytes = 0;                 ///< the transport's: length posted
  Pieces* pieces = nullptr;              ///< the transport's
  std::uint32_t* outstanding = nullptr;  ///< the transport's: operations of the same route class
  /// Of a receive that failed: a message came, of another length than posted. The transport is as good as before.
  bool other_length = false;
};

/// Before completions are used again.
inline void forget_lengths(std::span<Completion> completions) {
  for (Completion& completion : completions) completion.other_length = false;
}

/// A flush under way; one per caller, starting out default.
struct Flush {
  bool started = false;
  std::vector<void*> requests;  ///< the transport's
  std::int64_t started_at = 0;  ///< the transport's
};

enum class Posted : std::uint8_t {
  done,     ///< complete already; the waiter is not called
  pending,  ///< the waiter will be called
  failed,   ///< not posted; the waiter is not called
};

/// Point-to-point messages of one process. Calls are serialised by the caller (one lock around posting,
/// progress and arming); block() may run beside them. What block() shares with them is without locks: Nap, and in
/// libfabric's and UCT's transports a flag of arm(). Registered memory shares UnmapWatch's count with threads that
/// unmap.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Opaque address of this process, for connect() elsewhere. At most `max_address_bytes` long.
  [[nodiscard]] virtual const std::string& address() const = 0;
  /// How many route classes messages can be steered through, 0 (the fabric's default routing) included. Equal on all
  /// ranks that share a route binding.
  [[nodiscard]] virtual std::int32_t route_classes() const { return 1; }
  /// The peer with that address by way of that class, below route_classes(); the same arguments give the same peer
  /// again.
  virtual Result<PeerId> connect(const std::string& address, std::int32_t route_class) = 0;

  /// Sends `bytes` bytes. The buffer may be reused when the message is complete.
  virtual Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
                      Completion* completion) noexcept = 0;
  /// Receives exactly `bytes` bytes sent with that tag (tags name the sender too) through that class. The waiter may
  /// be called before this returns `pending`.
  virtual Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                         Completion* completion) noexcept = 0;
  /// Whether the next two work: send() and receive() with memory that never becomes the transport's, and that can
  /// therefore be taken away from a message that does not come to an end.
  [[nodiscard]] virtual bool takes_pieces() const { return false; }
  virtual Posted send_pieces(PeerId, std::uint64_t, Pieces&, std::size_t, Completion*) noexcept {
    return Posted::failed;
  }
  virtual Posted receive_pieces(std::int32_t, std::uint64_t, Pieces&, std::size_t, Completion*) noexcept {
    return Posted::failed;
  }
  /// Whether processes with these addresses reach each other through memory of one host, by every route class. It
  /// follows from the addresses alone: all ranks that know them come to the same answer.
  [[nodiscard]] virtual bool share_memory(const std::string&, const std::string&) const { return false; }
  /// Whether messages to and from that peer, which is connected, go through memory of one host.
  [[nodiscard]] virtual bool is_by_memory(PeerId) const noexcept { return false; }
  /// send() that had better be copied through the transport's memory where the peer is_by_memory(): it may receive in
  /// pieces.
  virtual Posted send_by_copy(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
                              Completion* completion) noexcept {
    return send(peer, tag, data, bytes, completion);
  }
  /// Moves messages along; returns whether anything happened.
  virtual bool progress() noexcept = 0;
  /// Messages up to this size have left the process once they are complete: they are sent without asking the receiver,
  /// and fit into what a socket buffers. A flush can then be left out, which may cost a message to every peer and back.
  [[nodiscard]] virtual std::int64_t unflushed_bytes() const { return 16 * 1024; }
  /// Starts a flush towards these peers (negative entries are none) on the first call; true once nothing is held back
  /// in this process that one of them waits for, acknowledgements of what it sent us included. Over tcp it also
  /// waits for the peers to answer, which they do in their own progress().
  virtual bool flushed(Flush& flush, std::span<const PeerId> peers) noexcept = 0;
  /// Gives up waiting for a flush that was started; what it waited for goes on as progress() is called.
  virtual void abandon(Flush& flush) noexcept { flush = {}; }
  /// Nothing that is sent to that peer arrives any more, and the process is about to end: the destructor shall not wait
  /// until it has said goodbye, and may leave to the operating system what that would take.
  virtual void forsake(PeerId) noexcept {}
  /// Whether the connection to one of these peers (negative entries are none) is gone: what it would have sent does not
  /// come any more, and nobody else will say so. Never where messages are sent again.
  [[nodiscard]] virtual bool has_broken(std::span<const PeerId>) const noexcept { return false; }
  /// Asks for block() to be woken by what comes from now on. False when something has come already: progress first.
  virtual bool arm() noexcept { return true; }
  /// Sleeps until something may have happened since arm(), at most `timeout_milliseconds`.
  virtual void block(int timeout_milliseconds) noexcept = 0;
};

inline constexpr std::size_t max_address_bytes = 16384;

}  // namespace libcoll::transport

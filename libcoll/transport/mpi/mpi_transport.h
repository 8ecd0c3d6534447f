// The third transport: the program's own MPI, by point-to-point messages on private communicators. Always there, not
// steered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "libcoll/transport/transport.h"

namespace libcoll::transport::mpi {

/// A process as a private communicator (a channel) knows it.
struct MpiPlace {
  std::int32_t channel = 0;  ///< which communicator, 0, 1, … in the order they were made
  std::int32_t rank = 0;     ///< in it
};

/// An operation that is over.
struct MpiFinished {
  std::uint32_t token = 0;
  bool ok = false;
  std::int32_t source = 0;  ///< of a receive: rank in its channel
  std::size_t bytes = 0;    ///< of a receive: received
};

/// What the transport needs of MPI. Supplied by who knows its symbols. Calls are serialised by the caller.
class MpiMessages {
 public:
  virtual ~MpiMessages() = default;
  /// This process in MPI_COMM_WORLD.
  [[nodiscard]] virtual std::int32_t world_rank() const = 0;
  /// How many private communicators there are so far; there will be no fewer later.
  [[nodiscard]] virtual std::int32_t channels() const = 0;
  /// Where a process of MPI_COMM_WORLD is reached, the same every time; nothing when no channel has it.
  [[nodiscard]] virtual std::optional<MpiPlace> place_of(std::int32_t world_rank) const = 0;
  /// Starts a send of bytes; a synchronous one is over only when the receiver has matched it. `finished()` will tell of
  /// the token. False when MPI refused.
  virtual bool send(MpiPlace to, std::int32_t tag, const void* data, std::size_t bytes, bool synchronous,
                    std::uint32_t token) = 0;
  /// Starts a receive of at most `bytes` bytes, from any process of the channel when the rank is negative.
  virtual bool receive(MpiPlace from, std::int32_t tag, void* data, std::size_t bytes, std::uint32_t token) = 0;
  /// Moves MPI along and fills in operations that are over, each once; how many.
  virtual std::size_t finished(std::span<MpiFinished> list) = 0;
};

/// One route class. Addresses are decimal ranks in MPI_COMM_WORLD. `messages` must outlive the transport, which makes
/// no calls in its destructor.
///
/// Our tags have 64 bits, MPI's at least 15. So a message travels as a header (tag, length) under MPI's tag 0, into one
/// of a few receives that are always posted for any source, and is matched here. A short message's data follow in the
/// header's message. A long one's are sent at once, synchronously, under a tag from 1 to 32767 that the header names;
/// the receiver posts the receive for it, straight into the user's buffer, when header and receive have met. A tag is
/// used again only after MPI has completed that synchronous send, hence matched it: at no time are there two unmatched
/// messages with one tag between two processes, and no message can meet another's receive. What is too much for the
/// tags there are waits for one.
std::unique_ptr<Transport> make_mpi_transport(MpiMessages& messages);

}  // namespace libcoll::transport::mpi

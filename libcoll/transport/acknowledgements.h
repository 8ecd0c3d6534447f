// What this process has received and owes the senders a confirmation for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "libcoll/transport/packet_router.h"
#include "libcoll/transport/recovery_directory.h"
#include "libcoll/transport/resend_core.h"

namespace libcoll::transport {

/// What goes out now says what was received.
void confirmed_all(Stream& stream);

/// All that was received out of order, as far as there is room in a small packet.
void list_beyond(const Stream& stream, std::vector<std::uint64_t>& list);

class Acknowledgements {
 public:
  enum class Haste : std::uint8_t { little, now };

  Acknowledgements(ResendCore& core, RecoveryDirectory& directory, PacketRouter& router)
      : core_(core), directory_(directory), router_(router) {}

  /// Whether it is new.
  bool note_received(Stream& stream, std::uint64_t sequence, std::size_t bytes);
  /// The stream owes something: it is paid by pay_debts().
  void note_debtor(RecoveryGroupState& state, Stream& stream);
  /// Sends what was received, and that `sequence` was (0: none in particular).
  void acknowledge(RecoveryGroupState& state, Stream& stream, std::uint64_t sequence, const HostPath& path,
                   std::int32_t route_class = -1);
  void pay(RecoveryGroupState& state, Stream& stream);
  /// Those that are due.
  void pay_debts(Haste haste);

 private:
  [[nodiscard]] bool due(const Stream& stream, Haste haste) const;

  ResendCore& core_;
  RecoveryDirectory& directory_;
  PacketRouter& router_;
  std::vector<std::pair<RecoveryGroupState*, Stream*>> debtors_;
};

}  // namespace libcoll::transport

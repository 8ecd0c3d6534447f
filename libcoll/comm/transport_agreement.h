// One transport for all ranks of a communicator, where not every rank can have the one it would take by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "libcoll/observe/statistics.h"

namespace libcoll::comm {

class HostCommunicator;
class Runtime;

/// The same on all ranks.
struct TransportAgreement {
  std::optional<observe::Reason> obstacle;  ///< nothing: all have the same
  std::size_t longest_address_bytes = 0;
  std::int64_t longest_opening_nanoseconds = 0;
};

/// Collective over `host`; opens the transport. Ranks that took theirs by availability (Runtime::transport_choice())
/// take a later one when another of these ranks had to, unless they have put theirs to use elsewhere.
TransportAgreement agree_on_transport(Runtime& runtime, HostCommunicator& host);

}  // namespace libcoll::comm

// One transport for all ranks of a communicator, where not every rank can have the one it would take by itself.
#pragma once

namespace libcoll::comm {

class HostCommunicator;
class Runtime;

/// Collective over `host`, before anything else is agreed. Ranks that took their transport by availability
/// (Runtime::transport_choice()) take a later one when another of these ranks had to, unless they have put theirs to
/// use elsewhere. Whether all have the same in the end is for them to compare.
void agree_on_transport(Runtime& runtime, HostCommunicator& host);

}  // namespace libcoll::comm

// The collectives libcoll serves, with MPI's arguments in C form.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "libcoll/comm/communicator.h"
#include "libcoll/observe/figures.h"
#include "libcoll/serve/blocks.h"
#include "libcoll/serve/fall_through_cache.h"
#include "libcoll/serve/mpi.h"

/// Takes the parentheses off a list.
#define LIBCOLL_LIST(...) __VA_ARGS__

namespace libcoll::serve {

/// What a persistent call knows from its init on.
struct Persistence {
  bool planned = false;                              ///< the init is over
  std::optional<observe::Reason> obstacle;           ///< why starts fall through, as agreed at the init
  std::int64_t bytes = observe::unknown_bytes;       ///< with an obstacle
  std::shared_ptr<comm::Communicator> communicator;  ///< these two without
  std::shared_ptr<comm::PersistentContext> context;
  std::vector<std::int64_t> counts;  ///< of an all-to-all of unequal blocks, as in Call
  HeldTypes send_types;              ///< these two where each block has a type
  HeldTypes receive_types;
};

/// Blocks whose lengths all ranks know, as many as the communicator has ranks.
struct KnownBlocks {
  Integers counts;  ///< not given: there are none
  std::int64_t element_bytes = 0;
};

/// How the program calls a collective.
struct CallContext {
  CallKind kind;
  MpiComm comm;
  MpiRequests request = {};            ///< where a nonblocking call's goes
  Persistence* persistence = nullptr;  ///< of a persistent call
  const CallKey* key = nullptr;        ///< by which it can be remembered
  /// Whether what the key has of datatypes means the same for good: none is of the program's making.
  bool has_lasting_types = false;
  bool order_matters = false;  ///< of a reduction: as Call has it
  bool calls_mpi = false;      ///< a reduction that MPI does
  KnownBlocks blocks = {};     ///< allgatherv, reduce_scatter

  /// Nothing is moved yet.
  [[nodiscard]] bool is_init() const { return persistence != nullptr && !persistence->planned; }
  [[nodiscard]] bool is_start() const { return persistence != nullptr && persistence->planned; }
  /// It may wait for the other ranks.
  [[nodiscard]] bool may_agree() const { return is_init() || !is_nonblocking(kind); }
};

/// serve_NAME for every entry point, of ints and of large counts: MPI's return code when libcoll served the call, or
/// has begun a nonblocking one; nothing when it is to fall through: the same on every rank of the communicator. No
/// exception leaves them. try_NAME: the same for all ways of calling a collective. The init of a persistent call says
/// here how its starts fare.
#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...) \
  std::optional<int> serve_##name parameters noexcept;                \
  std::optional<int> serve_i##name(LIBCOLL_LIST parameters, MpiRequests request) noexcept;
#include "pmpi/entry_points.def"
#define LIBCOLL_LARGE_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_LARGE_COUNTS
#undef LIBCOLL_ENTRY
#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...) \
  std::optional<int> try_##name(const CallContext& context, LIBCOLL_LIST parameters);
#define LIBCOLL_ANY_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_ANY_COUNTS
#undef LIBCOLL_ENTRY

/// Counts a blocking call that falls through as the remembered one did.
void count_again(const CachedFallThrough& cached) noexcept;

}  // namespace libcoll::serve

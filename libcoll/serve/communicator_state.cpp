#include "libcoll/serve/communicator_state.h"

#include <atomic>
#include <bit>
#include <string>
#include <vector>

#include "libcoll/base/log.h"
#include "libcoll/serve/fall_through_cache.h"
#include "libcoll/serve/mpi_host.h"
#include "libcoll/serve/mpi_messages.h"
#include "libcoll/serve/own_communicator.h"
#include "libcoll/serve/process.h"
#include "libcoll/serve/reentrancy_guard.h"
#include "libcoll/serve/serving.h"

namespace libcoll::serve {

using namespace comm;
using namespace observe;
using namespace schedule;

namespace {

int keyval = 0;  ///< of make_state_key()

/// A duplicate gets a state of its own, as every communicator does.
int copy_no_state(MpiComm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return mpi_success;
}

/// Of all communicators.
std::atomic<std::int64_t> open_wishes{0};

void forget_wishes(CommunicatorState& state) {
  open_wishes -= std::popcount(state.wishes);
  state.wishes = 0;
}

int delete_state(MpiComm, int, void* attribute, void*) {
  FallThroughCache::forget_all();  // its handle may come back for another one
  const std::unique_ptr<CommunicatorState> state(static_cast<CommunicatorState*>(attribute));
  forget_wishes(*state);
  if (state->own != mpi.comm_null) give_back_own_communicator(state->own);
  return mpi_success;
}

/// What all processes of the world have said decides for them alike, and they need not agree on anything.
std::optional<Reason> obstacle_in_world(const Runtime& process) {
  const std::optional<Presence>& presence = presence_in_world();
  if (!presence) return std::nullopt;
  if (!presence->absentees.empty()) return Reason::not_everywhere;
  if (presence->serves) return std::nullopt;
  return process.obstacle().value_or(Reason::no_topology);
}

/// What a process knows of a communicator by itself.
std::unique_ptr<CommunicatorState> make_state(Runtime& process, MpiComm comm) {
  auto state = std::make_unique<CommunicatorState>();
  int inter = 0;
  mpi.comm_test_inter(comm, &inter);
  const MpiHost host(comm);
  if (inter != 0) {
    state->obstacle = Reason::inter_communicator;
  } else if (host.size() == 1) {
    state->obstacle = Reason::single_rank;
  } else {
    state->obstacle = obstacle_in_world(process);
  }
  if (!state->obstacle) return state;
  if (host.rank() == 0) {
    log(LogLevel::info, host.name() + ": falls through, " + std::string(to_string(*state->obstacle)));
  }
  return state;
}

void open_record(Runtime& process, MpiComm comm, CommunicatorState& state) {
  if (!process.keeps_records()) return;
  const std::vector<int> members = PrivateMessages::world_ranks_of(comm);
  state.record = &process.statistics().open(MpiHost(comm).name(), members);
}

CommunicatorState* find_or_make_state(Runtime& process, MpiComm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (mpi.comm_get_attr(comm, keyval, &attribute, &found) != mpi_success) return nullptr;
  if (found != 0) return static_cast<CommunicatorState*>(attribute);
  std::unique_ptr<CommunicatorState> state = make_state(process, comm);
  open_record(process, comm, *state);
  if (mpi.comm_set_attr(comm, keyval, state.get()) != mpi_success) return nullptr;
  return state.release();
}

}  // namespace

bool make_state_key() {
  keyval = mpi.keyval_invalid;
  return mpi.comm_create_keyval(&copy_no_state, &delete_state, &keyval, nullptr) == mpi_success;
}

CommunicatorState* known_state(Runtime& process, MpiComm comm) {
  // Looking an attribute up takes MPI longer than all the rest of a call that falls through.
  struct Recent {
    MpiComm comm;
    CommunicatorState* state;
    std::uint64_t as_of;
  };
  static constinit thread_local Recent recent{};
  const std::uint64_t now = FallThroughCache::now();
  if (recent.comm == comm && recent.as_of == now && recent.state != nullptr) return recent.state;
  CommunicatorState* state = find_or_make_state(process, comm);
  recent = {comm, state, now};
  return state;
}

CommunicatorRecord& record_of(Runtime& process, MpiComm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (comm != mpi.comm_null && mpi.comm_get_attr(comm, keyval, &attribute, &found) == mpi_success && found != 0) {
    CommunicatorRecord* record = static_cast<CommunicatorState*>(attribute)->record;
    if (record != nullptr) return *record;
  }
  return process.statistics().elsewhere();
}

CommunicatorState* state_of(Runtime& process, MpiComm comm) {
  CommunicatorState* state = known_state(process, comm);
  if (state != nullptr && state->communicator == nullptr && !state->obstacle) {
    MpiHost host(comm);
    state->communicator = Communicator::make(process, host);
    state->communicator->keep_record(state->record);
    FallThroughCache::forget_all();  // calls from before are not shown to it
  }
  return state;
}

void wish(CommunicatorState& state, Collective collective) {
  const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(collective));
  if ((state.wishes & bit) != 0) return;
  state.wishes = static_cast<std::uint8_t>(state.wishes | bit);
  ++open_wishes;
  FallThroughCache::forget_all();  // the next blocking call fulfils it, also one that falls through
}

void fulfil_wishes(CommunicatorState& state, MpiComm comm) {
  if (state.wishes == 0) return;
  MpiHost host(comm);
  std::uint8_t left = 0;
  for (std::size_t each = 0; each < collective_count; ++each) {
    if ((state.wishes >> each & 1U) == 0) continue;
    const std::optional<Reason> answer = state.communicator->ready(static_cast<Collective>(each), true, host);
    if (is_provisional(answer)) left = static_cast<std::uint8_t>(left | 1U << each);
  }
  forget_wishes(state);
  state.wishes = left;
  open_wishes += std::popcount(left);
}

bool has_wishes() noexcept { return open_wishes.load(std::memory_order_relaxed) != 0; }

void before_barrier(MpiComm comm) noexcept {
  // Wishes are the same on all ranks of a communicator, so those that have none elsewhere need not look.
  if (!has_wishes() || !ReentrancyGuard::is_outside()) return;
  const ReentrancyGuard reentrancy;
  Runtime* process = runtime();
  if (process == nullptr || comm == mpi.comm_null) return;
  guarded(comm, [&]() -> std::optional<int> {
    const CommunicatorState* known = known_state(*process, comm);
    if (known == nullptr || known->wishes == 0) return std::nullopt;
    CommunicatorState* state = state_of(*process, comm);
    fulfil_wishes(*state, comm);
    return std::nullopt;
  });
}

MpiComm own_of(MpiComm comm) {
  Runtime* process = runtime();
  CommunicatorState* state = process == nullptr ? nullptr : known_state(*process, comm);
  if (state == nullptr) return mpi.comm_null;
  if (state->own == mpi.comm_null) state->own = make_own_communicator(comm, process->engine().threads_may_call_mpi());
  return state->own;
}

}  // namespace libcoll::serve

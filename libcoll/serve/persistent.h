// Persistent collectives (MPI 4.0, section 6.13). The program holds MPI's own persistent request, made at the init,
// which also starts where libcoll does not serve. A start that is served is a nonblocking call with a request of its
// own, which the functions that complete requests get in place of the program's. Until MPI's own has started they get
// MPI_REQUEST_NULL in place of an inactive one, which is complete like it: MPICH 4.0 waits for ever for a collective's
// request that has never started.
//
// Who serves the starts is settled at the init, which may wait for the other ranks, for as long as the request lives:
// MPI lets the ranks start persistent calls in any order, so that nothing that changes later is the same on all of
// them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "libcoll/serve/blocks.h"
#include "libcoll/serve/reentrancy_guard.h"
#include "libcoll/serve/serve.h"

namespace libcoll::serve {

/// One persistent call, from its init until its request is freed.
class PersistentCall {
 public:
  PersistentCall(CallKind kind, MpiComm comm, std::weak_ptr<const bool> life)
      : kind_(kind), comm_(comm), life_(std::move(life)) {}

  /// Datatypes for as long as this lives: the program may free its own.
  template <class... Datatypes>
  void hold(Datatypes&... types) {
    ((types = held(types)), ...);
  }

  /// Settles how starts fare; collective. `serve` is a try_NAME() with its arguments.
  void plan(std::function<std::optional<int>(const CallContext&)> serve);
  /// MPI's code; nothing when MPI's own request is to be started.
  std::optional<int> start(comm::Runtime& process);

  /// For error handlers.
  [[nodiscard]] MpiComm comm() const { return life_.expired() ? mpi.comm_world : comm_; }
  /// The nonblocking call's request; MPI_REQUEST_NULL while this one is inactive.
  [[nodiscard]] MpiRequest under_way() const { return under_way_; }
  void set_under_way(MpiRequest request) { under_way_ = request; }
  /// MPI's own request starts: MPI knows from now on when it is complete.
  void start_by_mpi() { started_by_mpi_ = true; }
  /// Whether functions that complete requests get under_way() in place of the program's request.
  [[nodiscard]] bool is_replaced() const { return !started_by_mpi_ || under_way_ != mpi.request_null; }

 private:
  MpiDatatype held(MpiDatatype type);

  const CallKind kind_;
  const MpiComm comm_;
  const std::weak_ptr<const bool> life_;  ///< of the communicator, where it has one
  std::function<std::optional<int>(const CallContext&)> serve_;
  Persistence persistence_;
  std::vector<HeldType> types_;
  MpiRequest under_way_ = mpi.request_null;
  bool started_by_mpi_ = false;
};

using PersistentPointer = std::shared_ptr<PersistentCall>;

/// plan_NAME for every entry point: the call as its init has it; null where libcoll does nothing. Collective, and to be
/// called before MPI's own init. No exception leaves them.
#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...) PersistentPointer plan_##name parameters noexcept;
#include "pmpi/entry_points.def"
#define LIBCOLL_LARGE_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_LARGE_COUNTS
#undef LIBCOLL_ENTRY

/// `request` is MPI's own for the call.
void keep_persistent(const PersistentPointer& call, MpiRequest request) noexcept;

/// The numbers of requests that were kept, and of those that have another one in their place.
inline std::atomic<std::int64_t> persistent_kept{0};
inline std::atomic<std::int64_t> persistent_replaced{0};

/// Whether it is one of ours; then `code` is MPI's, or nothing when MPI's own request is to be started.
bool start_persistent(MpiRequest request, std::optional<int>& code) noexcept;
/// In place of a request: what is under way for it, MPI_REQUEST_NULL where nothing is, or itself.
MpiRequest in_place_of(MpiRequest request) noexcept;
/// A function of MPI's had `given`, in place of `request`, and left it as `left`, with that code.
void settle_persistent(MpiRequest request, MpiRequest given, MpiRequest left, int code) noexcept;
/// The program frees the request. What is under way goes on.
void forget_persistent(MpiRequest request) noexcept;
/// Before MPI ends.
void drop_persistent() noexcept;

/// Calls `function`, which completes requests, with `requests` pointing to a copy that has others in place of
/// persistent ones; what becomes of the rest goes back to the program. The function's code.
template <class Function>
int complete(int count, MpiRequests& requests, Function function) {
  const MpiRequests program = requests;
  if (count <= 0 || !program.given()) return function();
  const auto number = static_cast<std::size_t>(count);
  struct Exchanged {
    std::size_t place;
    MpiRequest request;
    MpiRequest given;
  };
  HandleVector<MpiRequest> copy;
  std::vector<Exchanged> exchanged;
  try {
    for (std::size_t place = 0; place < number; ++place) {
      const MpiRequest request = program.get(place);
      const MpiRequest given = in_place_of(request);
      copy.push_back(given);
      if (given != request) exchanged.push_back({place, request, given});
    }
  } catch (const std::bad_alloc&) {
    return mpi.err_no_mem;
  }
  if (exchanged.empty()) return function();
  requests = copy.data();
  const int code = function();
  for (const Exchanged& each : exchanged) {
    settle_persistent(each.request, each.given, copy.at(each.place), code);
    copy.data().set(each.place, each.request);
  }
  for (std::size_t place = 0; place < number; ++place) program.set(place, copy.at(place));
  return code;
}

/// Starts the requests that are ours, one after the other, and MPI's by `start` each; `start_all` gets the addresses of
/// all others. The first code that is not mpi_success.
template <class Start, class StartAll>
int start_each(int count, MpiRequests requests, Start start, StartAll start_all) {
  int result = mpi_success;
  HandleVector<MpiRequest> others;
  std::vector<std::size_t> places;
  const auto note = [&result](int code) {
    if (result == mpi_success) result = code;
  };
  try {
    for (std::size_t place = 0; place < static_cast<std::size_t>(std::max(count, 0)); ++place) {
      const ReentrancyGuard reentrancy;
      std::optional<int> code;
      if (!start_persistent(requests.get(place), code)) {
        others.push_back(requests.get(place));
        places.push_back(place);
      } else {
        note(code ? *code : start(requests.from(place)));
      }
    }
  } catch (const std::bad_alloc&) {
    return mpi.err_no_mem;
  }
  if (others.empty()) return result;
  note(start_all(static_cast<int>(others.size()), others.data()));
  for (std::size_t i = 0; i < others.size(); ++i) requests.set(places[i], others.at(i));
  return result;
}

}  // namespace libcoll::serve

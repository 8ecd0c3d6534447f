// Persistent collectives (MPI 4.0, section 6.13). The program holds MPI's own persistent request, made at the init,
// which also starts where libcoll does not serve. A start that is served is a nonblocking call with a request of its
// own, which the functions that complete requests get in place of the program's.
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

#include "pmpi/shim/blocks.h"
#include "pmpi/shim/reentrancy_guard.h"
#include "pmpi/shim/serve.h"

namespace libcoll::pmpi {

/// One persistent call, from its init until its request is freed.
class PersistentCall {
 public:
  PersistentCall(CallKind kind, MPI_Comm comm, std::weak_ptr<const bool> life)
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
  [[nodiscard]] MPI_Comm comm() const { return life_.expired() ? MPI_COMM_WORLD : comm_; }
  /// The nonblocking call's request; MPI_REQUEST_NULL while this one is inactive.
  [[nodiscard]] MPI_Request under_way() const { return under_way_; }
  void set_under_way(MPI_Request request) { under_way_ = request; }

 private:
  MPI_Datatype held(MPI_Datatype type);

  const CallKind kind_;
  const MPI_Comm comm_;
  const std::weak_ptr<const bool> life_;  ///< of the communicator, where it has one
  std::function<std::optional<int>(const CallContext&)> serve_;
  Persistence persistence_;
  std::vector<HeldType> types_;
  MPI_Request under_way_ = MPI_REQUEST_NULL;
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
void keep_persistent(const PersistentPointer& call, MPI_Request request) noexcept;

/// The numbers of requests that were kept, and of those under way by libcoll.
inline std::atomic<std::int64_t> persistent_kept{0};
inline std::atomic<std::int64_t> persistent_under_way{0};

/// Whether it is one of ours; then `code` is MPI's, or nothing when MPI's own request is to be started.
bool start_persistent(MPI_Request request, std::optional<int>& code) noexcept;
/// In place of a request: what is under way for it, or itself.
MPI_Request in_place_of(MPI_Request request) noexcept;
/// A function of MPI's had `given`, in place of `request`, and left it as `left`, with that code.
void settle_persistent(MPI_Request request, MPI_Request given, MPI_Request left, int code) noexcept;
/// The program frees the request. What is under way goes on.
void forget_persistent(MPI_Request request) noexcept;
/// Before MPI ends.
void drop_persistent() noexcept;

/// Calls `function`, which completes requests, with `requests` pointing to a copy that has what is under way in place
/// of persistent ones; what becomes of the others goes back to the program. The function's code.
template <class Function>
int complete(int count, MPI_Request*& requests, Function function) {
  MPI_Request* const program = requests;
  if (count <= 0 || program == nullptr) return function();
  struct Exchanged {
    int place;
    MPI_Request request;
    MPI_Request given;
  };
  std::vector<MPI_Request> copy;
  std::vector<Exchanged> exchanged;
  try {
    copy.assign(program, program + count);
    for (int place = 0; place < count; ++place) {
      const MPI_Request request = program[place];
      const MPI_Request given = in_place_of(request);
      if (given == request) continue;
      exchanged.push_back({place, request, given});
      copy[static_cast<std::size_t>(place)] = given;
    }
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  }
  if (exchanged.empty()) return function();
  requests = copy.data();
  const int code = function();
  for (const Exchanged& each : exchanged) {
    MPI_Request& left = copy[static_cast<std::size_t>(each.place)];
    settle_persistent(each.request, each.given, left, code);
    left = program[each.place];
  }
  std::copy(copy.begin(), copy.end(), program);
  return code;
}

/// Starts the requests that are ours, one after the other, and MPI's by `start` each; `start_all` gets the addresses of
/// all others. The first code that is not MPI_SUCCESS.
template <class Start, class StartAll>
int start_each(int count, MPI_Request* requests, Start start, StartAll start_all) {
  int result = MPI_SUCCESS;
  std::vector<MPI_Request> others;
  std::vector<int> places;
  const auto note = [&result](int code) {
    if (result == MPI_SUCCESS) result = code;
  };
  try {
    for (int place = 0; place < count; ++place) {
      const ReentrancyGuard reentrancy;
      std::optional<int> code;
      if (!start_persistent(requests[place], code)) {
        others.push_back(requests[place]);
        places.push_back(place);
      } else {
        note(code ? *code : start(&requests[place]));
      }
    }
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  }
  if (others.empty()) return result;
  note(start_all(static_cast<int>(others.size()), others.data()));
  for (std::size_t i = 0; i < others.size(); ++i) requests[places[i]] = others[i];
  return result;
}

}  // namespace libcoll::pmpi

#include "libcoll/serve/persistent.h"

#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "libcoll/serve/communicator_state.h"
#include "libcoll/serve/process.h"
#include "libcoll/serve/reentrancy_guard.h"
#include "libcoll/serve/serving.h"

namespace libcoll::serve {

using namespace comm;
using namespace observe;

namespace {

/// The program's requests of persistent calls.
class PersistentTable {
 public:
  void add(MpiRequest request, const PersistentPointer& call) {
    const std::lock_guard guard(mutex_);
    PersistentPointer& place = calls_[request];
    if (place != nullptr) count(*place, -1);
    place = call;
    count(*place, 1);
    persistent_kept = static_cast<std::int64_t>(calls_.size());
  }
  PersistentPointer find(MpiRequest request) const {
    const std::lock_guard guard(mutex_);
    const auto found = calls_.find(request);
    return found == calls_.end() ? nullptr : found->second;
  }
  PersistentPointer remove(MpiRequest request) {
    const std::lock_guard guard(mutex_);
    const auto found = calls_.find(request);
    if (found == calls_.end()) return nullptr;
    PersistentPointer call = std::move(found->second);
    calls_.erase(found);
    count(*call, -1);
    persistent_kept = static_cast<std::int64_t>(calls_.size());
    return call;
  }
  MpiRequest in_place_of(MpiRequest request) const {
    const std::lock_guard guard(mutex_);
    const auto found = calls_.find(request);
    return found == calls_.end() || !found->second->is_replaced() ? request : found->second->under_way();
  }
  void set_under_way(PersistentCall& call, MpiRequest request) {
    change(call, [&] { call.set_under_way(request); });
  }
  void start_by_mpi(PersistentCall& call) {
    change(call, [&] { call.start_by_mpi(); });
  }
  std::unordered_map<MpiRequest, PersistentPointer> take_all() {
    const std::lock_guard guard(mutex_);
    persistent_kept = 0;
    persistent_replaced = 0;
    return std::exchange(calls_, {});
  }

 private:
  static void count(const PersistentCall& call, int by) {
    if (call.is_replaced()) persistent_replaced += by;
  }
  template <class Change>
  void change(PersistentCall& call, Change apply) {
    const std::lock_guard guard(mutex_);
    count(call, -1);
    apply();
    count(call, 1);
  }

  mutable std::mutex mutex_;
  std::unordered_map<MpiRequest, PersistentPointer> calls_;
};

/// Never destroyed: threads of the program may outlive main().
PersistentTable& persistent_table() {
  static auto* const requests = new PersistentTable;  // NOLINT(cppcoreguidelines-owning-memory)
  return *requests;
}

/// `prepare` keeps the call's datatypes in what it is given, and returns how the call is served.
template <class Prepare>
PersistentPointer plan_call(CallKind kind, MpiComm comm, Prepare prepare) noexcept {
  Runtime* process = ReentrancyGuard::is_program() ? runtime() : nullptr;
  if (process == nullptr) return nullptr;
  try {
    const CommunicatorState* state = comm == mpi.comm_null ? nullptr : known_state(*process, comm);
    auto call = std::make_shared<PersistentCall>(
        kind, comm, state == nullptr ? std::weak_ptr<const bool>() : std::weak_ptr<const bool>(state->life));
    call->plan(prepare(*call));
    return call;
  } catch (...) {
    return nullptr;  // no memory
  }
}

}  // namespace

#define LIBCOLL_ENTRY(name, Name, number, datatypes, parameters, ...)                                            \
  PersistentPointer plan_##name parameters noexcept {                                                            \
    return plan_call(CallKind::name##_init, comm, [&](PersistentCall& call) {                                    \
      call.hold datatypes;                                                                                       \
      return [=](const CallContext& context) -> std::optional<int> { return try_##name(context, __VA_ARGS__); }; \
    });                                                                                                          \
  }
#include "pmpi/entry_points.def"
#define LIBCOLL_LARGE_COUNTS
#include "pmpi/entry_points.def"
#undef LIBCOLL_LARGE_COUNTS
#undef LIBCOLL_ENTRY

MpiDatatype PersistentCall::held(MpiDatatype type) {
  if (type == mpi.datatype_null) return type;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = mpi.combiner_named;
  mpi.type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == mpi.combiner_named) return type;
  const MpiDatatype duplicate = types_.emplace_back().hold(type);
  return duplicate == mpi.datatype_null ? type : duplicate;
}

void PersistentCall::plan(std::function<std::optional<int>(const CallContext&)> serve) {
  serve_ = std::move(serve);
  const std::optional<int> code = serve_({kind_, comm_, {}, &persistence_});
  if (code && *code != mpi_success) persistence_.obstacle = Reason::transport;
  persistence_.planned = true;
}

std::optional<int> PersistentCall::start(Runtime& process) {
  if (under_way_ != mpi.request_null) return raise(comm(), mpi.err_request);
  const bool gone = life_.expired();
  ReentrancyGuard::remember(number_of(gone ? mpi.comm_null : comm_));
  MpiRequest request = mpi.request_null;
  const CallContext context{kind_, comm_, &request, &persistence_};
  if (gone || persistence_.obstacle) {
    return fall_through(process, context, gone ? Reason::bad_arguments : *persistence_.obstacle, persistence_.bytes);
  }
  const std::optional<int> code = serve_(context);
  if (request != mpi.request_null) persistent_table().set_under_way(*this, request);
  return code;
}

void keep_persistent(const PersistentPointer& call, MpiRequest request) noexcept try {
  if (call != nullptr) persistent_table().add(request, call);
} catch (...) {  // NOLINT(bugprone-empty-catch): no memory, so that MPI's own starts here; the others wait in vain
}

bool start_persistent(MpiRequest request, std::optional<int>& code) noexcept {
  Runtime* process = runtime();
  if (process == nullptr) return false;
  const PersistentPointer call = persistent_table().find(request);
  if (call == nullptr) return false;
  code = guarded(call->comm(), [&] { return call->start(*process); });
  if (!code) persistent_table().start_by_mpi(*call);
  return true;
}

MpiRequest in_place_of(MpiRequest request) noexcept { return persistent_table().in_place_of(request); }

void settle_persistent(MpiRequest request, MpiRequest given, MpiRequest left, int code) noexcept {
  if (given == mpi.request_null) return;  // it was inactive
  // MPI keeps a request whose call has failed.
  if (left == given && code != mpi_success) {
    int over = 0;
    mpi.request_get_status(given, &over, mpi.status_ignore);
    if (over != 0 && mpi.request_free(&given) == mpi_success) left = mpi.request_null;
  }
  if (left != mpi.request_null) return;
  if (const PersistentPointer call = persistent_table().find(request))
    persistent_table().set_under_way(*call, mpi.request_null);
}

void forget_persistent(MpiRequest request) noexcept {
  const PersistentPointer call = persistent_table().remove(request);
  if (call == nullptr || call->under_way() == mpi.request_null) return;
  MpiRequest under_way = call->under_way();
  mpi.request_free(&under_way);
}

void drop_persistent() noexcept { persistent_table().take_all(); }

}  // namespace libcoll::serve

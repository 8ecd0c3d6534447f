#include "pmpi/shim/persistent.h"

#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "pmpi/shim/process.h"
#include "pmpi/shim/reentrancy_guard.h"
#include "pmpi/shim/serving.h"

namespace libcoll::pmpi {

using namespace comm;
using namespace observe;

namespace {

/// The program's requests of persistent calls.
class PersistentTable {
 public:
  void add(MPI_Request request, const PersistentPointer& call) {
    const std::lock_guard guard(mutex_);
    calls_.insert_or_assign(request, call);
    persistent_kept = static_cast<std::int64_t>(calls_.size());
  }
  PersistentPointer find(MPI_Request request) const {
    const std::lock_guard guard(mutex_);
    const auto found = calls_.find(request);
    return found == calls_.end() ? nullptr : found->second;
  }
  PersistentPointer remove(MPI_Request request) {
    const std::lock_guard guard(mutex_);
    const auto found = calls_.find(request);
    if (found == calls_.end()) return nullptr;
    PersistentPointer call = std::move(found->second);
    calls_.erase(found);
    persistent_kept = static_cast<std::int64_t>(calls_.size());
    return call;
  }
  MPI_Request under_way(MPI_Request request) const {
    const std::lock_guard guard(mutex_);
    const auto found = calls_.find(request);
    return found == calls_.end() ? MPI_REQUEST_NULL : found->second->under_way();
  }
  void set_under_way(PersistentCall& call, MPI_Request request) {
    const std::lock_guard guard(mutex_);
    const bool idle = request == MPI_REQUEST_NULL;
    if ((call.under_way() == MPI_REQUEST_NULL) != idle) persistent_under_way += idle ? -1 : 1;
    call.set_under_way(request);
  }
  std::unordered_map<MPI_Request, PersistentPointer> take_all() {
    const std::lock_guard guard(mutex_);
    persistent_kept = 0;
    persistent_under_way = 0;
    return std::exchange(calls_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<MPI_Request, PersistentPointer> calls_;
};

/// Never destroyed: threads of the program may outlive main().
PersistentTable& persistent_table() {
  static auto* const requests = new PersistentTable;  // NOLINT(cppcoreguidelines-owning-memory)
  return *requests;
}

/// `prepare` keeps the call's datatypes in what it is given, and returns how the call is served.
template <class Prepare>
PersistentPointer plan_call(CallKind kind, MPI_Comm comm, Prepare prepare) noexcept {
  Runtime* process = ReentrancyGuard::is_program() ? runtime() : nullptr;
  if (process == nullptr) return nullptr;
  try {
    const CommunicatorState* state = comm == MPI_COMM_NULL ? nullptr : known_state(*process, comm);
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

MPI_Datatype PersistentCall::held(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return type;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return type;
  const MPI_Datatype duplicate = types_.emplace_back().hold(type);
  return duplicate == MPI_DATATYPE_NULL ? type : duplicate;
}

void PersistentCall::plan(std::function<std::optional<int>(const CallContext&)> serve) {
  serve_ = std::move(serve);
  const std::optional<int> code = serve_({kind_, comm_, nullptr, &persistence_});
  if (code && *code != MPI_SUCCESS) persistence_.obstacle = Reason::transport;
  persistence_.planned = true;
}

std::optional<int> PersistentCall::start(Runtime& process) {
  if (under_way_ != MPI_REQUEST_NULL) return raise(comm(), MPI_ERR_REQUEST);
  const bool gone = life_.expired();
  ReentrancyGuard::remember(number_of(gone ? MPI_COMM_NULL : comm_));
  MPI_Request request = MPI_REQUEST_NULL;
  const CallContext context{kind_, comm_, &request, &persistence_};
  if (gone || persistence_.obstacle) {
    return fall_through(process, context, gone ? Reason::bad_arguments : *persistence_.obstacle, persistence_.bytes);
  }
  const std::optional<int> code = serve_(context);
  if (request != MPI_REQUEST_NULL) persistent_table().set_under_way(*this, request);
  return code;
}

void keep_persistent(const PersistentPointer& call, MPI_Request request) noexcept try {
  if (call != nullptr) persistent_table().add(request, call);
} catch (...) {  // NOLINT(bugprone-empty-catch): no memory, so that MPI's own starts here; the others wait in vain
}

bool start_persistent(MPI_Request request, std::optional<int>& code) noexcept {
  Runtime* process = runtime();
  if (process == nullptr) return false;
  const PersistentPointer call = persistent_table().find(request);
  if (call == nullptr) return false;
  code = guarded(call->comm(), [&] { return call->start(*process); });
  return true;
}

MPI_Request in_place_of(MPI_Request request) noexcept {
  const MPI_Request given = persistent_table().under_way(request);
  return given == MPI_REQUEST_NULL ? request : given;
}

void settle_persistent(MPI_Request request, MPI_Request given, MPI_Request left, int code) noexcept {
  // MPI keeps a request whose call has failed.
  if (left == given && code != MPI_SUCCESS) {
    int over = 0;
    PMPI_Request_get_status(given, &over, MPI_STATUS_IGNORE);
    if (over != 0 && PMPI_Request_free(&given) == MPI_SUCCESS) left = MPI_REQUEST_NULL;
  }
  if (left != MPI_REQUEST_NULL) return;
  if (const PersistentPointer call = persistent_table().find(request))
    persistent_table().set_under_way(*call, MPI_REQUEST_NULL);
}

void forget_persistent(MPI_Request request) noexcept {
  const PersistentPointer call = persistent_table().remove(request);
  if (call == nullptr || call->under_way() == MPI_REQUEST_NULL) return;
  MPI_Request under_way = call->under_way();
  persistent_table().set_under_way(*call, MPI_REQUEST_NULL);
  PMPI_Request_free(&under_way);
}

void drop_persistent() noexcept { persistent_table().take_all(); }

}  // namespace libcoll::pmpi

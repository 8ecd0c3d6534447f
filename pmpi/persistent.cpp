#include "pmpi/persistent.h"

#include <mutex>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "pmpi/process.h"
#include "pmpi/reentrancy_guard.h"
#include "pmpi/serving.h"

namespace libcoll::pmpi {
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
    return found == calls_.end() ? nullptr : found->second->under_way();
  }
  void set_under_way(PersistentCall& call, MPI_Request request) {
    const std::lock_guard guard(mutex_);
    if ((call.under_way() == nullptr) != (request == nullptr)) persistent_under_way += request == nullptr ? -1 : 1;
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

template <class... Parameters>
PersistentPointer plan_call(CallKind kind, std::optional<int> (*serve)(const CallContext&, Parameters...),
                            std::type_identity_t<Parameters>... arguments) noexcept {
  Runtime* process = ReentrancyGuard::is_program() ? runtime() : nullptr;
  if (process == nullptr) return nullptr;
  try {
    const auto comm = std::get<MPI_Comm>(std::tuple<Parameters...>(arguments...));
    const CommunicatorState* state = comm == MPI_COMM_NULL ? nullptr : known_state(*process, comm);
    auto call = std::make_shared<PersistentCall>(
        kind, comm, state == nullptr ? std::weak_ptr<const bool>() : std::weak_ptr<const bool>(state->life));
    call->plan([serve, kept = std::tuple<Parameters...>(call->hold(arguments)...)](const CallContext& context) {
      return std::apply([&](Parameters... each) { return serve(context, each...); }, kept);
    });
    return call;
  } catch (...) {
    return nullptr;  // no memory
  }
}

}  // namespace

#define LIBCOLL_ENTRY(name, Name, number, parameters, ...)             \
  PersistentPointer plan_##name parameters noexcept {                  \
    return plan_call(CallKind::name##_init, &try_##name, __VA_ARGS__); \
  }
#include "pmpi/entry_points.def"
#undef LIBCOLL_ENTRY

MPI_Datatype PersistentCall::hold(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return type;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return type;
  const MPI_Datatype held = types_.emplace_back().hold(type);
  return held == nullptr ? type : held;
}

void PersistentCall::plan(std::function<std::optional<int>(const CallContext&)> serve) {
  serve_ = std::move(serve);
  const std::optional<int> code = serve_({kind_, comm_, nullptr, &persistence_});
  if (code && *code != MPI_SUCCESS) persistence_.obstacle = Reason::transport;
  persistence_.planned = true;
}

std::optional<int> PersistentCall::start(Runtime& process) {
  if (under_way_ != nullptr) return raise(comm(), MPI_ERR_REQUEST);
  const bool gone = life_.expired();
  ReentrancyGuard::remember(gone ? MPI_COMM_NULL : comm_);
  MPI_Request request = nullptr;
  const CallContext context{kind_, comm_, &request, &persistence_};
  if (gone || persistence_.obstacle != Reason::count_) {
    return fall_through(process, context, gone ? Reason::bad_arguments : persistence_.obstacle, persistence_.bytes);
  }
  const std::optional<int> code = serve_(context);
  if (request != nullptr) persistent_table().set_under_way(*this, request);
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
  return given == nullptr ? request : given;
}

void settle_persistent(MPI_Request request, MPI_Request given, MPI_Request left, int code) noexcept {
  // MPI keeps a request whose call has failed.
  if (left == given && code != MPI_SUCCESS) {
    int over = 0;
    PMPI_Request_get_status(given, &over, MPI_STATUS_IGNORE);
    if (over != 0 && PMPI_Request_free(&given) == MPI_SUCCESS) left = MPI_REQUEST_NULL;
  }
  if (left != MPI_REQUEST_NULL) return;
  if (const PersistentPointer call = persistent_table().find(request)) persistent_table().set_under_way(*call, nullptr);
}

void forget_persistent(MPI_Request request) noexcept {
  const PersistentPointer call = persistent_table().remove(request);
  if (call == nullptr || call->under_way() == nullptr) return;
  MPI_Request under_way = call->under_way();
  persistent_table().set_under_way(*call, nullptr);
  PMPI_Request_free(&under_way);
}

void drop_persistent() noexcept { persistent_table().take_all(); }

}  // namespace libcoll::pmpi

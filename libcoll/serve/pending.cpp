#include "libcoll/serve/pending.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "libcoll/base/log.h"
#include "libcoll/serve/process.h"

namespace libcoll::serve {

using namespace comm;
using namespace execute;

namespace {

std::atomic<std::int64_t> pending_count{0};

/// What MPI's request refers to: lives until the program, or MPI, is done with the request.
struct Outcome {
  int code = mpi_success;
};

int query(void* state, MpiStatus* status) {
  const int code = static_cast<const Outcome*>(state)->code;
  mpi.status_set_elements(status, mpi.byte_type, 0);
  mpi.status_set_cancelled(status, 0);
  set_status(status, mpi.undefined, mpi.undefined, code);
  return code;
}

int release(void* state) {
  delete static_cast<Outcome*>(state);
  return mpi_success;
}

/// The MPI standard forbids it for collectives.
int cancel(void*, int) { return mpi.err_request; }

/// A call that its program does not wait for here. The communicator may be freed meanwhile.
class PendingCall final : public Unattended {
 public:
  /// `running` is the communicator's and refers to `operands`.
  PendingCall(std::shared_ptr<Communicator> communicator, std::unique_ptr<RunningCall> running,
              std::unique_ptr<Operands> operands, const Served& served)
      : Unattended(std::move(running)),
        communicator_(std::move(communicator)),
        operands_(std::move(operands)),
        served_(served),
        outcome_(std::make_unique<Outcome>()) {
    pending_count.fetch_add(1, std::memory_order_relaxed);
  }
  ~PendingCall() override { pending_count.fetch_sub(1, std::memory_order_relaxed); }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  /// MPI's code.
  int make_request() {
    const int code = mpi.grequest_start(&query, &release, &cancel, outcome_.get(), &request_);
    if (code == mpi_success) given_ = outcome_.release();
    return code;
  }
  [[nodiscard]] MpiRequest request() const { return request_; }

  /// Precondition: the call is over.
  void complete(Runtime& process) noexcept {
    if (running().failed() || running().lengths_differ()) {
      log(LogLevel::error, std::string(to_string(served_.kind)) +
                               ": a message could not be delivered, or the ranks give different counts");
      given_->code = mpi.err_other;
    } else {
      record_end(process, served_);
      if (!operands_->finish(mpi.comm_self)) given_->code = mpi.err_type;
    }
    mpi.grequest_complete(request_);
  }

 private:
  std::shared_ptr<Communicator> communicator_;
  std::unique_ptr<Operands> operands_;
  Served served_;
  std::unique_ptr<Outcome> outcome_;  ///< until MPI has it
  Outcome* given_ = nullptr;          ///< MPI's
  MpiRequest request_ = mpi.request_null;
};

constexpr std::chrono::seconds patience_with_errands{5};

}  // namespace

int begin(Runtime& process, Communicator& communicator, const CallContext& context,
          std::unique_ptr<Operands> operands) {
  if (!operands->hold_types()) return raise(context.comm, mpi.err_type);
  Call call = operands->call();
  trace_served(context.kind, call, communicator);
  const Served served = served_call(process, communicator, context, call);
  std::unique_ptr<RunningCall> running =
      communicator.make_call(std::move(call), context.persistence == nullptr ? nullptr : context.persistence->context);
  auto pending =
      std::make_unique<PendingCall>(communicator.shared_from_this(), std::move(running), std::move(operands), served);
  if (const int code = pending->make_request(); code != mpi_success) return raise(context.comm, code);
  context.request.set(0, pending->request());
  process.statistics().count_served(context.kind);
  bool over = false;
  {
    const std::lock_guard guard(process.lock());
    pending->running().begin();
    over = pending->running().over();
    if (!over) process.engine().look_after(*pending.release());
  }
  if (over) pending->complete(process);
  return mpi_success;
}

std::int64_t pending_calls() noexcept { return pending_count.load(std::memory_order_relaxed); }

void complete_ended(Runtime& process) noexcept {
  for (Unattended* ended : process.engine().take_ended()) {
    const std::unique_ptr<PendingCall> pending(static_cast<PendingCall*>(ended));
    pending->complete(process);
  }
}

void finish_pending(Runtime& process) noexcept {
  const auto patience = std::chrono::seconds(process.config().timeout_seconds);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    // Others' calls may be held up until this rank has answered.
    if (process.engine().idle() && (!process.engine().has_errands() || waited > patience_with_errands)) return;
    if (patience.count() > 0 && waited > patience) return;
    progress_mpi();
    if (!mpi_calls_progress()) progress_own();
  }
}

}  // namespace libcoll::serve

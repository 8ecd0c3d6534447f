#include "libcoll/comm/process_transport.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/transport/library_version.h"
#include "libcoll/transport/ofi/ofi_transport.h"
#include "libcoll/transport/packet.h"
#include "libcoll/transport/uct/uct_transport.h"
#include "libcoll/transport/ucx_library.h"

namespace libcoll::comm {

using namespace execute;
using namespace schedule;
using namespace transport;
using namespace transport::mpi;
using namespace transport::ofi;
using namespace transport::uct;
using namespace transport::ucx;

namespace {

constexpr std::array<std::string_view, transports_by_availability> by_availability = {"ucx", "ofi", "mpi"};

/// Over tcp, UCX waits for a connection while it is made: over a broken link, for minutes. And when a peer dies while
/// UCX sends from our memory, without a copy, it may end that send twice, and then the process (1.13: "comp->count >
/// 0"). So it copies. Every piece it copies is a system call: 8 KiB, as a rule, cost more than the longer ones that
/// receivers have room for. And it need not ask receivers first: senders of long messages wait for them as it is.
RouteBinding for_failures(RouteBinding binding) {
  if (binding.classes.empty()) binding.classes.emplace_back();
  const bool sizes_are_said =
      std::getenv("UCX_TCP_TX_SEG_SIZE") != nullptr || std::getenv("UCX_TCP_RX_SEG_SIZE") != nullptr;
  const bool rendezvous_is_said = std::getenv("UCX_RNDV_THRESH") != nullptr;
  for (RouteClassBinding& each : binding.classes) {
    // What the binding says of these comes later, and stays.
    if (!sizes_are_said) each.settings.emplace(each.settings.begin(), "TX_SEG_SIZE", "32k");
    if (!rendezvous_is_said) each.settings.emplace(each.settings.begin(), "RNDV_THRESH", "inf");
    each.settings.emplace_back("CONN_NB", "y");
    each.settings.emplace_back("ZCOPY_THRESH", "inf");
  }
  return binding;
}

/// Once in a process.
void tell_of_version(const KnownLibrary& library, std::optional<LibraryVersion> found, std::once_flag& told) {
  const std::optional<VersionRemark> remark = found ? remark_on(library, *found) : std::nullopt;
  if (!remark) return;
  std::call_once(told, [&] { log(remark->too_old ? LogLevel::warn : LogLevel::info, remark->text); });
}

}  // namespace

Result<std::unique_ptr<Transport>> ProcessTransport::make_transport(std::string_view name) {
  static std::array<std::once_flag, 2> told;
  if (name == "ucx") {
    if (const Status there = require_ucx(); !there) return there.error();
    tell_of_version(known_ucx, ucx_version(), told[0]);
    if (binding_.backend == SteeringBackend::uct) return make_uct_transport(binding_);
    // Where messages are sent again, a peer that has ended its last call may leave before all are confirmed: its
    // connection is gone then, and nothing is lost.
    if (patience_nanoseconds() > 0) return make_ucx_transport(for_failures(binding_), HostMates::possible);
    return make_ucx_transport(binding_, mates_);
  }
  if (name == "ofi") {
    tell_of_version(known_libfabric, ofi_version(), told[1]);
    // Bundles are far below a segment's largest size, and longer than a small one's; both may bear a stamp.
    const std::int64_t largest =
        std::max({config_.segment_bytes + static_cast<std::int64_t>(stamp_bytes),
                  largest_bundle_bytes(config_.coalesce_max) + static_cast<std::int64_t>(stamp_bytes),
                  static_cast<std::int64_t>(large_packet_bytes)});
    return make_ofi_transport(binding_, {config_.ofi_provider, largest, false});
  }
  if (host_messages_ == nullptr) return Error{"MPI's own messages are not to be had here"};
  over_host_messages_ = true;
  return make_mpi_transport(*host_messages_);
}

Result<std::unique_ptr<Transport>> ProcessTransport::first_available(std::int32_t choice) {
  std::string reasons;
  for (; choice < transports_by_availability; ++choice) {
    Result<std::unique_ptr<Transport>> transport = make_transport(by_availability[static_cast<std::size_t>(choice)]);
    if (transport) {
      choice_ = choice;
      if (!reasons.empty()) log(LogLevel::info, (*transport)->name() + " is used; " + reasons);
      return transport;
    }
    reasons.append(reasons.empty() ? "" : "; ").append(transport.error().message);
  }
  return Error{reasons};
}

/// A binding's settings are UCX's as a rule: another transport has to be asked for.
bool ProcessTransport::is_any() const { return config_.transport == "auto" && config_.route_binding.empty(); }

bool ProcessTransport::may_be_host_messages() const {
  return host_messages_ != nullptr && (is_any() || config_.transport == "mpi");
}

Status ProcessTransport::open() {
  if (is_open()) return {};
  const bool any = is_any();
  const std::string_view only = config_.transport == "auto" ? by_availability.front() : config_.transport;
  Result<std::unique_ptr<Transport>> transport = any ? first_available(0) : make_transport(only);
  if (!transport) return transport.error();
  take(std::move(*transport));
  return {};
}

Status ProcessTransport::fall_back_to(std::int32_t choice) {
  Result<std::unique_ptr<Transport>> transport = first_available(choice);
  if (!transport) return transport.error();
  take(std::move(*transport));
  return {};
}

std::int64_t ProcessTransport::patience_nanoseconds() const {
  const std::int64_t nanoseconds = over_host_messages_ ? 0 : config_.resend_seconds * 1'000'000'000;
  // Several attempts before the call is given up.
  constexpr std::int64_t attempts = 6;
  if (config_.timeout_seconds == 0) return nanoseconds;
  return std::min(nanoseconds, config_.timeout_seconds * 1'000'000'000 / attempts);
}

void ProcessTransport::take(std::unique_ptr<Transport> transport) {
  resilient_ = nullptr;
  if (const std::int64_t patience = patience_nanoseconds(); patience > 0) {
    ResendOptions options;
    options.patience_nanoseconds = patience;
    options.now_nanoseconds = &steady_nanoseconds;
    auto resilient = make_resilient_transport(std::move(transport), options);
    resilient_ = resilient.get();
    transport = std::move(resilient);
  }
  current_.store(transport.get(), std::memory_order_release);
  std::swap(transport_, transport);
  if (transport != nullptr) earlier_.push_back(std::move(transport));
}

}  // namespace libcoll::comm

// The transport of a process: which one it is, by what is configured and available.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "libcoll/base/config.h"
#include "libcoll/transport/mpi/mpi_transport.h"
#include "libcoll/transport/null_transport.h"
#include "libcoll/transport/resilient_transport.h"
#include "libcoll/transport/transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "planner/base/result.h"
#include "planner/schedule/route_binding.h"

namespace libcoll::comm {

/// So many are tried, in this order: UCX, libfabric, the host's own MPI.
inline constexpr std::int32_t transports_by_availability = 3;

class ProcessTransport {
 public:
  /// Config and binding must outlive it. `host_messages` is what the MPI transport sends by; null: there is none.
  ProcessTransport(const Config& config, const schedule::RouteBinding& binding,
                   transport::mpi::MpiMessages* host_messages, transport::ucx::HostMates mates)
      : config_(config), binding_(binding), host_messages_(host_messages), mates_(mates) {}

  /// Opens the one that is configured, or the first by availability, unless it is open. The error says what is wrong
  /// with each. Until then it connects to nobody.
  [[nodiscard]] Status open();
  [[nodiscard]] bool is_open() const { return transport_ != nullptr; }
  /// Takes a later one by availability instead, or one after that. Nothing changes when none works.
  [[nodiscard]] Status fall_back_to(std::int32_t choice);

  transport::Transport& operator*() const { return *current_.load(std::memory_order_acquire); }
  transport::Transport* operator->() const { return current_.load(std::memory_order_acquire); }
  /// The same where it sends again what was lost; null elsewhere.
  [[nodiscard]] transport::ResilientTransport* resilient() const { return resilient_; }
  /// Which of those by availability it is; negative: it was named, or there is none.
  [[nodiscard]] std::int32_t choice() const { return choice_; }
  /// It may become the host's own MPI, by what is configured.
  [[nodiscard]] bool may_be_host_messages() const;
  /// It is the host's own MPI.
  [[nodiscard]] bool over_host_messages() const { return over_host_messages_; }

 private:
  /// It is the first by availability.
  [[nodiscard]] bool is_any() const;
  /// The first by availability from `choice` on that works, which choice_ then tells; an error says what is wrong with
  /// each.
  Result<std::unique_ptr<transport::Transport>> first_available(std::int32_t choice);
  /// The transport of that name, "ucx", "ofi" or "mpi".
  Result<std::unique_ptr<transport::Transport>> make_transport(std::string_view name);
  /// After which a missing message is asked for; 0: never. MPI's own messages are not lost.
  [[nodiscard]] std::int64_t patience_nanoseconds() const;
  void take(std::unique_ptr<transport::Transport> transport);

  const Config& config_;
  const schedule::RouteBinding& binding_;
  transport::mpi::MpiMessages* const host_messages_;
  const transport::ucx::HostMates mates_;
  transport::NullTransport null_;
  std::unique_ptr<transport::Transport> transport_;  ///< null before open()
  std::atomic<transport::Transport*> current_{&null_};
  std::atomic<transport::ResilientTransport*> resilient_{nullptr};  ///< transport_, or null
  /// A thread may still sleep in one of them.
  std::vector<std::unique_ptr<transport::Transport>> earlier_;
  std::atomic<std::int32_t> choice_{-1};
  std::atomic<bool> over_host_messages_{false};
};

}  // namespace libcoll::comm

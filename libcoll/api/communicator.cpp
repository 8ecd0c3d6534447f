// The C API's communicators: the runtime of a preloaded program, with the caller's bootstrap in place of MPI.
#include "libcoll/comm/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libcoll/api/bootstrap_host.h"
#include "libcoll/api/collectives.h"
#include "libcoll/api/handles.h"
#include "libcoll/plan/topology_file.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"

namespace libcoll::api {

using namespace comm;
using namespace execute;
using namespace observe;
using namespace plan;
using namespace reduce;
using namespace schedule;
using namespace topology;
using namespace transport::ucx;

namespace {

/// What a rank says before anything is made.
struct Proposal {
  std::int32_t refused = 0;
  std::uint64_t schedules = 0;  ///< a hash over them
};

/// The caller's environment, but for what has to be so here: there is no MPI that calls could be left to.
class Settings {
 public:
  explicit Settings(const std::string& topology_path) {
    entries_ = {"LIBCOLL_TOPOLOGY=" + topology_path,
                "LIBCOLL_ENABLE=yes",
                "LIBCOLL_BACKGROUND_PLANNING=no",
                "LIBCOLL_ONE_NODE=yes",
                "LIBCOLL_MEASURE=no",
                "LIBCOLL_COST_MODEL=no"};
    const auto is_ours = [this](const std::string& entry) {
      return std::any_of(entries_.begin(), entries_.end(), [&](const std::string& own) {
        return entry.compare(0, own.find('=') + 1, own, 0, own.find('=') + 1) == 0;
      });
    };
    std::vector<std::string> others;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      if (!is_ours(*entry)) others.emplace_back(*entry);
    }
    entries_.insert(entries_.end(), others.begin(), others.end());
    for (std::string& entry : entries_) pointers_.push_back(entry.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char* const* environment() const { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

Outcome check_bootstrap(const libcoll_bootstrap* bootstrap) {
  if (bootstrap == nullptr || bootstrap->allgather == nullptr || bootstrap->test == nullptr) {
    return refuse_argument("libcoll_communicator_create: found no bootstrap, expected its two functions");
  }
  if (bootstrap->size < 2 || bootstrap->rank < 0 || bootstrap->rank >= bootstrap->size) {
    return refuse_argument("libcoll_communicator_create: found rank " + std::to_string(bootstrap->rank) + " of " +
                           std::to_string(bootstrap->size) + ", expected 2 ranks at least, numbered from 0");
  }
  return {};
}

Outcome check_schedules(const libcoll_topology* topology, const libcoll_schedule* const* schedules, std::size_t count) {
  if (topology == nullptr) return refuse_argument("libcoll_communicator_create: found NULL, expected a topology");
  if (count > 0 && schedules == nullptr) {
    return refuse_argument("libcoll_communicator_create: found NULL, expected schedules");
  }
  std::vector<Collective> seen;
  for (std::size_t i = 0; i < count; ++i) {
    if (schedules[i] == nullptr) return refuse_argument("libcoll_communicator_create: found NULL among the schedules");
    const Schedule& schedule = schedules[i]->schedule;
    if (!(schedule.topology == topology->topology)) {
      return refuse_argument("libcoll_communicator_create: found a schedule of " + schedule.topology.name() +
                             ", expected one of " + topology->topology.name());
    }
    if (std::find(seen.begin(), seen.end(), schedule.collective) != seen.end()) {
      return refuse_argument("libcoll_communicator_create: found two schedules of " +
                             std::string(to_string(schedule.collective)) + ", expected one");
    }
    seen.push_back(schedule.collective);
    const std::vector<std::string> faults = verify(schedule, 1);
    if (!faults.empty()) return refuse(LIBCOLL_ERROR_SCHEDULE, faults.front());
  }
  return {};
}

std::uint64_t hash_of(const libcoll_schedule* const* schedules, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += write_schedule(schedules[i]->schedule);
  return std::hash<std::string>{}(text);
}

/// All ranks hear of a rank whose arguments were refused, and of schedules that differ: the same on all of them.
Outcome agree(BootstrapHost& host, const Outcome& mine, std::uint64_t schedules) {
  Proposal proposal;
  proposal.refused = mine.status == LIBCOLL_SUCCESS ? 0 : 1;
  proposal.schedules = schedules;
  std::vector<Proposal> all(static_cast<std::size_t>(host.size()));
  if (!host.allgather(&proposal, sizeof proposal, all.data())) {
    return refuse(LIBCOLL_ERROR_SETUP, "the bootstrap's allgather failed");
  }
  if (proposal.refused != 0) return mine;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].refused != 0) {
      return refuse(LIBCOLL_ERROR_SETUP, "the arguments of rank " + std::to_string(rank) + " were refused there");
    }
    if (all[rank].schedules != all.front().schedules) {
      return refuse(LIBCOLL_ERROR_SETUP, "ranks 0 and " + std::to_string(rank) + " have different schedules");
    }
  }
  return {};
}

void apply_kernel(const void* context, void* destination, const void* left, const void* right,
                  std::int64_t elements) noexcept {
  (*static_cast<const ReduceKernel*>(context))(destination, left, right, static_cast<std::size_t>(elements));
}

}  // namespace
}  // namespace libcoll::api

/// One rank's communicator and the runtime that it has for itself.
struct libcoll_communicator {
  libcoll_communicator(const libcoll_bootstrap& bootstrap, libcoll::FileDescriptor topology)
      : host(bootstrap),
        topology_file(std::move(topology)),
        settings(libcoll::plan::shared_path(topology_file)),
        runtime(settings.environment(), libcoll::api::own_directory(), bootstrap.rank) {
    host.set_runtime(&runtime);
    // Between calls nobody else moves messages along.
    runtime.engine().use_progress_thread();
  }
  ~libcoll_communicator() { host.set_runtime(nullptr); }
  libcoll_communicator(const libcoll_communicator&) = delete;
  libcoll_communicator& operator=(const libcoll_communicator&) = delete;

  libcoll::api::BootstrapHost host;
  libcoll::FileDescriptor topology_file;
  libcoll::api::Settings settings;
  libcoll::comm::Runtime runtime;
  std::vector<libcoll::schedule::Collective> provided;  ///< collectives that go by the caller's schedules
  std::shared_ptr<libcoll::comm::Communicator> communicator;
};

namespace libcoll::api {
namespace {

Outcome create(const libcoll_bootstrap& bootstrap, const libcoll_topology* topology,
               const libcoll_schedule* const* schedules, std::size_t count, libcoll_communicator** result) {
  Outcome mine = check_schedules(topology, schedules, count);
  if (mine.status == LIBCOLL_SUCCESS && result == nullptr) {
    mine = refuse_argument("libcoll_communicator_create: found NULL, expected a result");
  }
  std::optional<FileDescriptor> file;
  if (mine.status == LIBCOLL_SUCCESS) {
    Result<FileDescriptor> shared = share_topology(topology->topology);
    if (shared) {
      file = std::move(shared).value();
    } else {
      mine = refuse(LIBCOLL_ERROR_SETUP, shared.error().message);
    }
  }
  BootstrapHost host(bootstrap);
  const std::uint64_t hash = mine.status == LIBCOLL_SUCCESS ? hash_of(schedules, count) : 0;
  if (Outcome agreed = agree(host, mine, hash); agreed.status != LIBCOLL_SUCCESS) return agreed;
  keep_log_quiet();
  static std::once_flag signals;
  std::call_once(signals, &disable_ucx_signal_handlers);
  auto made = std::make_unique<libcoll_communicator>(bootstrap, std::move(*file));
  for (std::size_t i = 0; i < count; ++i) {
    made->runtime.plans().provide(schedules[i]->schedule);
    made->provided.push_back(schedules[i]->schedule.collective);
  }
  made->communicator = Communicator::make(made->runtime, made->host);
  *result = made.release();
  return {};
}

/// Nobody goes while another may still send to it.
void leave(libcoll_communicator& communicator) {
  communicator.runtime.engine().stop_progress_thread();
  if (!communicator.communicator->is_broken() && communicator.host.begin_barrier()) {
    while (!communicator.host.barrier_passed()) {
      if (!communicator.runtime.engine().progress()) std::this_thread::yield();
    }
  }
  communicator.communicator.reset();
}

Outcome run(libcoll_communicator* communicator, Call call) {
  const std::string name(to_string(call.collective));
  if (communicator == nullptr) return refuse_argument(name + ": found NULL, expected a communicator");
  if (call.elements < 0) {
    return refuse_argument(name + ": found a count of " + std::to_string(call.elements) + ", expected 0 or more");
  }
  if (call.elements == 0) return {};
  if (call.input == nullptr || call.output == nullptr) {
    return refuse_argument(name + ": found NULL, expected an input and an output");
  }
  Communicator& ranks = *communicator->communicator;
  const std::optional<Reason> reason = ranks.ready(call.collective, true, communicator->host);
  if (reason) {
    return refuse(LIBCOLL_ERROR_SETUP, name + " cannot be run: " + std::string(to_string(*reason)));
  }
  ranks.before_served_call(communicator->host);
  const auto& provided = communicator->provided;
  const bool by_schedule = std::find(provided.begin(), provided.end(), call.collective) != provided.end();
  const ProgressHook nothing_else{[]() noexcept {}};
  if (ranks.run(std::move(call), nothing_else, by_schedule ? Protocol::planned : Protocol::chosen)) return {};
  return refuse(LIBCOLL_ERROR_TRANSPORT, name + " failed under way");
}

Call call_of(Collective collective, const void* input, void* output, std::int64_t elements) {
  Call call;
  call.collective = collective;
  call.input = static_cast<const std::byte*>(input);
  call.output = static_cast<std::byte*>(output);
  call.elements = elements;
  return call;
}

Outcome reduce(libcoll_communicator* communicator, Call call, libcoll_type type, libcoll_operation operation) {
  const std::optional<Reduction> reduction = reduction_of(type, operation);
  if (!reduction) {
    return refuse_argument(std::string(to_string(call.collective)) + ": found type " +
                           std::to_string(static_cast<int>(type)) + " with operation " +
                           std::to_string(static_cast<int>(operation)) + ", expected a reduction that MPI has");
  }
  call.element_bytes = reduction->element_bytes;
  call.order_matters = reduction->order_matters;
  call.reducer = {&apply_kernel, &reduction->kernel, false};
  return run(communicator, std::move(call));
}

}  // namespace
}  // namespace libcoll::api

using libcoll::api::call_of;
using libcoll::api::guarded;
using libcoll::api::Outcome;
using libcoll::schedule::Collective;

extern "C" {

libcoll_status libcoll_communicator_create(const libcoll_bootstrap* bootstrap, const libcoll_topology* topology,
                                           const libcoll_schedule* const* schedules, size_t count,
                                           libcoll_communicator** communicator) {
  return guarded([&]() -> Outcome {
    Outcome checked = libcoll::api::check_bootstrap(bootstrap);
    if (checked.status != LIBCOLL_SUCCESS) return checked;
    return libcoll::api::create(*bootstrap, topology, schedules, count, communicator);
  });
}

void libcoll_communicator_free(libcoll_communicator* communicator) {
  if (communicator == nullptr) return;
  guarded([&]() -> Outcome {
    libcoll::api::leave(*communicator);
    return {};
  });
  delete communicator;
}

libcoll_status libcoll_allreduce(libcoll_communicator* communicator, const void* input, void* output, int64_t count,
                                 libcoll_type type, libcoll_operation operation) {
  return guarded([&] {
    return libcoll::api::reduce(communicator, call_of(Collective::allreduce, input, output, count), type, operation);
  });
}

libcoll_status libcoll_reduce_scatter(libcoll_communicator* communicator, const void* input, void* output,
                                      int64_t count, libcoll_type type, libcoll_operation operation) {
  return guarded([&] {
    return libcoll::api::reduce(communicator, call_of(Collective::reduce_scatter, input, output, count), type,
                                operation);
  });
}

libcoll_status libcoll_allgather(libcoll_communicator* communicator, const void* input, void* output, int64_t bytes) {
  return guarded([&] { return libcoll::api::run(communicator, call_of(Collective::allgather, input, output, bytes)); });
}

libcoll_status libcoll_alltoall(libcoll_communicator* communicator, const void* input, void* output, int64_t bytes) {
  return guarded([&] { return libcoll::api::run(communicator, call_of(Collective::alltoall, input, output, bytes)); });
}

}  // extern "C"

// The C API's schedules: planning, files, figures, the verifier.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "libcoll/api/collectives.h"
#include "libcoll/api/handles.h"
#include "libcoll/base/config.h"
#include "libcoll/base/system_error.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/plan/plan_source.h"
#include "planner/base/text_file.h"
#include "planner/broadcast/classic/bruck.h"
#include "planner/plan/claims.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "planner/simulate/simulation.h"

namespace libcoll::api {

using namespace broadcast::classic;
using namespace default_plan;
using namespace plan;
using namespace schedule;
using namespace topology;

namespace {

double number(const Rational& value) { return value.to_double(); }

/// By the `libcoll` command, whose planners solve linear programs; waits for it.
Result<Schedule> plan_by_command(const PlanRequest& request) {
  Config config = load_config(environ).config;
  config.topology.clear();  // the command gets the request's
  config.background_planning = false;
  if (config.command.empty()) config.command = find_command(own_directory());
  PlanSource source;
  std::optional<Result<PlanPair>> plans = source.obtain(config, request);
  if (!plans) return Error{"the libcoll command made no plan"};
  if (!*plans) return plans->error();
  return std::move((*plans)->usual);
}

Result<Schedule> make_plan(const Topology& topology, Collective collective, const std::string& algorithm) {
  if (collective == Collective::alltoall && algorithm == "bruck") return plan_bruck_alltoall(topology, {});
  const PlanRequest request{topology, "", collective, algorithm};
  if (collective == Collective::alltoall) return plan_by_command(request);
  Result<PlanPair> plans = plan_in_process(request, algorithm);
  if (!plans) return plans.error();
  return std::move(plans->usual);
}

libcoll_figures figures_of(const Schedule& schedule) {
  libcoll_figures figures{};
  figures.hosts = schedule.topology.host_count();
  figures.chunks_per_shard = schedule.chunks_per_shard;
  figures.steps = schedule.steps;
  figures.transfers = static_cast<int64_t>(schedule.transfers.size());
  figures.routes = static_cast<int64_t>(schedule.routes.size());
  figures.bandwidth_time = number(schedule.proof.bandwidth_time);
  figures.bandwidth_bound = number(schedule.proof.bandwidth_bound);
  figures.flow = schedule.proof.flow;
  figures.flow_upper_bound = schedule.proof.flow_upper_bound;
  figures.collective = *c_collective(schedule.collective);
  return figures;
}

}  // namespace
}  // namespace libcoll::api

using libcoll::api::guarded;
using libcoll::api::Outcome;
using libcoll::api::refuse;
using libcoll::api::refuse_argument;

extern "C" {

libcoll_status libcoll_plan(const libcoll_topology* topology, libcoll_collective collective, const char* algorithm,
                            libcoll_schedule** schedule) {
  return guarded([&]() -> Outcome {
    if (topology == nullptr || schedule == nullptr) {
      return refuse_argument("libcoll_plan: found NULL, expected a topology and a result");
    }
    const std::optional<libcoll::schedule::Collective> wanted = libcoll::api::collective_of(collective);
    if (!wanted) return refuse_argument("libcoll_plan: found no collective of enum libcoll_collective");
    libcoll::api::keep_log_quiet();
    const std::string name(algorithm == nullptr ? libcoll::automatic_plan : std::string_view(algorithm));
    libcoll::Result<libcoll::schedule::Schedule> plan = libcoll::api::make_plan(topology->topology, *wanted, name);
    if (!plan) return refuse(LIBCOLL_ERROR_PLAN, plan.error().message);
    *schedule = std::make_unique<libcoll_schedule>(libcoll_schedule{std::move(plan).value()}).release();
    return {};
  });
}

libcoll_status libcoll_schedule_read(const char* path, libcoll_schedule** schedule) {
  return guarded([&]() -> Outcome {
    if (path == nullptr || schedule == nullptr) {
      return refuse_argument("libcoll_schedule_read: found NULL, expected a path and a result");
    }
    const libcoll::Result<std::string> text = libcoll::read_text_file(path, libcoll::most_schedule_bytes);
    if (!text) return refuse(LIBCOLL_ERROR_INPUT, std::string(path) + ": " + text.error().message);
    libcoll::Result<libcoll::schedule::Schedule> read = libcoll::schedule::read_schedule(*text, path);
    if (!read) return refuse(LIBCOLL_ERROR_INPUT, read.error().message);
    if (!libcoll::api::c_collective(read->collective)) {
      return refuse(LIBCOLL_ERROR_INPUT, std::string(path) + ": found a schedule of " +
                                             std::string(to_string(read->collective)) +
                                             ", expected allgather, reduce_scatter, allreduce or alltoall");
    }
    *schedule = std::make_unique<libcoll_schedule>(libcoll_schedule{std::move(read).value()}).release();
    return {};
  });
}

libcoll_status libcoll_schedule_write(const libcoll_schedule* schedule, const char* path) {
  return guarded([&]() -> Outcome {
    if (schedule == nullptr || path == nullptr) {
      return refuse_argument("libcoll_schedule_write: found NULL, expected a schedule and a path");
    }
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file << libcoll::schedule::write_schedule(schedule->schedule);
    file.close();
    if (!file.fail()) return {};
    return refuse(LIBCOLL_ERROR_INPUT, std::string(path) + ": cannot be written: " + libcoll::reason());
  });
}

void libcoll_schedule_free(libcoll_schedule* schedule) { delete schedule; }

libcoll_status libcoll_schedule_verify(const libcoll_schedule* schedule) {
  return guarded([&]() -> Outcome {
    if (schedule == nullptr) return refuse_argument("libcoll_schedule_verify: found NULL, expected a schedule");
    const std::vector<std::string> faults = libcoll::schedule::verify(schedule->schedule, 1);
    if (!faults.empty()) return refuse(LIBCOLL_ERROR_SCHEDULE, faults.front());
    const std::vector<libcoll::default_plan::FalseClaim> claims =
        libcoll::default_plan::false_claims(schedule->schedule);
    if (!claims.empty()) return refuse(LIBCOLL_ERROR_SCHEDULE, to_string(claims.front()));
    return {};
  });
}

libcoll_status libcoll_schedule_figures(const libcoll_schedule* schedule, libcoll_figures* figures, size_t bytes) {
  return guarded([&]() -> Outcome {
    if (schedule == nullptr || figures == nullptr) {
      return refuse_argument("libcoll_schedule_figures: found NULL, expected a schedule and a result");
    }
    if (bytes != sizeof(libcoll_figures)) {
      return refuse_argument("libcoll_schedule_figures: found " + std::to_string(bytes) + " bytes, expected " +
                             std::to_string(sizeof(libcoll_figures)));
    }
    *figures = libcoll::api::figures_of(schedule->schedule);
    return {};
  });
}

const char* libcoll_schedule_algorithm(const libcoll_schedule* schedule) {
  return schedule == nullptr ? "" : schedule->schedule.algorithm.c_str();
}

libcoll_status libcoll_schedule_time(const libcoll_schedule* schedule, int64_t vector_bytes, double* seconds) {
  return guarded([&]() -> Outcome {
    if (schedule == nullptr || seconds == nullptr || vector_bytes < 1) {
      return refuse_argument("libcoll_schedule_time: found NULL or no bytes, expected a schedule, bytes and a result");
    }
    libcoll::simulate::SimulationOptions options;
    options.bytes = static_cast<double>(vector_bytes);
    if (!schedule->schedule.wirings.empty()) options.timing = libcoll::simulate::NodeTiming::lockstep;
    const libcoll::Result<libcoll::simulate::Simulation> simulated =
        libcoll::simulate::simulate(schedule->schedule, options);
    if (!simulated) return refuse(LIBCOLL_ERROR_SCHEDULE, simulated.error().message);
    *seconds = simulated->seconds;
    return {};
  });
}

}  // extern "C"

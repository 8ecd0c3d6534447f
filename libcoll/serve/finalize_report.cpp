#include "libcoll/serve/finalize_report.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/base/log.h"
#include "libcoll/observe/figures.h"
#include "libcoll/serve/mpi.h"
#include "libcoll/serve/mpi_host.h"
#include "libcoll/serve/own_communicator.h"

namespace libcoll::serve {

using namespace observe;

namespace {

/// Every MPI has this tag. The program has received all that was ever sent to it, and reports say what they are.
constexpr int report_tag = 32767;

/// How long nothing may come from anybody.
constexpr std::chrono::seconds patience{30};

using Clock = std::chrono::steady_clock;

/// The next report that has come in; nothing when none has.
std::optional<Report> next_report() {
  int found = 0;
  Statuses status;
  status.resize(1);
  if (mpi.iprobe(mpi.any_source, report_tag, mpi.comm_world, &found, status.data()) != mpi_success || found == 0) {
    return std::nullopt;
  }
  int bytes = 0;
  const auto byte = mpi.byte_type;
  mpi.get_count(status.data(), byte, &bytes);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  mpi.recv(text.data(), bytes, byte, source_of(status.data()), report_tag, mpi.comm_world, mpi.status_ignore);
  return libcoll::observe::unpack(text);
}

void collect(Report& job, int ranks) {
  Clock::time_point last = Clock::now();
  while (job.ranks < ranks && Clock::now() - last < patience) {
    if (const std::optional<Report> report = next_report()) {
      job.join(*report);
      last = Clock::now();
    } else {
      sched_yield();
    }
  }
  if (job.ranks < ranks) {
    log(LogLevel::warn, "statistics are of " + std::to_string(job.ranks) + " of " + std::to_string(ranks) +
                            " ranks: the others did not report");
  }
}

void send_to_root(const Report& report) {
  std::string text = pack(report);
  MpiRequest request = mpi.request_null;
  if (mpi.isend(text.data(), static_cast<int>(text.size()), mpi.byte_type, 0, report_tag, mpi.comm_world, &request) !=
      mpi_success) {
    return;
  }
  const Clock::time_point begin = Clock::now();
  for (int done = 0; Clock::now() - begin < patience;) {
    if (mpi.test(&request, &done, mpi.status_ignore) != mpi_success || done != 0) return;
    sched_yield();
  }
  // Rank 0 does not take it, and MPI may look at it until the end.
  static const std::string kept = std::move(text);
  mpi.request_free(&request);
}

int reporting_ranks(int ranks) {
  const std::optional<Presence>& presence = presence_in_world();
  return presence ? ranks - static_cast<int>(presence->absentees.size()) : ranks;
}

/// Rank 0 is who writes them: its setting decides, where the others know it. Nothing is sent to find out, for links may
/// be dead by now.
bool wants_statistics(const Config& config) {
  const std::optional<Presence>& presence = presence_in_world();
  if (!presence) return !config.stats.empty();
  // Nobody takes the report of a rank that could not announce itself.
  const int own = MpiHost(mpi.comm_world).rank();
  return presence->root_reports &&
         std::none_of(presence->absentees.begin(), presence->absentees.end(),
                      [own](const Absentee& each) { return each.world_rank == 0 || each.world_rank == own; });
}

void write_statistics(const Statistics& statistics, const Config& config) {
  const MpiHost world(mpi.comm_world);
  Report job = statistics.report();
  if (world.rank() != 0) return send_to_root(job);
  collect(job, reporting_ranks(world.size()));
  const Status written = report_statistics(statistics, job, config.stats, world.size());
  if (!written) log(LogLevel::warn, written.error().message);
}

void write_trace_of(const Statistics& statistics, const Trace& trace, const Config& config) {
  std::vector<std::string> names;
  for (const CommunicatorFigures& figures : statistics.report().communicators) names.push_back(figures.name);
  const int rank = MpiHost(mpi.comm_world).rank();
  const Status written = write_trace(trace_file(config.trace, rank), trace.to_json(rank, names));
  if (!written) log(LogLevel::warn, written.error().message);
}

}  // namespace

void write_reports(const Statistics& statistics, const Trace* trace, const Config& config) noexcept try {
  if (trace != nullptr) write_trace_of(statistics, *trace, config);
  if (wants_statistics(config)) write_statistics(statistics, config);
} catch (...) {
  log(LogLevel::warn, "statistics or traces are incomplete: no memory for them");
}

}  // namespace libcoll::serve

#include "pmpi/shim/finalize_report.h"

#include <sched.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/base/log.h"
#include "libcoll/observe/figures.h"
#include "pmpi/shim/mpi_symbols.h"
#include "pmpi/shim/own_communicator.h"
#include "pmpi/shim/process.h"

namespace libcoll::pmpi {

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
  MPI_Status status{};
  if (PMPI_Iprobe(MPI_ANY_SOURCE, report_tag, MPI_COMM_WORLD, &found, &status) != MPI_SUCCESS || found == 0) {
    return std::nullopt;
  }
  int bytes = 0;
  const auto byte = MPI_BYTE;
  PMPI_Get_count(&status, byte, &bytes);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  PMPI_Recv(text.data(), bytes, byte, status.MPI_SOURCE, report_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, 0, report_tag, MPI_COMM_WORLD, &request) !=
      MPI_SUCCESS) {
    return;
  }
  const Clock::time_point begin = Clock::now();
  for (int done = 0; Clock::now() - begin < patience;) {
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0) return;
    sched_yield();
  }
  // Rank 0 does not take it, and MPI may look at it until the end.
  static const std::string kept = std::move(text);
  PMPI_Request_free(&request);
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
  const bool has_root = presence->absentees.empty() || presence->absentees.front().world_rank != 0;
  return has_root && presence->root_reports;
}

void write_statistics(const Statistics& statistics, const Config& config) {
  const MpiHost world(MPI_COMM_WORLD);
  Report job = statistics.report();
  if (world.rank() != 0) return send_to_root(job);
  collect(job, reporting_ranks(world.size()));
  const Status written = report_statistics(statistics, job, config.stats, world.size());
  if (!written) log(LogLevel::warn, written.error().message);
}

void write_trace_of(const Statistics& statistics, const Trace& trace, const Config& config) {
  std::vector<std::string> names;
  for (const CommunicatorFigures& figures : statistics.report().communicators) names.push_back(figures.name);
  const int rank = MpiHost(MPI_COMM_WORLD).rank();
  const Status written = write_trace(trace_file(config.trace, rank), trace.to_json(rank, names));
  if (!written) log(LogLevel::warn, written.error().message);
}

}  // namespace

void write_reports(const Statistics& statistics, const Trace* trace, const Config& config) {
  if (trace != nullptr) write_trace_of(statistics, *trace, config);
  if (wants_statistics(config)) write_statistics(statistics, config);
}

}  // namespace libcoll::pmpi

// The reader of schedule files, and what works on what it read.
#include "planner/schedule/schedule.h"

#include "planner/schedule/program.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using libcoll::fuzz::require;
  const libcoll::Result<libcoll::schedule::Schedule> schedule =
      libcoll::schedule::read_schedule(libcoll::fuzz::as_text(data, size), "fuzz");
  if (!schedule) {
    require(!schedule.error().message.empty());
    return 0;
  }
  const libcoll::Result<libcoll::schedule::Schedule> again =
      libcoll::schedule::read_schedule(libcoll::schedule::write_schedule(*schedule), "again");
  require(again.ok() && *again == *schedule);
  // The verifier is what stands between a file and the executor.
  constexpr std::size_t most_transfers = 2000;
  if (schedule->transfers.size() <= most_transfers && libcoll::schedule::verify(*schedule, 1).empty()) {
    for (libcoll::topology::NodeId node = 0; node < schedule->topology.host_count(); ++node)
      libcoll::schedule::lower(*schedule, node);
  }
  return 0;
}

// The settings of libcoll: one documented record each, from which parsing, `libcoll info --config`, the
// commented configuration file and the man page are made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libcoll/base/calls.h"
#include "planner/base/result.h"

namespace libcoll {

enum class LogLevel : std::uint8_t { error, warn, info, debug, trace };

/// Whether communicators are served whose ranks are all on one node.
enum class OneNode : std::uint8_t {
  no,
  yes,
  faster,  ///< at sizes at which a tuning table says so, or calls were seen to be faster than MPI's
};

inline constexpr std::int64_t default_segment_bytes = 128 * 1024;

/// Values in force. Defaults are the records' defaults.
struct Config {
  bool enable = true;
  std::string topology;            ///< specification or absolute path; empty: everything falls through
  std::string route_binding;       ///< path of a route binding file; empty: messages are not steered
  std::string transport = "auto";  ///< "auto", "ucx", "ofi" or "mpi"
  std::string ofi_provider;        ///< libfabric's name; empty: its first that reaches other nodes
  std::string tuning_table;        ///< path of a tuning table; empty: every call that can be served is
  bool measure = false;            ///< without a tuning table: leave sizes to MPI at which it is faster here and now
  bool cost_model = true;          ///< without either: leave sizes to MPI at which it promises to be faster
  LogLevel log_level = LogLevel::warn;
  std::string stats;                      ///< "", "summary" or "json:FILE"
  std::string trace;                      ///< file of trace events; empty: none
  std::int64_t trace_events = 1'000'000;  ///< of one rank at most; further ones are dropped and counted
  std::string cache_dir;                  ///< empty: $XDG_CACHE_HOME/libcoll or ~/.cache/libcoll
  std::string command;                    ///< path of the `libcoll` command; empty: beside the library
// One for each call that can be served: "auto" or "native"; where it bears the collective's name, a planner's as well.
#define LIBCOLL_CALL(name, collective) std::string name = "auto";
#include "libcoll/calls.def"
  std::int64_t segment_bytes = default_segment_bytes;  ///< transfers are cut into segments of this size
  std::int64_t coalesce_max = 8 * 1024;                ///< smaller pieces for one peer and step travel in one message
  std::int64_t planless_max = 4 * 1024;         ///< up to this, all ranks together, small calls go without a plan
  std::int64_t valiant_threshold = 0;           ///< alltoallv with such a block may go by way of all nodes; 0: never
  std::int64_t round_bytes = 64 * 1024 * 1024;  ///< a call larger than this per rank runs in several rounds
  std::int64_t in_flight = 8;                   ///< messages in flight per peer
  std::int64_t poll_microseconds = 20;          ///< a waiting rank polls this long before it blocks
  bool pacing = false;                          ///< steered messages leave at the rate the plan gives their route
  bool background_planning = true;              ///< calls fall through while a plan is made, instead of waiting for it
  std::int64_t planning_seconds = 120;          ///< a plan that takes longer is given up
  bool nonblocking = true;                      ///< nonblocking calls are served as their blocking variants are
  bool progress_thread = false;                 ///< a thread moves nonblocking calls along
  bool watch_topology = true;                   ///< go by new plans when the topology file changes
  std::string host;                             ///< of this process, as the topology names it; empty: MPI's name
  std::string placement;                        ///< path of a placement file; empty: hosts' names say where ranks are
  std::int64_t leaders = 0;                     ///< ranks of a node that move data between nodes; 0: all they can
  std::int64_t node_bytes = 8 * 1024 * 1024;    ///< memory that the ranks of a node share per communicator
  OneNode one_node = OneNode::faster;           ///< which calls within one node are served
  bool single_copy = true;                      ///< ranks of a host read each other's memory
  std::int64_t timeout_seconds = 0;             ///< a call that did not move for so long fails; 0: it waits for ever
  std::int64_t watchdog_seconds = 60;           ///< a call that did not move for so long is told of; 0: never
  std::int64_t resend_seconds = 0;              ///< messages missing for so long are sent another way; 0: never
};

/// The setting of one call, of nonblocking ones that of the blocking variant; of calls that are never served: "native".
const std::string& call_setting(const Config& config, CallKind kind);

enum class SettingType : std::uint8_t { boolean, integer, bytes, text, choice };

/// Where a setting has to be the same before calls are served.
enum class SettingScope : std::uint8_t {
  job,   ///< on all ranks of a communicator: it decides how calls go
  rank,  ///< nowhere, or what it comes to is compared instead (the contents of a file, the transport that was found)
};

/// One setting. Its environment variable is LIBCOLL_ + the upper-cased name, its key in a configuration file
/// is the name.
struct Setting {
  std::string_view name;  ///< "segment_bytes"
  SettingType type;
  std::string_view default_value;  ///< as a user would write it: "128K"
  std::string_view bounds;         ///< "1K..1G", "error|warn|info|debug|trace", "" when any
  std::string_view text;           ///< one line
  Status (*assign)(Config& config, std::string_view value);
  std::string (*print)(const Config& config);
  SettingScope scope = SettingScope::job;
  bool advanced = true;  ///< few users need it: shown where all are asked for
};

std::span<const Setting> settings();

/// The configuration and what was odd about it (unknown names, unreadable files): sentences to warn with, once.
struct LoadedConfig {
  Config config;
  std::vector<std::string> warnings;
};

/// built-in < /etc/libcoll.toml < ~/.config/libcoll/libcoll.toml < ./libcoll.toml < environment. A bad value is
/// a warning and leaves the setting at its previous value. `environment` is in the form of `environ`.
LoadedConfig load_config(char* const* environment);

/// The same from explicit files, in increasing precedence; files that do not exist are passed over.
LoadedConfig load_config(char* const* environment, std::span<const std::string> files);

/// "64K", "1.5M", "2G", "4096", "inf" → bytes.
Result<std::int64_t> parse_bytes(std::string_view text);

/// The commented configuration file: every setting at its default, those for users first.
std::string commented_config(bool with_advanced = true);

}  // namespace libcoll

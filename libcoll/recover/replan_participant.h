// What a replan asks of one rank's communicator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/schedule/schedule.h"

namespace libcoll::recover {

/// Of persistent calls, by the number of their init.
using Starts = std::map<std::uint64_t, std::uint64_t>;

/// How far a rank has come with a communicator's calls, which all of its ranks begin in the same order, and with the
/// starts of each persistent one.
struct Standing {
  std::uint64_t calls = 0;   ///< begun, those that may be waited for and others
  Starts started;            ///< of the persistent calls that there are
  std::uint32_t wanted = 0;  ///< collectives that were asked for, as bits
};

/// From where on new plans are gone by.
struct Switch {
  std::uint64_t call = 0;
  /// Starts of persistent calls. Those that are not listed were freed somewhere, and keep their plan to their end.
  Starts starts;
  std::uint32_t collectives = 0;  ///< that have a new plan, as bits
  // What the first rank has found in the topology file.
  std::uint32_t changes = 0;    ///< that the plans are as of; 0: they have another cause, or there are none
  bool links_gone = false;      ///< that there were at the start
  std::uint64_t next_look = 0;  ///< after so many calls and starts in all
  std::vector<int> parents;     ///< of the ranks, in replans to come; empty: as before
};

/// One rank's side of it. Under the runtime's lock.
class ReplanParticipant {
 public:
  enum class Making : std::uint8_t { under_way, none, there };

  /// The first rank's: collectives that were asked for, and their plans as the others get them.
  [[nodiscard]] virtual std::uint32_t wanted() const = 0;
  /// Otherwise it has nothing but what it has found.
  [[nodiscard]] virtual bool must_switch() const { return true; }
  virtual void add_findings(Switch&) const {}
  virtual Making make_plan(schedule::Collective collective, std::string& text) = 0;
  /// Keeps the plan for later; false when it is of no use here.
  virtual bool take_plan(schedule::Collective collective, const std::string& text) = 0;
  /// What begins from now on waits before its first message, until one of the others is called.
  virtual Standing hold() = 0;
  virtual void release() = 0;
  virtual void switch_over(const Switch& agreed) = 0;

 protected:
  ~ReplanParticipant() = default;
};

}  // namespace libcoll::recover

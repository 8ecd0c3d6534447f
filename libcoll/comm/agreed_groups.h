// What the ranks of a group have agreed on, for later communicators of the same group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace libcoll::comm {

class Communicator;

/// Which agreement. The same on all ranks of the group, and of no other agreement of theirs.
struct AgreementStamp {
  std::uint64_t communicator = 0;  ///< numbered by its rank 0, from 1 on; 0: none
  std::uint64_t revision = 0;      ///< of what its ranks have agreed on so far

  friend bool operator==(const AgreementStamp&, const AgreementStamp&) = default;
};

/// Those of one process: by group a communicator to make others from, which serves no calls itself. What is kept may
/// differ by rank: whoever takes something over compares the stamps of all ranks. Any thread may call.
class AgreedGroups {
 public:
  /// A number for a communicator whose rank 0 this process is.
  std::uint64_t next_number();
  /// Replaces what was known of the group, which is given by world ranks in the order of its ranks.
  void keep(const std::vector<int>& world_ranks, std::shared_ptr<const Communicator> agreed);
  void forget(const std::vector<int>& world_ranks);
  /// Null: nothing is known.
  std::shared_ptr<const Communicator> find(const std::vector<int>& world_ranks);

 private:
  static constexpr std::size_t most_groups = 32;

  struct Entry {
    std::vector<int> world_ranks;
    std::shared_ptr<const Communicator> agreed;
  };

  std::list<Entry>::iterator entry_of(const std::vector<int>& world_ranks);

  std::mutex mutex_;
  std::uint64_t numbers_ = 0;
  std::list<Entry> entries_;  ///< most recently used first
};

}  // namespace libcoll::comm

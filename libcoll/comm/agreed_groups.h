// What the ranks of a group have agreed on, for later communicators of the same group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace libcoll::comm {

class CallMemory;
class Communicator;

/// Which agreement. The same on all ranks of the group, and of no other agreement of theirs.
struct AgreementStamp {
  std::uint64_t communicator = 0;  ///< numbered by its rank 0, from 1 on; 0: none
  std::uint64_t revision = 0;      ///< of what its ranks have agreed on so far

  friend bool operator==(const AgreementStamp&, const AgreementStamp&) = default;
};

/// Of a communicator that is gone, where nodes have several ranks: nobody uses it any more.
struct SpareMemory {
  AgreementStamp stamp;  ///< of its last use: the communicator, and the rounds that its ranks have gone through in it
  std::shared_ptr<CallMemory> memory;  ///< null: there is none
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
  /// For the next communicator of a group that is known; of few groups, for it may be large.
  void give_back(const std::vector<int>& world_ranks, SpareMemory spare);
  SpareMemory take_memory(const std::vector<int>& world_ranks);
  /// Null: nothing is known.
  std::shared_ptr<const Communicator> find(const std::vector<int>& world_ranks);

 private:
  static constexpr std::size_t most_groups = 32;
  static constexpr std::size_t most_spares = 2;

  struct Entry {
    std::vector<int> world_ranks;
    std::shared_ptr<const Communicator> agreed;
    SpareMemory spare = {};
  };

  std::list<Entry>::iterator entry_of(const std::vector<int>& world_ranks);

  std::mutex mutex_;
  std::uint64_t numbers_ = 0;
  std::list<Entry> entries_;  ///< most recently used first
};

}  // namespace libcoll::comm

// Who is in a communicator and where, agreed once by all its ranks, and whether it still serves calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcoll/comm/group_meeting.h"
#include "libcoll/comm/hierarchy.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/id_pool.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/runtime.h"
#include "libcoll/comm/way_questions.h"
#include "libcoll/node/rank_layout.h"
#include "libcoll/observe/figures.h"
#include "libcoll/observe/statistics.h"
#include "planner/topology/topology.h"

namespace libcoll::comm {

class Membership {
 public:
  Membership(Runtime& runtime, std::string name);
  /// Of a copy, whose ranks are where `original`'s are, and which has no id and no memory of its nodes yet.
  explicit Membership(const Membership& original);
  /// Gives the id back, and memory to the next communicator of the group, unless messages of it may yet come.
  ~Membership();
  Membership& operator=(const Membership&) = delete;

  /// Collective: nothing when all ranks can be served, otherwise why not. `start_nanoseconds`: what making the runtime
  /// took, in its first communicator.
  std::optional<observe::Reason> agree(HostCommunicator& host, std::int64_t start_nanoseconds);
  /// Whether it has the runtime's transport in use: its ranks are of several nodes. The same on all ranks.
  [[nodiscard]] bool uses_transport() const { return uses_transport_; }
  /// The longest of these on any rank, and of the transport's opening.
  [[nodiscard]] std::int64_t longest_start_nanoseconds() const { return longest_start_nanoseconds_; }
  /// Takes an id that is free in all of the communicator's processes. `candidate`: where to look first, best equal on
  /// all ranks.
  std::optional<observe::Reason> agree_on_id(HostCommunicator& host, std::uint32_t candidate, std::uint32_t& id);
  /// Collective: for a new communicator of the same group, which has met (group_meeting.h). `spare`: this rank's.
  std::optional<observe::Reason> take_over(HostCommunicator& host, const GroupMeeting& meeting, SpareMemory spare);

  [[nodiscard]] Runtime& runtime() const { return runtime_; }
  [[nodiscard]] const std::string& name() const { return name_; }  ///< for log lines
  [[nodiscard]] const std::shared_ptr<IdPool>& ids() const { return ids_; }
  [[nodiscard]] std::uint32_t id() const { return id_; }  ///< 0: none yet
  /// Of this process, in the communicator, and its node.
  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] topology::NodeId node() const { return node_; }
  /// Ranks, and nodes that they are on; 0 when it serves nothing.
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(facts_->addresses.size()); }
  [[nodiscard]] std::int32_t nodes() const { return static_cast<std::int32_t>(facts_->place_of_shard.size()); }
  /// By rank; empty where they are of several worlds.
  [[nodiscard]] const std::vector<int>& world_ranks() const { return facts_->world_ranks; }
  void set_world_ranks(std::vector<int> world_ranks) { facts_->world_ranks = std::move(world_ranks); }
  /// Of what its ranks have agreed on; of a copy none.
  [[nodiscard]] AgreementStamp& stamp() { return stamp_; }
  [[nodiscard]] const AgreementStamp& stamp() const { return stamp_; }
  /// Of no other communicator of the world, earlier or later; the same on all ranks. Precondition: has world_ranks().
  [[nodiscard]] std::uint64_t number_among_all() const;
  /// By rank.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return facts_->addresses; }
  /// All of them reach each other through memory of one host. The same on all ranks.
  [[nodiscard]] bool share_memory() const { return facts_->share_memory; }
  [[nodiscard]] const std::vector<std::string>& hosts() const { return facts_->hosts; }
  /// Null where every node has one rank.
  [[nodiscard]] const Hierarchy* hierarchy() const { return hierarchy_.get(); }
  /// Where calls without messages go: the hierarchy, or what ranks of one host share that count as nodes. Null where
  /// they do not.
  [[nodiscard]] const Hierarchy* neighbourhood() const {
    return hierarchy_ != nullptr ? hierarchy_.get() : host_hierarchy_.get();
  }
  /// Where this rank shows which way its calls go; null where it does not.
  [[nodiscard]] node::CallWays* ways() const {
    if (own_ways_ != nullptr) return own_ways_.get();
    const Hierarchy* const shared = neighbourhood();
    CallMemory* const memory = shared != nullptr ? shared->memory().get() : memory_of_ways_.get();
    return memory == nullptr ? nullptr : &memory->ways();
  }
  /// What ranks that do not see it are asked by; null where all do, or they cannot be asked.
  [[nodiscard]] WayQuestions* way_questions() const { return asks_about_ways_ ? way_questions_.get() : nullptr; }
  /// Whether this rank speaks for its node.
  [[nodiscard]] bool speaks() const { return hierarchy_ == nullptr || hierarchy_->speaks(); }
  /// By node; with a hierarchy of this rank's slice, and empty when it is in none.
  [[nodiscard]] const std::vector<std::int32_t>& rank_of_node() const { return facts_->rank_of_node; }
  /// In the buffers: the node's rank, with a hierarchy the node.
  [[nodiscard]] const std::vector<std::int32_t>& place_of_shard() const { return facts_->place_of_shard; }
  /// By node: the host of the runtime's topology.
  [[nodiscard]] const std::vector<topology::NodeId>& fabric_nodes() const { return facts_->fabric_nodes; }
  /// Rank 0's topology is a file, which it watches; some rank's process knew that it has changed. The same on all
  /// ranks.
  [[nodiscard]] bool fabric_is_watched() const { return facts_->fabric_is_watched; }
  [[nodiscard]] bool fabric_has_changed() const { return facts_->fabric_has_changed; }
  /// Every process is to have a thread that moves its nonblocking calls along. The same on all ranks.
  [[nodiscard]] bool want_progress_threads() const { return facts_->want_threads; }
  /// The node of that rank; without a hierarchy.
  [[nodiscard]] topology::NodeId node_of(std::int32_t rank) const;
  /// A buffer of some rank may be memory of a GPU. The same on all of them.
  [[nodiscard]] bool may_have_device_memory() const { return may_have_device_memory_; }
  /// What the ranks are on, where that is not the whole topology and it is of use; its hosts as PlanRequest has them,
  /// empty: all; and whether nodes of others are on the way.
  [[nodiscard]] const std::optional<topology::Topology>& part() const { return facts_->part; }
  [[nodiscard]] const std::string& part_nodes() const { return facts_->part_nodes; }
  [[nodiscard]] bool part_has_routers() const { return facts_->part_has_routers; }
  [[nodiscard]] const topology::Topology& planned_for() const {
    return facts_->part ? *facts_->part : runtime_.topology();
  }

  /// Count what happens there; null: nobody wants to know.
  [[nodiscard]] observe::CommunicatorRecord* record() const { return record_; }
  void keep_record(observe::CommunicatorRecord* record);

  /// Why no calls are served; nothing: they are.
  [[nodiscard]] std::optional<observe::Reason> obstacle() const { return observe::unpack_reason(obstacle_); }
  void set_obstacle(std::optional<observe::Reason> obstacle) { obstacle_ = observe::pack_reason(obstacle); }
  /// Messages are sent again another way; the same on every rank.
  [[nodiscard]] bool resends() const { return resends_; }
  void set_resends(bool resends) { resends_ = resends; }
  /// There are tags for ranks beside those of nodes.
  [[nodiscard]] bool ranks_have_tags() const { return nodes() + size() <= transport::TagSpace::max_sender; }
  /// Calls fail: where messages are sent again, the others cannot go on when one has failed.
  [[nodiscard]] bool is_broken() const { return broken_; }
  /// A call failed here, of this communicator or of one that shares its facts.
  [[nodiscard]] bool has_failed() const { return facts_->has_failed; }
  /// It serves no further calls, and neither does the persistent call, where it is one's. Under the runtime's lock.
  void note_failure(PersistentContext* persistent) noexcept;
  /// Ranks have taken different ways for a call: it and all further ones are left to MPI. Under the runtime's lock.
  void note_other_way() noexcept;
  /// A call failed for its ranks' counts alone. What it left under way keeps the ids of its tags from being given back.
  void note_other_length(PersistentContext* persistent) noexcept;

  // Of a call that stands still, for a person.
  /// "MPI_COMM_WORLD: allreduce, call 17: rank 0 "
  [[nodiscard]] std::string in_words(schedule::Collective collective, std::uint32_t number) const;
  /// "waits for rank 3 on n3 over 3->0, rank 5 on n5 over 5->0"
  [[nodiscard]] std::string awaited_nodes_in_words(const std::vector<topology::NodeId>& nodes) const;

 private:
  std::optional<observe::Reason> exchange_addresses(HostCommunicator& host, std::size_t longest,
                                                    std::vector<node::RankPlace>& places);
  /// Collective over the world, where a rank seeks one. False: not heard from the others.
  bool seek_core_for_progress_thread(HostCommunicator& host);
  /// Who talks to whom: the nodes' only ranks, or their leaders.
  std::optional<observe::Reason> settle(HostCommunicator& host, const std::vector<node::RankPlace>& places,
                                        topology::NodeId nodes);
  /// Where ranks that share memory count as nodes. Collective; without it all their calls go by messages, or MPI.
  void share_host_memory(HostCommunicator& host);
  /// Where ranks share no memory, and MPI's progress can answer.
  void show_ways_elsewhere();
  /// Which nodes of the topology the ranks are on, and what is to be planned for. Replaces the nodes by those of the
  /// plans, and sets their number.
  std::optional<observe::Reason> choose_part(bool keep_part, std::vector<topology::NodeId>& nodes,
                                             topology::NodeId& node_count);

  /// Where the ranks are; does not change once they have agreed, but for has_failed.
  struct Facts {
    std::vector<int> world_ranks;
    std::vector<std::int32_t> rank_of_node;
    std::vector<std::int32_t> place_of_shard;
    std::vector<topology::NodeId> fabric_nodes;
    std::vector<std::string> addresses;
    bool share_memory = false;
    std::vector<std::string> hosts;
    std::optional<topology::Topology> part;
    std::string part_nodes;
    bool part_has_routers = false;
    bool want_threads = false;
    bool fabric_is_watched = false;
    bool fabric_has_changed = false;
    std::atomic<bool> has_failed = false;
  };

  Runtime& runtime_;
  std::string name_;
  const std::shared_ptr<IdPool> ids_;
  const std::weak_ptr<AgreedGroups> groups_;  ///< which keep communicators of their own
  const std::shared_ptr<WayQuestions> way_questions_;
  AgreementStamp stamp_;
  observe::CommunicatorRecord* record_ = nullptr;
  std::uint32_t id_ = 0;
  std::int32_t rank_ = 0;
  topology::NodeId node_ = 0;
  std::int64_t longest_start_nanoseconds_ = 0;
  std::unique_ptr<Hierarchy> hierarchy_;
  std::unique_ptr<Hierarchy> host_hierarchy_;                 ///< for calls without messages; null with a hierarchy
  std::shared_ptr<CallMemory> memory_of_ways_;                ///< where nothing else is shared on one host
  std::unique_ptr<node::CallWays> own_ways_;                  ///< where nothing is shared
  std::shared_ptr<Facts> facts_ = std::make_shared<Facts>();  ///< copies share it
  bool uses_transport_ = false;
  bool may_have_device_memory_ = false;
  bool resends_ = false;
  std::atomic<std::uint8_t> obstacle_ = observe::pack_reason(std::nullopt);
  std::atomic<bool> broken_ = false;
  bool keeps_id_ = false;  ///< a call has left messages under way
  bool asks_about_ways_ = false;
};

}  // namespace libcoll::comm

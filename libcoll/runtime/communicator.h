// libcoll's side of one MPI communicator: agreed once by all its ranks, then plans and calls.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libcoll/execute/direct_exchange.h"
#include "libcoll/execute/execution.h"
#include "libcoll/execute/scattered_reduction.h"
#include "libcoll/execute/wire_up.h"
#include "libcoll/node/bidirectional_link.h"
#include "libcoll/node/rank_layout.h"
#include "libcoll/runtime/call.h"
#include "libcoll/runtime/cost_model.h"
#include "libcoll/runtime/figures.h"
#include "libcoll/runtime/flat_collective.h"
#include "libcoll/runtime/lowered_plan.h"
#include "libcoll/runtime/repair.h"
#include "libcoll/runtime/replan_participant.h"
#include "libcoll/runtime/running_call.h"
#include "libcoll/runtime/runtime.h"
#include "libcoll/runtime/setup_times.h"

namespace libcoll {

class Hierarchy;
class Replan;
class TransportHost;

/// The program's own MPI on the communicator, for agreement. Every function is collective; false when MPI
/// reported an error.
class HostCommunicator {
 public:
  virtual ~HostCommunicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual int world_rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  /// Buffers of this process may be memory of a GPU.
  [[nodiscard]] virtual bool may_have_device_memory() const { return false; }
  /// Its ranks are of several worlds (MPI_Comm_spawn, MPI_Comm_connect), whose ranks mean nothing to each other. The
  /// same on all of them.
  [[nodiscard]] virtual bool spans_worlds() const { return false; }
  [[nodiscard]] virtual std::string host_name() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;  ///< for log lines
  /// Every rank's `bytes` bytes, in rank order, into `all` (size() · bytes).
  virtual bool allgather(const void* mine, std::size_t bytes, void* all) = 0;
  /// Rank 0's bytes to everybody.
  virtual bool broadcast(void* data, std::size_t bytes) = 0;
  /// A barrier in two halves, so that a rank can look after other things until all have begun it.
  virtual bool begin_barrier() = 0;
  virtual bool barrier_passed() = 0;
  /// Lets the runtime's transport reach all ranks, where it needs the host's help for that. Called when all ranks have
  /// agreed on everything else; equal on all of them.
  virtual bool reach_all(Runtime& runtime) = 0;
  /// Lets the program's own messages move.
  virtual void progress() = 0;
};

/// Agreement without a reduction: every rank's verdict is seen by every rank. False when one is, or MPI reported an
/// error. Collective.
bool all_agree(HostCommunicator& host, bool mine);

/// A round of a call: the part of its buffers that the round works on.
struct Portion {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  Shape shape;
};

/// How a call is to go: as its size and the choices say, or one way for a trial.
enum class Protocol : std::uint8_t { chosen, directly, scattered, planned };

class Communicator final : public std::enable_shared_from_this<Communicator>,
                           private ReplanParticipant,
                           private FailureListener {
 public:
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Collective over the communicator: agrees whether and how it can be served. Never null.
  static std::unique_ptr<Communicator> make(Runtime& runtime, HostCommunicator& host);

  /// count_ when calls of this collective are served; otherwise why they fall through. The first call for a
  /// collective is itself collective (the plan is made and distributed). While the plan is being made elsewhere, so are
  /// the calls 1, 2, 4, …, 64 after it and then every 64th: rank 0 says whether it is there, and from the call in which
  /// it is all are served. Precondition: all ranks ask for the same calls, in the same order.
  /// `equal_shards`: no rank's part of the data is longer than another's.
  Reason ready(Collective collective, bool equal_shards, HostCommunicator& host);

  /// What ready() would say when it need not ask the other ranks, for a call that is begun and not waited for;
  /// not_agreed as long as ready() has not been called for this collective. Equal on all ranks between the same two of
  /// their calls. `equal_shards` as for ready().
  [[nodiscard]] Reason begins(Collective collective, bool equal_shards) const;

  /// For the init of a persistent call: count_ when its starts will be served, by `persistent`; otherwise why they will
  /// fall through. Collective, and waits for the plan while it is being made. begins() then speaks for the starts.
  Reason persists(Collective collective, bool equal_shards, HostCommunicator& host,
                  std::shared_ptr<PersistentContext>& persistent);

  /// Calls fail: where messages are sent again, the others cannot go on when one has failed.
  [[nodiscard]] bool is_broken() const { return broken_; }

  /// Ranks of the communicator.
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(addresses_.size()); }

  /// Nodes that they are on; 0 when it serves nothing.
  [[nodiscard]] std::int32_t nodes() const { return static_cast<std::int32_t>(place_of_shard_.size()); }

  /// Its ranks are on one node, and calls are served only where they were seen to be faster than MPI's.
  [[nodiscard]] bool must_be_faster() const { return nodes() == 1 && runtime_.config().one_node == OneNode::faster; }

  /// A buffer of some rank may be memory of a GPU: then the ranks have to agree on every call. The same on all of them.
  [[nodiscard]] bool may_have_device_memory() const { return may_have_device_memory_; }

  /// Has what happens counted there from now on (null: nowhere); the record must outlive the communicator.
  void keep_record(CommunicatorRecord* record);

  /// Completes the counts of a persistent all-to-all of unequal blocks where hosts forward blocks of others, or may do
  /// so by later plans: collective then, and one allgather of MPI's. False when MPI reported an error. All other calls,
  /// and nodes with several ranks, tell each other by themselves.
  bool agree_counts(Call& call, HostCommunicator& host);

  /// What the cost model needs to know. Collective, after ready() said that calls of the collective are served: α and b
  /// of the links between neighbours, and of the plan on rank 0. Nothing, on all ranks, when it cannot be measured.
  std::optional<LinkFigures> measure_links(HostCommunicator& host, ProgressHook hook);
  [[nodiscard]] const PlanCost& plan_of(Collective collective) const { return prospect(collective).cost; }
  /// The same on all ranks: whether calls that are short enough can go from rank to rank, whether allreduces can be
  /// reduced in parts there, and what becomes of this call.
  [[nodiscard]] bool can_go_direct(Collective collective) const;
  [[nodiscard]] bool can_be_scattered(Collective collective) const {
    return can_go_direct(collective) && collective == Collective::allreduce;
  }
  [[nodiscard]] Protocol select_protocol(const Call& call) const;
  /// How a call of that size goes, and what decides that. Nonblocking ones go by plans.
  [[nodiscard]] CallProtocol protocol_of(CallKind kind, const Call& call, std::int64_t bytes) const;
  /// In words, for log lines: "directly", "in parts", "by ring".
  [[nodiscard]] std::string way_in_words(const Call& call) const;
  /// How calls go from now on, where the tuning table says nothing; equal on all ranks. Between calls. `order_matters`:
  /// of reductions whose bits depend on the way; otherwise of all other calls.
  void add_choices(const std::vector<TuningChoice>& choices, bool order_matters);
  /// What these say of calls of a size, and what the tuning table says; null: nothing.
  [[nodiscard]] const TuningChoice* modelled(CallKind call, std::int64_t bytes, bool order_matters) const {
    return (order_matters ? by_facts_ : by_measurement_).chosen.find(call, bytes);
  }
  [[nodiscard]] const TuningChoice* tuned(CallKind call, std::int64_t bytes) const { return tuned_.find(call, bytes); }

  /// Runs one call; precondition ready() == count_, and for a protocol that is not the plan's that it is possible and
  /// the call short enough. False when the transport failed: the result is then undefined and the communicator serves
  /// no further calls.
  bool run(Call call, ProgressHook hook, Protocol selected = Protocol::chosen);
  /// A call that is not waited for here; precondition begins() == count_. The communicator must outlive it.
  /// `persistent`: of a persistent call.
  std::unique_ptr<RunningCall> make_call(Call call, std::shared_ptr<PersistentContext> persistent);

 private:
  friend class FlatCollective;
  friend class SliceExchange;
  friend class HierarchicalCollective;

  /// Tags repeat after 4096 rounds, so that none is further ahead of the oldest call under way than half of that.
  static constexpr std::uint32_t most_rounds_ahead = 2048;

  /// How far a collective has come.
  struct Prospect {
    bool asked = false;
    Reason obstacle = Reason::no_plan;
    std::uint32_t calls_without = 0;  ///< that came while the plan was being made
    /// What calls go by that begin now. Changes in blocking calls, at the init of persistent ones, and at calls that
    /// the ranks have agreed on: there all of them are at the same place among the communicator's calls. So whatever is
    /// begun between two of these has one plan everywhere, and keeps it, whenever its rounds come to be started.
    Plans plans;
    PlanCost cost;  ///< on rank 0, of the usual plan
  };
  struct CachedTaskGraph {
    LoweredPlanPointer plan;
    Shape shape;
    std::int64_t segment_bytes;
    std::shared_ptr<const TaskGraph> task_graph;
  };

  explicit Communicator(Runtime& runtime);

  // What is done about failures, where messages are sent again: communicator_repair.cpp.
  /// Tells the transport who may pass on messages for whom. Collective.
  void enrol(HostCommunicator& host);
  /// A recovery group of all nodes that there is already, which has more ways, passes their messages on as its own.
  /// False on all of them when there is none that all are in. Collective.
  bool join_recovery_group(HostCommunicator& host);
  /// What the senders in this communicator's tags are in the recovery group, of which `of_nodes` are the nodes' places.
  [[nodiscard]] std::vector<NodeId> places_of_senders(std::vector<NodeId> of_nodes) const;
  /// Cables of the recovery group's nodes as this communicator has nodes; those that others of the fabric have as one
  /// beyond its nodes, where its messages may cross them.
  [[nodiscard]] std::set<BidirectionalLink> cables_here(const std::set<BidirectionalLink>& cables) const;
  /// What plans can still be made for; nothing when that is not connected, or no cable is gone.
  [[nodiscard]] std::optional<Topology> what_remains(const std::set<BidirectionalLink>& removed) const;
  enum class Opening : std::uint8_t { call, persistent };
  /// At the beginning of every call that waits for the others, and at the init of a persistent one: waits while calls
  /// are held up, and goes by new plans from the call on that the ranks have agreed on.
  void sequence(HostCommunicator& host, Opening opening = Opening::call);
  bool take_turn(HostCommunicator& host, Opening opening);
  /// Of ranks without messages: their node's speaker says what is done without.
  bool hear_turn(HostCommunicator& host);
  [[nodiscard]] bool speaks() const;
  /// The same ranks over our own transport. Where messages are sent again, no link that dies holds them up, as it would
  /// MPI's own.
  std::unique_ptr<TransportHost> agree_around(HostCommunicator& host);
  /// Null: messages are not sent again, or there are no tags for ranks. The same on all of them.
  std::unique_ptr<TransportHost> agree_safely(HostCommunicator& host);
  enum class Planning : std::uint8_t {
    as_configured,
    waited_for,
    for_small_vectors,  ///< the one that came with the usual plan
  };
  /// A plan that is wanted.
  struct Wanted {
    Collective collective;
    Planning planning = Planning::as_configured;
    PlannerName algorithm;  ///< empty: as configured
  };
  /// Collective; precondition: the turn was taken.
  Reason open_channel(Collective collective, bool equal_shards, HostCommunicator& host,
                      std::shared_ptr<PersistentContext>& persistent);
  /// Makes the collective's plan known where calls may wait for it; collective.
  Reason ask(Collective collective, HostCommunicator& host, Planning planning = Planning::as_configured);
  /// Rank 0's, as PlanSource::obtain().
  std::optional<Result<PlanPair>> obtain_plan(const Wanted& wanted);
  /// For what is left of the topology; not waited for.
  std::optional<Result<PlanPair>> obtain_plan_without(Collective collective, const Topology& left);
  /// The plan as others get it.
  std::string announce(Schedule& schedule) const;

  // New plans while calls go on. Under the lock.
  class ReplanErrand;
  /// New plans, and where they begin.
  struct PlanEpoch {
    Switch from;
    std::array<LoweredPlanPointer, collective_count> plans;
    std::set<BidirectionalLink> removed;
    Topology left;
  };
  void links_died() noexcept override;
  /// Sees to the next verdict, when there is one.
  void begin_replan();
  /// False when it is over.
  bool advance_replan() noexcept;
  [[nodiscard]] std::uint32_t wanted() const override;
  Making make_plan(Collective collective, std::string& text) override;
  bool take_plan(Collective collective, const std::string& text) override;
  Standing hold() override;
  void release() override { held_ = false; }
  void switch_over(const Switch& agreed) override;
  /// Of a call that begins now.
  CallSequence next_in_sequence();
  CallSequence next_start(PersistentContext& persistent) const;
  /// Whether all is known that decides its plan.
  [[nodiscard]] bool settles(const CallSequence& sequence, const PersistentContext* persistent) const;
  /// `plan`, or a later one, once that is known.
  [[nodiscard]] LoweredPlanPointer settled_plan(Collective collective, LoweredPlanPointer plan,
                                                const CallSequence& sequence,
                                                const PersistentContext* persistent) const;

  Reason agree(HostCommunicator& host);
  Reason exchange_addresses(HostCommunicator& host, std::size_t longest, std::vector<RankPlace>& places);
  Reason settle(HostCommunicator& host, const std::vector<RankPlace>& places, NodeId nodes);
  /// Which nodes of the topology the ranks are on, and what is to be planned for. Replaces the nodes by those of the
  /// plans, and sets their number.
  Reason choose_part(bool keep_part, std::vector<NodeId>& nodes, NodeId& node_count);
  /// Takes an id that is free in all of the communicator's processes. `candidate` is equal on all ranks.
  Reason agree_on_id(HostCommunicator& host, std::uint32_t candidate, std::uint32_t& id);
  Reason distribute_plan(const Wanted& wanted, HostCommunicator& host, LoweredPlan& plan);
  /// The same for calls from now on, when there is one.
  Reason adopt_distributed(Collective collective, HostCommunicator& host, Planning planning = Planning::as_configured);
  /// And those of planners that the tuning table names. Waits for them.
  void adopt_named(Collective collective, HostCommunicator& host);
  /// The plan for small vectors that came with the usual one, and up to which size it takes less time. Both follow from
  /// the topology alone, so that reductions have the same bits in every run.
  void adopt_small(Collective collective, HostCommunicator& host);
  void say_setup_times(Collective collective, const HostCommunicator& host);
  [[nodiscard]] Prospect& prospect(Collective collective) { return prospects_[static_cast<std::size_t>(collective)]; }
  [[nodiscard]] const Prospect& prospect(Collective collective) const {
    return prospects_[static_cast<std::size_t>(collective)];
  }
  /// Of a call of one size, as its choice says.
  [[nodiscard]] const LoweredPlanPointer& chosen_plan(const Call& call, const Plans& plans) const;
  /// Of a call that nobody waits for here.
  [[nodiscard]] LoweredPlanPointer plan_for(const Call& call, const PersistentContext* persistent) const;
  [[nodiscard]] const Topology& planned_for() const { return part_ ? *part_ : runtime_.topology(); }
  /// On rank 0: of the plan for small vectors; empty where there is none.
  std::string small_plan_text(Collective collective);
  /// On rank 0: the plan as all ranks get it; nothing when it is not there yet, an empty text when there will be none.
  std::optional<std::string> plan_text(const Wanted& wanted, HostCommunicator& host);
  bool adopt_plan(const std::string& text, LoweredPlan& plan);
  /// Which way of all nodes calls may go where `schedule` is usual.
  void lower_spread(const Schedule& schedule, LoweredPlan& plan) const;
  /// The plan by which a call goes whose blocks all ranks know: `usual`, or by way of all nodes.
  [[nodiscard]] LoweredPlanPointer plan_for_lengths(const Call& call, const LoweredPlanPointer& usual) const;
  /// This rank's part of it; false when it cannot be read.
  bool lower_plan(const std::string& text, LoweredPlan& plan);

  // Who talks to whom: communicator_wiring.cpp.
  /// Whom this process talks to.
  struct Lanes {
    std::span<PeerId> peers;              ///< by route class and place
    std::int32_t self = 0;                ///< this process's place
    std::span<const std::int32_t> ranks;  ///< by place
    NodeId first_sender = 0;              ///< in tags: the first place's number
  };
  /// Of the plan, all of them awaited.
  Lanes lanes_of(LoweredPlan& plan);
  /// To awaited peers: those whom this process calls, or those whom it answers.
  Status connect(Lanes& lanes, Words words);
  /// Collective: calls those to whom it is connected, and connects to those who have called. The same on all ranks:
  /// false when one failed.
  bool call(HostCommunicator& host, Lanes& lanes);
  /// Collective, after that: answers them. Whether all were heard.
  bool answer(HostCommunicator& host, const Lanes& lanes);
  /// All of it; the same on all ranks.
  bool wire_up(HostCommunicator& host, Lanes& lanes);
  /// Says these words and waits for those of others. Whether all got through.
  bool greet(HostCommunicator& host, const Lanes& lanes, Words words);
  /// Connects the ranks, or the first leaders of nodes, for calls of the collective that need no plan, where that is
  /// possible; collective.
  void wire_up_directly(Collective collective, HostCommunicator& host);
  /// Of those places, which rank each is. Empty where this rank is in none.
  [[nodiscard]] std::vector<std::int32_t> directly_wired_ranks() const;
  /// Whether this leader moves its part of such a call without a plan; the same on every node. `sequence` and
  /// `persistent`: of the call, as in make_call().
  [[nodiscard]] bool moves_directly(const Call& part, const CallSequence& sequence,
                                    const PersistentContext* persistent) const;
  /// What senders that go from rank to rank are numbered from in tags.
  [[nodiscard]] NodeId first_direct_sender() const;
  bool run_direct(const Call& call, ProgressHook hook);
  bool run_scattered(const Call& call, ProgressHook hook);
  /// Has what goes from rank to rank started with tags of its own, and waits for its end. The tags; nothing when it
  /// failed.
  template <class Start>
  std::optional<TagSpace> exchange(Collective collective, Driven& running, const Start& start, ProgressHook hook);
  /// A message to one rank, and the one that comes from another at the same time.
  struct RankMessage;
  /// Of one by direct_ that is over.
  void record_direct(const Call& call, TagSpace tags, std::int64_t began);
  void record_exchange(Collective collective, const std::vector<RankMessage>& messages, TagSpace tags,
                       std::int64_t began);
  void trace_exchange(const std::vector<RankMessage>& messages, TagSpace tags, std::int64_t began);
  [[nodiscard]] NodeId node_of(std::int32_t rank) const;
  std::shared_ptr<const TaskGraph> task_graph_for(const LoweredPlanPointer& plan, const Shape& shape,
                                                  const Tuning& tuning);
  /// What is said of a call; null when nothing is.
  [[nodiscard]] const TuningChoice* choice_for(const Call& call) const;
  [[nodiscard]] Pace pace_of(const LoweredPlan& plan, const Shape& shape) const;
  /// Runs a call from its beginning to its end.
  bool drive(RunningCall& running, ProgressHook hook);

  // Of a call that stands still, for a person.
  /// "MPI_COMM_WORLD: allreduce, call 17: rank 0 "
  [[nodiscard]] std::string in_words(Collective collective, std::uint32_t number) const;
  /// "waits for rank 3 on n3 over 3->0, rank 5 on n5 over 5->0"
  [[nodiscard]] std::string awaited_nodes_in_words(const std::vector<NodeId>& nodes) const;

  // For running calls; under the runtime's lock, but for the first three.
  /// The same on every rank.
  [[nodiscard]] std::int64_t rounds_of(const Call& call, const LoweredPlan& plan) const;
  [[nodiscard]] std::int64_t rounds_of_unequal(const Call& call, const LoweredPlan& plan) const;
  [[nodiscard]] std::int64_t elements_per_round(const Call& call) const;
  [[nodiscard]] Portion portion_of(const Call& call, std::int64_t rounds, std::int64_t index) const;
  [[nodiscard]] Portion portion_of_unequal(const Call& call, std::int64_t rounds, std::int64_t index) const;
  void enter(FlatCollective& running);
  static void number(FlatCollective& running, std::uint32_t& calls);
  /// Gives numbers to the rounds of calls under way, as far as it is known how many those before them have.
  void number_calls();
  [[nodiscard]] bool admits(const FlatCollective& running) const;
  void leave(const FlatCollective& running) noexcept;
  /// It serves no further calls, and neither does the persistent call, where it is one's.
  void note_failure(PersistentContext* persistent) noexcept;
  /// Of the persistent call's starts, or of calls that are not persistent. Precondition: there is a hierarchy.
  [[nodiscard]] const std::shared_ptr<NodeMemory>& memory_of(const PersistentContext* persistent) const;
  std::unique_ptr<Flight> prepare(const Call& call, const LoweredPlanPointer& plan, const Portion& portion,
                                  const Tuning& tuning, TagSpace tags);
  /// The same on every rank between the same two of their calls.
  [[nodiscard]] Tuning tuning_for(const Call& call) const;
  void keep(std::unique_ptr<Flight> flight);

  void record_plan(const Schedule& schedule, LoweredPlan& plan);
  void record_round(const Call& call, const LoweredPlan& plan, const TaskGraph& task_graph);

  Runtime& runtime_;
  CommunicatorRecord* record_ = nullptr;  ///< null: nobody wants to know
  std::atomic<Reason> obstacle_ = Reason::count_;
  std::shared_ptr<IdPool> ids_;
  std::uint32_t id_ = 0;           ///< 0: none yet
  std::optional<Topology> part_;   ///< what the ranks are on, where that is not the whole topology and it is of use
  std::string part_nodes_;         ///< its hosts as PlanRequest has them
  std::uint32_t calls_ = 0;        ///< rounds that were numbered so far
  SetupTimes setup_times_;         ///< since a plan was last adopted
  std::optional<Schedule> small_;  ///< on rank 0, between the usual plan's announcement and its own
  std::int64_t small_up_to_ = 0;   ///< on rank 0, of the small plan that was last announced
  NodeId node_ = 0;                ///< of this rank
  std::int32_t rank_ = 0;          ///< in the communicator
  std::unique_ptr<Hierarchy> hierarchy_;      ///< null where every node has one rank
  std::vector<std::int32_t> rank_of_node_;    ///< with a hierarchy: of this rank's slice; empty when it is in none
  std::vector<std::int32_t> place_of_shard_;  ///< in the buffers: the node's rank, with a hierarchy the node
  std::vector<std::string> addresses_;        ///< by communicator rank
  std::vector<std::string> hosts_;            ///< the same
  std::array<Prospect, collective_count> prospects_;
  std::unique_ptr<DirectExchange> direct_;         ///< null where all calls go by plans; with a hierarchy, by node
  std::unique_ptr<ScatteredReduction> scattered_;  ///< goes with it
  bool wired_directly_ = false;                    ///< it was tried
  std::array<bool, collective_count> may_go_direct_{};
  /// The cost model's.
  struct Modelled {
    TuningTable table;
    ChoicesByCall chosen;  ///< the same
  };
  Modelled by_measurement_;
  Modelled by_facts_;                       ///< of reductions whose order matters
  ChoicesByCall tuned_;                     ///< the tuning table's
  std::list<CachedTaskGraph> task_graphs_;  ///< most recently used first
  std::vector<FlatCollective*> under_way_;  ///< in the order of their beginnings
  std::vector<std::unique_ptr<Flight>> idle_flights_;
  /// Words to everybody so far. Not among calls_: where a node's ranks take turns, the rounds of calls are numbered as
  /// they begin, which may be before such a word here and after it elsewhere.
  std::uint32_t wire_ups_ = 0;
  bool part_has_routers_ = false;                ///< nodes of others
  bool resends_ = false;                         ///< messages are sent again another way; the same on every rank
  bool may_have_device_memory_ = false;          ///< on some rank
  std::string name_;                             ///< for log lines
  std::shared_ptr<Repair> repair_;               ///< of the recovery group; null on ranks without messages
  std::vector<NodeId> place_of_recovery_group_;  ///< by node of the recovery group, -1: none; empty: the same
  std::uint32_t turns_ = 0;                      ///< of calls that wait for others
  std::uint64_t begun_ = 0;                      ///< calls of all kinds, on ranks with messages
  std::set<BidirectionalLink> removed_;          ///< done without, by now
  std::uint32_t agreements_ = 0;                 ///< messages' tags for agree_around()
  std::optional<Topology> what_is_left_;         ///< of what plans are made for, when links have died
  std::unique_ptr<Replan> replan_;               ///< under way
  std::uint32_t renewed_ = 0;                    ///< verdicts seen to
  std::uint32_t orders_ = 0;                     ///< messages' tags for replans
  std::int64_t next_look_ = 0;                   ///< for a plan that is being made
  PlanEpoch coming_;                             ///< what the replan is at
  std::vector<PlanEpoch> epochs_;
  std::size_t adopted_ = 0;  ///< those that calls that begin now go by
  bool held_ = false;
  std::uint64_t held_from_ = 0;  ///< calls, while they are held up
  std::vector<std::weak_ptr<PersistentContext>> persistent_contexts_;
  std::optional<CallSequence> opening_;  ///< of the init of a persistent call under way
  std::atomic<bool> broken_ = false;  ///< calls fail: agreement on dead links did, or one whose messages are sent again
};

}  // namespace libcoll

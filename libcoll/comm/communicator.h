// libcoll's side of one MPI communicator: agreed once by all its ranks, then plans and calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcoll/comm/call_choices.h"
#include "libcoll/comm/communicator_parts.h"
#include "libcoll/comm/host_communicator.h"
#include "libcoll/comm/running_call.h"
#include "libcoll/comm/runtime.h"
#include "libcoll/execute/call.h"
#include "libcoll/observe/figures.h"
#include "libcoll/select/cost_model.h"

namespace libcoll::comm {

class Communicator final : public std::enable_shared_from_this<Communicator> {
 public:
  ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Collective over the communicator: agrees whether and how it can be served. Never null. Where all its ranks know
  /// the same earlier agreement of their group (AgreedGroups), it holds for this one, too.
  static std::unique_ptr<Communicator> make(Runtime& runtime, HostCommunicator& host);

  /// Lets later communicators of the same group take over what the ranks have agreed on until now. All of them call it
  /// between the same two of their calls.
  void keep_agreement();

  /// Nothing when calls of this collective are served; otherwise why they fall through. The first call for a
  /// collective is itself collective (the plan is made and distributed). While the plan is being made elsewhere, so are
  /// the calls 1, 2, 4, …, 64 after it and then every 64th: rank 0 says whether it is there, and from the call in which
  /// it is all are served. Precondition: all ranks ask for the same calls, in the same order.
  /// `equal_shards`: no rank's part of the data is longer than another's.
  std::optional<observe::Reason> ready(schedule::Collective collective, bool equal_shards, HostCommunicator& host);

  /// What ready() would say of calls that need no plan: without asking.
  [[nodiscard]] std::optional<observe::Reason> ready_without_plan(schedule::Collective collective) const {
    return obstacle_of(collective, true);
  }
  /// Whether blocking calls of that kind never need one. The same on all ranks.
  [[nodiscard]] bool needs_no_plan(CallKind kind) const { return parts_.shared_memory.has_stages(kind); }

  /// After ready() had no reason, for a call in which one rank has everything, or gets it: has large ones go by a plan
  /// of their own from now on, where that is faster. Collective.
  void prepare_one_root(schedule::Collective collective, HostCommunicator& host);

  /// Between ready() and run(), once nothing is left that could make the call fall through: looks whether the topology
  /// file has changed, and may change the plans. Collective. Calls that fall through do not come here: each rank
  /// remembers those by itself, so that not all of them bring the same.
  void before_served_call(HostCommunicator& host);

  /// What ready() would say when it need not ask the other ranks, for a call that is begun and not waited for;
  /// not_agreed as long as ready() has not been called for this collective. Equal on all ranks between the same two of
  /// their calls. `equal_shards` as for ready().
  [[nodiscard]] std::optional<observe::Reason> begins(schedule::Collective collective, bool equal_shards) const;

  /// For the init of a persistent call: nothing when its starts will be served, by `persistent`; otherwise why they
  /// will fall through. Collective, and waits for the plan while it is being made. begins() then speaks for the starts.
  std::optional<observe::Reason> persists(schedule::Collective collective, bool equal_shards, HostCommunicator& host,
                                          std::shared_ptr<PersistentContext>& persistent);

  /// Calls fail: where messages are sent again, the others cannot go on when one has failed.
  [[nodiscard]] bool is_broken() const { return parts_.members.is_broken(); }

  /// A blocking call of that kind is left to MPI, which other ranks can find out. The same on all ranks, or MPI has it
  /// only on those whose length differs.
  void note_native(schedule::Collective collective) noexcept;
  /// After a call that was not good: whether MPI is to have it, and all further ones, since it went another way on
  /// other ranks.
  [[nodiscard]] bool leaves_to_mpi() const { return ways() != nullptr && ways()->left(); }

  /// Why it serves no calls, or no longer does.
  [[nodiscard]] std::optional<observe::Reason> obstacle() const { return parts_.members.obstacle(); }

  /// Of this process, and ranks of the communicator.
  [[nodiscard]] std::int32_t rank() const { return parts_.members.rank(); }
  [[nodiscard]] std::int32_t size() const { return parts_.members.size(); }

  /// Nodes that they are on; 0 when it serves nothing.
  [[nodiscard]] std::int32_t nodes() const { return parts_.members.nodes(); }

  /// Its ranks are on one node, and calls are served only where they were seen to be faster than MPI's.
  [[nodiscard]] bool must_be_faster() const { return nodes() == 1 && runtime().config().one_node == OneNode::faster; }

  /// Every process is to have a thread that moves its nonblocking calls along. The same on all ranks.
  [[nodiscard]] bool want_progress_threads() const { return parts_.members.want_progress_threads(); }

  /// A buffer of some rank may be memory of a GPU: then the ranks have to agree on every call. The same on all of them.
  [[nodiscard]] bool may_have_device_memory() const { return parts_.members.may_have_device_memory(); }

  /// Has what happens counted there from now on (null: nowhere); the record must outlive the communicator.
  void keep_record(observe::CommunicatorRecord* record);

  /// Completes the counts of a persistent all-to-all of unequal blocks where hosts forward blocks of others, or may do
  /// so by later plans: collective then, and one allgather of MPI's. False when MPI reported an error. All other calls,
  /// and nodes with several ranks, tell each other by themselves.
  bool agree_counts(execute::Call& call, HostCommunicator& host);

  /// What the cost model needs to know. Collective, after ready() said that calls of the collective are served: α and b
  /// of the links between neighbours, and of the plan on rank 0. Nothing, on all ranks, when it cannot be measured.
  std::optional<select::LinkFigures> measure_links(HostCommunicator& host, ProgressHook hook);
  [[nodiscard]] const select::PlanCost& plan_of(schedule::Collective collective) const {
    return parts_.plans.prospect(collective).cost;
  }
  /// The same on all ranks: whether calls that are short enough can go from rank to rank, whether allreduces can be
  /// reduced in parts there, and what becomes of this call.
  [[nodiscard]] bool can_go_direct(schedule::Collective collective) const {
    return !parts_.plans.plans_only() && parts_.direct.can_go(collective);
  }
  [[nodiscard]] bool can_be_scattered(schedule::Collective collective) const {
    return can_go_direct(collective) && collective == schedule::Collective::allreduce;
  }
  [[nodiscard]] Protocol select_protocol(const execute::Call& call) const {
    return parts_.choices.select(call, can_go_direct(call.collective));
  }
  /// How a call of that size goes, and what decides that. Nonblocking ones go by plans.
  [[nodiscard]] observe::CallProtocol protocol_of(CallKind kind, const execute::Call& call, std::int64_t bytes) const;
  /// In words, for log lines: "directly", "in parts", "through memory", "by ring".
  [[nodiscard]] std::string way_in_words(CallKind kind, const execute::Call& call) const;
  /// Segments where no choice says otherwise, and whether messages go through memory of one host, so that shorter ones
  /// gain nothing. The same on all ranks.
  [[nodiscard]] std::int64_t segment_bytes(schedule::Collective collective) const {
    return parts_.choices.segment_bytes(collective);
  }
  [[nodiscard]] bool share_memory() const { return parts_.members.share_memory(); }
  /// How calls go, whoever says so. The same on all ranks.
  [[nodiscard]] const select::SelectionTable& selection() const { return parts_.choices.table(); }
  /// As CallChoices has them.
  void add_rows(select::RowSource source, const std::vector<select::TuningChoice>& choices) {
    parts_.choices.add(source, choices);
  }
  void add_rows(select::RowSource source, const std::vector<select::TuningChoice>& choices, bool order_matters) {
    parts_.choices.add(source, choices, order_matters);
  }
  [[nodiscard]] bool has_learned(CallKind call, bool order_matters) const {
    return parts_.choices.has_learned(call, order_matters);
  }
  bool begins_learning(CallKind call, bool order_matters) {
    return parts_.choices.begins_learning(call, order_matters);
  }

  /// Runs one call; precondition: ready() has no reason, and for a protocol that is not the plan's that it is possible
  /// and the call short enough. False when the transport failed: the result is then undefined and the communicator
  /// serves no further calls.
  bool run(execute::Call call, ProgressHook hook, Protocol selected = Protocol::chosen);
  /// Whether a call of ranks that share memory is a short one, and goes by run_through_memory(). The same on all ranks.
  [[nodiscard]] bool is_short(const execute::Call& call) const {
    return parts_.shared_memory.serves_short(call) && select_protocol(call) == Protocol::planned;
  }
  /// As run(). Precondition: is_short(call).
  bool run_through_memory(const execute::Call& call, ProgressHook hook);
  /// Most bytes of a vector or block of such calls; 0: there are none of the collective.
  [[nodiscard]] std::int64_t most_short_bytes(schedule::Collective collective) const {
    return parts_.shared_memory.most_short_bytes(collective);
  }
  /// Of calls that need none no model knows what they take: they go through memory, or MPI has them. The same on all
  /// ranks.
  [[nodiscard]] bool needs_messages(CallKind kind) const {
    return !must_be_faster() && !parts_.shared_memory.has_stages(kind);
  }
  /// Whether ranks of a node read each other's blocks where they lie. The same on all ranks.
  [[nodiscard]] bool reads_neighbours() const {
    const Hierarchy* const hierarchy = parts_.members.hierarchy();
    const node::NodeMemory* const memory = hierarchy == nullptr ? nullptr : hierarchy->memory().get();
    return memory != nullptr && memory->neighbours() != nullptr;
  }
  /// A call that is not waited for here; precondition: begins() has no reason. The communicator must outlive it.
  /// `persistent`: of a persistent call.
  std::unique_ptr<RunningCall> make_call(execute::Call call, std::shared_ptr<PersistentContext> persistent);

 private:
  Communicator(Runtime& runtime, const HostCommunicator& host);
  explicit Communicator(const CommunicatorParts& original);

  /// As run(), where the protocol is known.
  bool run_by(execute::Call call, ProgressHook hook, Protocol selected);
  /// Which way a call goes, as ranks show it.
  enum class Way : std::uint8_t { native, memory, stages, planned, directly, scattered };
  /// Where this one does; null: nowhere.
  [[nodiscard]] node::CallWays* ways() const { return parts_.members.ways(); }
  /// A call begins. False when other ranks have left it to MPI.
  bool begin(const execute::Call& call, Way way, ProgressHook& hook);
  [[nodiscard]] Way way_of(const execute::Call& call, Protocol selected) const;
  /// Whose stages a blocking call goes through where nothing else is chosen; null: it goes by messages alone.
  [[nodiscard]] const Hierarchy* hierarchy_for(const execute::Call& call) const;
  /// Whether a call that goes by no other way than plans needs no messages.
  [[nodiscard]] bool goes_through_memory(CallKind kind, const execute::Call& call) const;
  /// The call that has just ended in vain, and all further ones. Under the runtime's lock.
  void leave_to_mpi();
  /// What becomes of the communicator after a call. Whether the call has a result.
  bool ends_well(bool good, bool lengths_differ);
  [[nodiscard]] Runtime& runtime() const { return parts_.members.runtime(); }
  /// For another communicator of the same ranks, with what they have agreed on so far. Null where it has to be agreed
  /// anew: who sends messages again knows communicators, and plans for a fabric that has changed are one
  /// communicator's.
  [[nodiscard]] std::unique_ptr<Communicator> copy() const;
  /// Of the last agreement of that group, where this rank knows one that still holds; otherwise null.
  static std::unique_ptr<Communicator> copy_of_group(Runtime& runtime, const std::vector<int>& world_ranks);
  /// Collective, before the first call of a copy.
  void take_over(HostCommunicator& host, const GroupMeeting& meeting, SpareMemory spare);
  std::optional<observe::Reason> agree(HostCommunicator& host);
  /// Why calls of the collective are not even asked about; nothing: they are.
  [[nodiscard]] std::optional<observe::Reason> obstacle_of(schedule::Collective collective, bool equal_shards) const;
  /// Makes the collective's plan known where calls may wait for it; collective.
  std::optional<observe::Reason> ask(schedule::Collective collective, HostCommunicator& host,
                                     Planning planning = Planning::as_configured);
  /// Collective; precondition: the turn was taken.
  std::optional<observe::Reason> open_channel(schedule::Collective collective, bool equal_shards,
                                              HostCommunicator& host, std::shared_ptr<PersistentContext>& persistent);
  /// Of a call that nobody waits for here.
  [[nodiscard]] plan::LoweredPlanPointer plan_for(const execute::Call& call, const PersistentContext* persistent) const;
  /// Runs a call from its beginning to its end.
  bool drive(RunningCall& running, ProgressHook hook);

  CommunicatorParts parts_;
};

}  // namespace libcoll::comm

#include "libcoll/comm/learned_rows.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "libcoll/base/clock.h"
#include "libcoll/base/log.h"
#include "libcoll/comm/trial.h"
#include "libcoll/observe/setup_times.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/plan/plan_source.h"
#include "libcoll/select/choice_file.h"
#include "libcoll/select/cost_model.h"
#include "libcoll/select/crossover.h"
#include "libcoll/select/measured_costs.h"

namespace libcoll::comm {

using namespace execute;
using namespace observe;
using namespace plan;
using namespace schedule;
using namespace select;

namespace {

constexpr std::int64_t contest_nanoseconds = 50'000'000;  ///< both ways together
constexpr std::int64_t nanoseconds_per_microsecond = 1000;
constexpr std::int64_t sampling_nanoseconds = 200'000'000;  ///< for each way

/// What rank 0 says when it knows nothing yet.
constexpr std::int64_t not_tried = -2;

/// What calls go by.
std::string transport_name(const Learner& learner) {
  return learner.communicator.nodes() == 1 ? "memory" : learner.runtime.transport().name();
}

CrossoverPlace crossover_place(const Learner& learner, CallKind kind) {
  Runtime& runtime = learner.runtime;
  const Collective collective = *collective_of(kind);
  CrossoverPlace place;
  place.directory = cache_directory(runtime.config().cache_dir);
  place.plan_file = plan_file_name(runtime.topology(), collective, algorithm_setting(runtime.config(), collective));
  place.call = kind;
  place.ranks = learner.communicator.size();
  place.nodes = learner.communicator.nodes();
  place.transport = transport_name(learner) + "-" + learner.host.mpi_library();
  return place;
}

/// Largest size that is left to MPI; never_native: none. The same on all ranks; collective.
std::int64_t obtain_crossover(const Learner& learner, CallKind kind) {
  HostCommunicator& host = learner.host;
  const bool root = host.rank() == 0;
  const CrossoverPlace place = root ? crossover_place(learner, kind) : CrossoverPlace();
  std::int64_t known = root ? load_crossover(place).value_or(not_tried) : not_tried;
  if (!host.broadcast(&known, sizeof known)) return never_native;
  if (known != not_tried) return known;
  Trial trial(learner, kind);
  const Contest contest{[&](std::int64_t bytes) { return trial.own(bytes, Protocol::chosen); },
                        [&](std::int64_t bytes) { return trial.native(bytes); }, trial.largest_bytes(),
                        contest_nanoseconds, &steady_nanoseconds};
  const std::optional<std::int64_t> found = find_crossover(host, contest);
  if (root && found) {
    const Status stored = store_crossover(place, *found);
    if (!stored) log(LogLevel::info, "measured times not kept: " + stored.error().message);
  }
  return found.value_or(never_native);
}

void learn_by_trial(const Learner& learner, CallKind kind) {
  const std::int64_t up_to = obtain_crossover(learner, kind);
  if (up_to >= 0) {
    TuningChoice native;
    native.call = kind;
    native.up_to_bytes = up_to;
    native.native = true;
    learner.communicator.add_rows(RowSource::measurement, {native});
  }
  if (learner.host.rank() != 0) return;
  log(LogLevel::info, learner.host.name() + ": " + std::string(to_string(kind)) +
                          (up_to >= 0 ? " is left to MPI up to " + std::to_string(up_to) + " bytes, as measured"
                                      : " is served at any size, as measured"));
}

// ---- cost model ---------------------------------------------------------------------------------------------------

ChoicePlace choice_place(const Learner& learner) {
  Runtime& runtime = learner.runtime;
  ChoicePlace place;
  place.directory = cache_directory(runtime.config().cache_dir);
  place.topology = topology_hash(runtime.topology());
  place.ranks = learner.communicator.size();
  place.nodes = learner.communicator.nodes();
  place.transport = transport_name(learner);
  place.mpi = learner.host.mpi_library();
  return place;
}

TuningTable load_kept(const ChoicePlace& place) {
  Result<std::optional<TuningTable>> kept = load_choices(place);
  if (!kept) log(LogLevel::warn, kept.error().message + "; measuring again");
  return kept.ok() && kept->has_value() ? std::move(**kept) : TuningTable();
}

/// Of this job, once rank 0 of some communicator has seen them: parts of the fabric are not measured by themselves.
class JobLinks {
 public:
  std::optional<LinkFigures> get() {
    const std::lock_guard guard(lock_);
    return links_;
  }
  void set(const LinkFigures& links) {
    const std::lock_guard guard(lock_);
    links_ = links;
  }

 private:
  std::mutex lock_;
  std::optional<LinkFigures> links_;
};
JobLinks job_links;

bool has_equal_blocks(CallKind kind) { return !is_rooted(kind) && !has_known_blocks(kind); }

/// Times all ways. Collective; false on all ranks when a call failed.
bool measure_ways(const Learner& learner, CallKind kind, CostQuestion& question) {
  const Communicator& communicator = learner.communicator;
  Trial trial(learner, kind);
  const std::int64_t largest = trial.largest_bytes();
  std::vector<SampledWay> ways;
  std::vector<std::vector<CostSample>*> samples;
  const auto add = [&](std::vector<CostSample>& of_way, std::int64_t up_to, std::function<bool(std::int64_t)> call) {
    ways.push_back({std::move(call), std::min(largest, up_to)});
    samples.push_back(&of_way);
  };
  const auto own = [&trial](Protocol selected) {
    return [&trial, selected](std::int64_t bytes) { return trial.own(bytes, selected); };
  };
  add(question.by_plan, largest, own(Protocol::planned));
  if (question.can_go_direct) {
    add(question.directly, DirectExchange::most_bytes / communicator.size(), own(Protocol::directly));
  }
  const bool can_be_scattered = kind == CallKind::allreduce && communicator.can_be_scattered(Collective::allreduce);
  if (can_be_scattered && communicator.needs_messages(kind)) {
    add(question.scattered, ScatteredReduction::most_bytes, own(Protocol::scattered));
  }
  add(question.native, largest, [&trial](std::int64_t bytes) { return trial.native(bytes); });
  auto found = sample_calls(learner.host, ways, trial.smallest_bytes(), sampling_nanoseconds, &steady_nanoseconds);
  for (std::size_t i = 0; found && i < samples.size(); ++i) *samples[i] = std::move((*found)[i]);
  return found.has_value();
}

/// Rank 0's figures of the links, as kept, seen by another communicator or measured now. Collective; false on all ranks
/// when they cannot be measured.
bool know_links(const Learner& learner, TuningTable& kept) {
  HostCommunicator& host = learner.host;
  if (host.rank() == 0 && !kept.links) kept.links = job_links.get();
  std::int64_t known = kept.links ? 1 : 0;
  if (!host.broadcast(&known, sizeof known)) return false;
  if (known != 0) return true;
  kept.links = learner.communicator.measure_links(host, learner.hook);
  return kept.links.has_value();
}

/// "8 bytes: native 85, plan 120, direct 61; 512 bytes: …", in microseconds.
std::string in_words(const CostQuestion& question) {
  const std::array<std::pair<std::string_view, const std::vector<CostSample>*>, 4> ways{
      {{"native", &question.native},
       {"plan", &question.by_plan},
       {"direct", &question.directly},
       {"scattered", &question.scattered}}};
  std::map<std::int64_t, std::string> sizes;
  for (const auto& [way, samples] : ways) {
    for (const CostSample& sample : *samples) {
      std::string& text = sizes[sample.bytes];
      text.append(text.empty() ? " " : ", ").append(way).append(" ");
      text.append(std::to_string(sample.nanoseconds / nanoseconds_per_microsecond));
    }
  }
  std::string text;
  for (const auto& [bytes, times] : sizes) {
    text.append(text.empty() ? "" : "; ").append(std::to_string(bytes)).append(" bytes:").append(times);
  }
  return text;
}

std::vector<TuningChoice> keep(const ChoicePlace& place, TuningTable& kept, std::vector<TuningChoice> choices) {
  kept.add(choices);
  const Status made = make_cache(place.directory);
  const Status stored = made ? store_choices(place, kept) : made;
  if (!stored) log(LogLevel::info, "choices not kept: " + stored.error().message);
  return choices;
}

/// Measures what is missing and asks the model; rank 0 has the answer, and keeps it. Collective.
std::vector<TuningChoice> ask_model(const Learner& learner, CallKind kind, const ChoicePlace& place,
                                    TuningTable& kept) {
  HostCommunicator& host = learner.host;
  const Communicator& communicator = learner.communicator;
  const bool root = host.rank() == 0;
  const bool has_messages = communicator.needs_messages(kind);
  if (has_messages && !know_links(learner, kept)) return {};
  const Collective collective = *collective_of(kind);
  const std::int32_t ranks = communicator.size();
  CostQuestion question;
  question.can_go_direct = has_messages && communicator.can_go_direct(collective) && has_equal_blocks(kind);
  if (!measure_ways(learner, kind, question) || !root) return {};
  log(LogLevel::info,
      host.name() + ": " + std::string(to_string(kind)) + " measured, in microseconds: " + in_words(question));
  if (!has_messages) return keep(place, kept, choose_by_samples(kind, ranks, question.by_plan, question.native));
  job_links.set(*kept.links);
  question.call = kind;
  question.ranks = ranks;
  question.links = *kept.links;
  question.plan = communicator.plan_of(collective);
  question.segment_bytes = communicator.segment_bytes(collective);
  question.share_memory = communicator.share_memory();
  question.in_flight = learner.runtime.config().in_flight;
  return keep(place, kept, choose_by_cost(question));
}

/// Rank 0's to everybody. False when MPI reported an error.
bool share(HostCommunicator& host, std::vector<TuningChoice>& choices) {
  static_assert(std::is_trivially_copyable_v<TuningChoice>);
  std::uint64_t count = choices.size();
  if (!host.broadcast(&count, sizeof count)) return false;
  choices.resize(count);
  return count == 0 || host.broadcast(choices.data(), count * sizeof(TuningChoice));
}

std::string_view way_in_words(const TuningChoice& choice) {
  if (choice.native) return "MPI";
  if (choice.scattered) return "in parts";
  return choice.direct ? "direct" : "the plan";
}

/// "MPI up to 64 bytes, direct up to 4096 bytes, the plan above"
std::string in_words(const std::vector<TuningChoice>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const TuningChoice& choice = choices[i];
    text.append(i == 0 ? "" : ", ").append(way_in_words(choice));
    if (choice.segment_bytes > 0) text.append(" in segments of ").append(std::to_string(choice.segment_bytes));
    if (choice.in_flight > 0) text.append(", ").append(std::to_string(choice.in_flight)).append(" in flight");
    const bool last = i + 1 == choices.size();
    text.append(last ? " above" : " up to " + std::to_string(choice.up_to_bytes) + " bytes");
  }
  return text.empty() ? "not known, the plan" : text;
}

void say(const HostCommunicator& host, CallKind kind, const TuningTable& kept, const std::string& how,
         const std::vector<TuningChoice>& choices) {
  std::string figures = how + ": ";
  if (kept.links) {
    figures.insert(0, "α = " + std::to_string(kept.links->alpha_nanoseconds) +
                          " ns, b = " + std::to_string(kept.links->bytes_per_second) + " B/s, ");
  }
  log(LogLevel::info,
      host.name() + ": " + std::string(to_string(kind)) + " by the cost model, " + figures + in_words(choices));
}

void learn_by_model(const Learner& learner, CallKind kind) {
  HostCommunicator& host = learner.host;
  const bool root = host.rank() == 0;
  const std::int32_t ranks = learner.communicator.size();
  const std::int64_t began = steady_nanoseconds();
  const ChoicePlace place = root ? choice_place(learner) : ChoicePlace();
  TuningTable kept = root ? load_kept(place) : TuningTable();
  std::int64_t found = kept.knows(kind, ranks) ? 1 : 0;
  if (!host.broadcast(&found, sizeof found)) return;
  std::vector<TuningChoice> choices;
  if (found == 0) {
    choices = ask_model(learner, kind, place, kept);
  } else {
    std::copy_if(kept.choices.begin(), kept.choices.end(), std::back_inserter(choices),
                 [&](const TuningChoice& choice) { return choice.call == kind && choice.ranks == ranks; });
  }
  if (!share(host, choices)) return;
  learner.communicator.add_rows(RowSource::cost_model, choices, false);
  const std::string how = found != 0 ? "as kept" : "as measured in " + in_seconds(steady_nanoseconds() - began) + " s";
  if (root) say(host, kind, kept, how, choices);
}

/// Of reductions whose bits depend on the way: what rank 0 knows of the links decides how messages are cut.
void learn_by_facts(const Learner& learner, CallKind kind) {
  HostCommunicator& host = learner.host;
  Communicator& communicator = learner.communicator;
  const bool root = host.rank() == 0;
  const std::int32_t ranks = communicator.size();
  if (!communicator.needs_messages(kind)) {
    const bool has_short_calls = has_equal_blocks(kind) && communicator.most_short_bytes(*collective_of(kind)) > 0;
    return communicator.add_rows(RowSource::cost_model, choose_by_facts_without_messages(kind, ranks, has_short_calls),
                                 true);
  }
  const Collective collective = *collective_of(kind);
  const ChoicePlace place = root ? choice_place(learner) : ChoicePlace();
  TuningTable kept = root ? load_kept(place) : TuningTable();
  const bool known = root && kept.links.has_value();
  const bool has_links = know_links(learner, kept);
  std::vector<TuningChoice> choices;
  if (root) {
    if (has_links && !known) keep(place, kept, {});
    if (has_links) job_links.set(*kept.links);
    CostQuestion question;
    question.call = kind;
    question.ranks = ranks;
    question.plan = communicator.plan_of(collective);
    question.segment_bytes = communicator.segment_bytes(collective);
    question.share_memory = communicator.share_memory();
    question.in_flight = learner.runtime.config().in_flight;
    if (has_links) question.links = *kept.links;
    const bool can_be_scattered = kind == CallKind::allreduce && communicator.can_be_scattered(collective);
    choices = choose_by_facts(question, can_be_scattered);
    if (!has_links) {
      for (TuningChoice& choice : choices) choice.segment_bytes = choice.in_flight = 0;
    }
  }
  if (!share(host, choices)) return;
  communicator.add_rows(RowSource::cost_model, choices, true);
  if (root) say(host, kind, kept, "where the order matters", choices);
}

}  // namespace

bool can_be_tried(CallKind call) {
  constexpr std::array kinds{
      CallKind::allreduce, CallKind::allgather, CallKind::allgatherv,     CallKind::alltoall,
      CallKind::bcast,     CallKind::reduce,    CallKind::reduce_scatter, CallKind::reduce_scatter_block};
  return std::find(kinds.begin(), kinds.end(), call) != kinds.end();
}

bool wants_cost_model(const Config& config, CallKind call, bool must_be_faster) {
  // Within a node measuring both ways is all there is to the model.
  const bool by_settings = must_be_faster ? config.cost_model || config.measure : config.cost_model && !config.measure;
  // Who names a planner wants its plans.
  return by_settings && config.tuning_table.empty() && can_be_tried(call) &&
         call_setting(config, call) == automatic_plan &&
         algorithm_setting(config, *collective_of(call)) == automatic_plan;
}

void learn_rows(const Learner& learner, CallKind call, bool order_matters) {
  const Config& config = learner.runtime.config();
  Communicator& communicator = learner.communicator;
  if (!communicator.begins_learning(call, order_matters)) return;
  if (config.measure && !communicator.must_be_faster() && config.tuning_table.empty() && can_be_tried(call)) {
    // Calls of both sorts are tried as one.
    if (communicator.begins_learning(call, !order_matters)) learn_by_trial(learner, call);
  } else if (wants_cost_model(config, call, communicator.must_be_faster())) {
    (order_matters ? learn_by_facts : learn_by_model)(learner, call);
  }
  communicator.keep_agreement();
}

}  // namespace libcoll::comm

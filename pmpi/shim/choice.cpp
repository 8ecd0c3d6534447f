#include "pmpi/shim/choice.h"

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
#include "libcoll/observe/setup_times.h"
#include "libcoll/plan/plan_cache.h"
#include "libcoll/plan/plan_source.h"
#include "libcoll/select/choice_file.h"
#include "libcoll/select/cost_model.h"
#include "libcoll/select/crossover.h"
#include "libcoll/select/measured_costs.h"

namespace libcoll::pmpi {
namespace {

constexpr std::int64_t word_bytes = 8;
constexpr std::int64_t largest_vector = 256 * 1024;
constexpr std::int64_t largest_buffer = 4 * 1024 * 1024;  ///< of all blocks together
constexpr std::int64_t contest_nanoseconds = 50'000'000;  ///< both ways together
constexpr std::int64_t nanoseconds_per_microsecond = 1000;
constexpr std::int64_t sampling_nanoseconds = 200'000'000;  ///< for each way

/// What rank 0 says when it knows nothing yet.
constexpr std::int64_t not_tried = -2;

void or_words(const void*, void* destination, const void* left, const void* right, std::int64_t elements) noexcept {
  auto* to = static_cast<std::uint64_t*>(destination);
  const auto* a = static_cast<const std::uint64_t*>(left);
  const auto* b = static_cast<const std::uint64_t*>(right);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = a[i] | b[i];
}

/// Calls of one kind with memory and a communicator of their own, both ways. The root of rooted ones is rank 0.
class Trial {
 public:
  Trial(Communicator& communicator, CallKind kind, MPI_Comm comm)
      : communicator_(communicator), kind_(kind), comm_(own_of(comm)), ranks_(communicator.size()) {
    const auto words = static_cast<std::size_t>(ranks_ * largest_bytes() / word_bytes);
    input_.resize(words);
    output_.resize(words);
  }

  /// Within a node nothing is known of longer calls but what the longest of these show.
  [[nodiscard]] std::int64_t largest_bytes() const {
    const std::int64_t largest = communicator_.must_be_faster() ? largest_buffer : largest_vector;
    return std::max(word_bytes, std::min(largest, largest_buffer / ranks_));
  }

  /// Of shorter vectors a plan moves fewer shards than of all others: what they take says nothing of those.
  [[nodiscard]] std::int64_t smallest_bytes() const {
    const std::int64_t least = kind_ == CallKind::allreduce ? word_bytes * ranks_ : word_bytes;
    return std::min(least, largest_bytes());
  }

  bool own(std::int64_t bytes, Protocol selected) {
    Call call;
    call.collective = *collective_of(kind_);
    call.input = reinterpret_cast<const std::byte*>(input_.data());
    call.output = reinterpret_cast<std::byte*>(output_.data());
    call.elements = bytes / word_bytes;
    call.element_bytes = word_bytes;
    call.reducer = {&or_words, nullptr};
    if (is_rooted(kind_)) {
      call.counts.assign(static_cast<std::size_t>(ranks_), 0);
      call.counts.front() = call.elements;
      std::vector<std::int64_t>& offsets = kind_ == CallKind::bcast ? call.output_offsets : call.input_offsets;
      offsets.assign(static_cast<std::size_t>(ranks_), 0);
    }
    return communicator_.run(call, {&progress_mpi}, selected);
  }

  bool native(std::int64_t bytes) {
    const auto type = MPI_BYTE;
    const auto op = MPI_BOR;
    const int count = static_cast<int>(bytes);
    switch (kind_) {
      case CallKind::allreduce:
        return PMPI_Allreduce(input_.data(), output_.data(), count, type, op, comm_) == MPI_SUCCESS;
      case CallKind::allgather:
        return PMPI_Allgather(input_.data(), count, type, output_.data(), count, type, comm_) == MPI_SUCCESS;
      case CallKind::alltoall:
        return PMPI_Alltoall(input_.data(), count, type, output_.data(), count, type, comm_) == MPI_SUCCESS;
      case CallKind::reduce_scatter_block:
        return PMPI_Reduce_scatter_block(input_.data(), output_.data(), count, type, op, comm_) == MPI_SUCCESS;
      case CallKind::bcast:
        return PMPI_Bcast(output_.data(), count, type, 0, comm_) == MPI_SUCCESS;
      case CallKind::reduce:
        return PMPI_Reduce(input_.data(), output_.data(), count, type, op, 0, comm_) == MPI_SUCCESS;
      default:
        return false;
    }
  }

 private:
  Communicator& communicator_;
  const CallKind kind_;
  const MPI_Comm comm_;
  const std::int64_t ranks_;
  std::vector<std::uint64_t> input_;
  std::vector<std::uint64_t> output_;
};

/// Calls whose size is known to be equal on all ranks.
bool can_be_tried(CallKind kind) {
  constexpr std::array kinds{CallKind::allreduce, CallKind::allgather,
                             CallKind::alltoall,  CallKind::reduce_scatter_block,
                             CallKind::bcast,     CallKind::reduce};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string cache_directory(const Runtime& process) {
  const std::string& directory = process.config().cache_dir;
  return directory.empty() ? default_cache_dir() : directory;
}

CrossoverPlace place_of(Runtime& process, const CommunicatorState& state, CallKind kind) {
  CrossoverPlace place;
  const Collective collective = *collective_of(kind);
  place.directory = cache_directory(process);
  place.plan_file = plan_file_name(process.topology(), collective, algorithm_setting(process.config(), collective));
  place.call = kind;
  place.ranks = state.communicator->size();
  place.nodes = state.communicator->nodes();
  place.transport = process.transport().name();
  return place;
}

/// The same on all ranks; collective.
std::int64_t obtain(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm) {
  MpiHost host(comm);
  const bool root = host.rank() == 0;
  const CrossoverPlace place = root ? place_of(process, state, kind) : CrossoverPlace();
  std::int64_t known = root ? load_crossover(place).value_or(not_tried) : not_tried;
  if (!host.broadcast(&known, sizeof known)) return never_native;
  if (known != not_tried) return known;
  // These calls are not the program's.
  state.communicator->keep_record(nullptr);
  Trial trial(*state.communicator, kind, comm);
  const Contest contest{[&](std::int64_t bytes) { return trial.own(bytes, Protocol::chosen); },
                        [&](std::int64_t bytes) { return trial.native(bytes); }, trial.largest_bytes(),
                        contest_nanoseconds, &steady_nanoseconds};
  const std::optional<std::int64_t> found = find_crossover(host, contest);
  state.communicator->keep_record(state.record);
  if (root && found) {
    const Status stored = store_crossover(place, *found);
    if (!stored) log(LogLevel::info, "measured times not kept: " + stored.error().message);
  }
  return found.value_or(never_native);
}

// ---- cost model ---------------------------------------------------------------------------------------------------

ChoicePlace choice_place_of(Runtime& process, const CommunicatorState& state) {
  ChoicePlace place;
  place.directory = cache_directory(process);
  place.topology = topology_hash(process.topology());
  place.ranks = state.communicator->size();
  place.nodes = state.communicator->nodes();
  place.transport = process.transport().name();
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

/// Times all ways by themselves, as programs call them: in a row. Collective; false on all ranks when a call failed.
bool measure_ways(CommunicatorState& state, CallKind kind, MPI_Comm comm, CostQuestion& question) {
  MpiHost host(comm);
  Communicator& communicator = *state.communicator;
  communicator.keep_record(nullptr);  // these calls are not the program's
  Trial trial(communicator, kind, comm);
  const auto sample = [&](const auto& way, std::int64_t largest, std::vector<CostSample>& samples) {
    const Measurable repeated = [&way](std::int64_t bytes, int times) {
      for (int call = 0; call < times; ++call) {
        if (!way(bytes)) return false;
      }
      return true;
    };
    auto found =
        sample_calls(host, repeated, largest, sampling_nanoseconds, &steady_nanoseconds, trial.smallest_bytes());
    if (found) samples = std::move(*found);
    return found.has_value();
  };
  const auto own = [&trial](Protocol selected) {
    return [&trial, selected](std::int64_t bytes) { return trial.own(bytes, selected); };
  };
  const std::int64_t largest = trial.largest_bytes();
  const std::int64_t largest_direct = std::min(largest, DirectExchange::most_bytes / communicator.size());
  const std::int64_t largest_scattered = std::min(largest, ScatteredReduction::most_bytes);
  const bool can_be_scattered = kind == CallKind::allreduce && communicator.can_be_scattered(Collective::allreduce);
  const bool good = sample(own(Protocol::planned), largest, question.by_plan) &&
                    (!question.can_go_direct || sample(own(Protocol::directly), largest_direct, question.directly)) &&
                    (!can_be_scattered || sample(own(Protocol::scattered), largest_scattered, question.scattered)) &&
                    sample([&](std::int64_t bytes) { return trial.native(bytes); }, largest, question.native);
  communicator.keep_record(state.record);
  return good;
}

/// Rank 0's figures of the links, as kept, seen by another communicator or measured now. Collective; false on all ranks
/// when they cannot be measured.
bool know_links(HostCommunicator& host, Communicator& communicator, TuningTable& kept) {
  if (host.rank() == 0 && !kept.links) kept.links = job_links.get();
  std::int64_t known = kept.links ? 1 : 0;
  if (!host.broadcast(&known, sizeof known)) return false;
  if (known != 0) return true;
  kept.links = communicator.measure_links(host, {&progress_mpi});
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
  const Status stored = store_choices(place, kept);
  if (!stored) log(LogLevel::info, "choices not kept: " + stored.error().message);
  return choices;
}

/// Measures what is missing and asks the model; rank 0 has the answer, and keeps it. Collective.
std::vector<TuningChoice> ask_model(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm,
                                    const ChoicePlace& place, TuningTable& kept) {
  MpiHost host(comm);
  Communicator& communicator = *state.communicator;
  const bool root = host.rank() == 0;
  const bool has_fabric = !communicator.must_be_faster();
  if (has_fabric && !know_links(host, communicator, kept)) return {};
  const Collective collective = *collective_of(kind);
  const std::int32_t ranks = communicator.size();
  CostQuestion question;
  question.can_go_direct = communicator.can_go_direct(collective) && !is_rooted(kind);
  if (!measure_ways(state, kind, comm, question) || !root) return {};
  log(LogLevel::info,
      host.name() + ": " + std::string(to_string(kind)) + " measured, in microseconds: " + in_words(question));
  if (!has_fabric) return keep(place, kept, choose_by_samples(kind, ranks, question.by_plan, question.native));
  job_links.set(*kept.links);
  question.call = kind;
  question.ranks = ranks;
  question.links = *kept.links;
  question.plan = communicator.plan_of(collective);
  question.segment_bytes = communicator.segment_bytes();
  question.share_memory = communicator.share_memory();
  question.in_flight = process.config().in_flight;
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

void obtain_choices(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm) {
  MpiHost host(comm);
  const bool root = host.rank() == 0;
  const std::int32_t ranks = state.communicator->size();
  const std::int64_t began = steady_nanoseconds();
  const ChoicePlace place = root ? choice_place_of(process, state) : ChoicePlace();
  TuningTable kept = root ? load_kept(place) : TuningTable();
  std::int64_t found = kept.knows(kind, ranks) ? 1 : 0;
  if (!host.broadcast(&found, sizeof found)) return;
  std::vector<TuningChoice> choices;
  if (found == 0) {
    choices = ask_model(process, state, kind, comm, place, kept);
  } else {
    std::copy_if(kept.choices.begin(), kept.choices.end(), std::back_inserter(choices),
                 [&](const TuningChoice& choice) { return choice.call == kind && choice.ranks == ranks; });
  }
  if (!share(host, choices)) return;
  state.communicator->add_choices(choices, false);
  const std::string how = found != 0 ? "as kept" : "as measured in " + in_seconds(steady_nanoseconds() - began) + " s";
  if (root) say(host, kind, kept, how, choices);
}

/// Of reductions whose bits depend on the way: what rank 0 knows of the links decides how messages are cut.
void obtain_by_facts(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm) {
  MpiHost host(comm);
  Communicator& communicator = *state.communicator;
  const bool root = host.rank() == 0;
  const std::int32_t ranks = communicator.size();
  if (communicator.must_be_faster()) {
    return communicator.add_choices(choose_by_facts_within_node(kind, ranks), true);
  }
  const Collective collective = *collective_of(kind);
  const ChoicePlace place = root ? choice_place_of(process, state) : ChoicePlace();
  TuningTable kept = root ? load_kept(place) : TuningTable();
  const bool known = root && kept.links.has_value();
  const bool has_links = know_links(host, communicator, kept);
  std::vector<TuningChoice> choices;
  if (root) {
    if (has_links && !known) keep(place, kept, {});
    if (has_links) job_links.set(*kept.links);
    CostQuestion question;
    question.call = kind;
    question.ranks = ranks;
    question.plan = communicator.plan_of(collective);
    question.segment_bytes = communicator.segment_bytes();
    question.share_memory = communicator.share_memory();
    question.in_flight = process.config().in_flight;
    if (has_links) question.links = *kept.links;
    const bool can_be_scattered = kind == CallKind::allreduce && communicator.can_be_scattered(collective);
    choices = choose_by_facts(question, can_be_scattered);
    if (!has_links) {
      for (TuningChoice& choice : choices) choice.segment_bytes = choice.in_flight = 0;
    }
  }
  if (!share(host, choices)) return;
  communicator.add_choices(choices, true);
  if (root) say(host, kind, kept, "where the order matters", choices);
}

/// Within a node measuring both ways is all there is to the model.
bool wants_model(const Config& config, const Communicator& communicator, CallKind kind) {
  const bool by_settings =
      communicator.must_be_faster() ? config.cost_model || config.measure : config.cost_model && !config.measure;
  // Who names a planner wants its plans.
  return by_settings && config.tuning_table.empty() && can_be_tried(kind) &&
         call_setting(config, kind) == automatic_plan &&
         algorithm_setting(config, *collective_of(kind)) == automatic_plan;
}

}  // namespace

bool measured_to_native(Runtime& process, CommunicatorState& state, CallKind kind, MPI_Comm comm, std::int64_t bytes) {
  if (!can_be_tried(kind)) return false;
  std::optional<std::int64_t>& up_to = state.native_up_to[static_cast<std::size_t>(kind)];
  if (!up_to) {
    up_to = obtain(process, state, kind, comm);
    const MpiHost host(comm);
    if (host.rank() == 0) {
      log(LogLevel::info, host.name() + ": " + std::string(to_string(kind)) +
                              (*up_to >= 0 ? " is left to MPI up to " + std::to_string(*up_to) + " bytes, as measured"
                                           : " is served at any size, as measured"));
    }
  }
  return bytes <= *up_to;
}

bool modelled_to_native(Runtime& process, CommunicatorState& state, const CallContext& context, std::int64_t bytes) {
  const auto kind = static_cast<std::size_t>(context.kind);
  bool& asked = context.order_matters ? state.modelled_by_facts[kind] : state.modelled[kind];
  if (!asked) {
    asked = true;
    if (wants_model(process.config(), *state.communicator, context.kind)) {
      (context.order_matters ? obtain_by_facts : obtain_choices)(process, state, context.kind, context.comm);
    }
  }
  const TuningChoice* choice = state.communicator->modelled(context.kind, bytes, context.order_matters);
  return choice != nullptr && choice->native;
}

bool is_proven(const Communicator& communicator, const CallContext& context, std::int64_t bytes) {
  return bytes != unknown_bytes && (communicator.tuned(blocking_variant(context.kind), bytes) != nullptr ||
                                    communicator.modelled(context.kind, bytes, context.order_matters) != nullptr);
}

bool can_be_proven(const Communicator& communicator, const CallContext& context, std::int64_t bytes) {
  return is_proven(communicator, context, bytes) || (bytes != unknown_bytes && can_be_tried(context.kind));
}

}  // namespace libcoll::pmpi

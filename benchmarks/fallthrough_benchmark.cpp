// What interposition adds to a call that is left to MPI: the call by its name beside the same call as MPI's library has
// it, in turn, within one process. Without the preloaded library both are the same function, and added_ns shows what
// this can tell apart.
//   [LD_PRELOAD=libcoll_pmpi.so] [mpirun -n 2] fallthrough_benchmark (under MPICH fallthrough_benchmark_mpich)
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

namespace {

#ifdef OPEN_MPI
constexpr const char* mpi_library = "libmpi.so.40";
#else
constexpr const char* mpi_library = "libmpich.so.12";
#endif

/// MPI's own definition of a function.
template <class Function>
Function* native(Function* /*type*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen(mpi_library, RTLD_LAZY | RTLD_NOLOAD), name));
}
const auto native_allreduce = native(&PMPI_Allreduce, "PMPI_Allreduce");
const auto native_allgather = native(&PMPI_Allgather, "PMPI_Allgather");
const auto native_bcast = native(&PMPI_Bcast, "PMPI_Bcast");

// The same number on all ranks, for calls meet each other.
constexpr int rounds = 500;
constexpr int calls_per_round = 1000;

using Clock = std::chrono::steady_clock;

/// Nanoseconds of one call, of calls in a row.
struct InARow {
  template <class Function>
  static double time_of(Function call) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls_per_round; ++i) call();
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls_per_round;
  }
};

/// The same of calls that come after waiting, as in programs and in collective_sweep, where the same way through a call
/// was seen to take twice as long. Two looks at the clock are part of it, both ways.
struct AfterBarriers {
  template <class Function>
  static double time_of(Function call) {
    Clock::duration total{};
    for (int i = 0; i < calls_per_round; ++i) {
      PMPI_Barrier(MPI_COMM_WORLD);
      const Clock::time_point begin = Clock::now();
      call();
      total += Clock::now() - begin;
    }
    return std::chrono::duration<double, std::nano>(total).count() / calls_per_round;
  }
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Every iteration is a round of one and a round of the other; which comes first alternates.
template <class Timing = InARow, class Interposed, class Native>
void compare(benchmark::State& state, Interposed interposed, Native native) {
  std::vector<double> interposed_times;
  std::vector<double> native_times;
  std::vector<double> added;
  interposed();  // what is set up once is no part of it
  native();
  for (bool swap = false; state.KeepRunning(); swap = !swap) {
    double interposed_time = 0;
    double native_time = 0;
    if (swap) native_time = Timing::time_of(native);
    interposed_time = Timing::time_of(interposed);
    if (!swap) native_time = Timing::time_of(native);
    interposed_times.push_back(interposed_time);
    native_times.push_back(native_time);
    added.push_back(interposed_time - native_time);
  }
  state.counters["call_ns"] = median(interposed_times);
  state.counters["native_ns"] = median(native_times);
  state.counters["added_ns"] = median(added);
}

template <class Timing>
void allreduce(benchmark::State& state, MPI_Comm comm) {
  std::array<double, 1> sent{1};
  std::array<double, 1> received{};
  compare<Timing>(
      state, [&] { MPI_Allreduce(sent.data(), received.data(), 1, MPI_DOUBLE, MPI_SUM, comm); },
      [&] { native_allreduce(sent.data(), received.data(), 1, MPI_DOUBLE, MPI_SUM, comm); });
}

void add(void* input, void* in_out, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<double*>(in_out)[i] += static_cast<double*>(input)[i];
}

void allreduce_of_user_operation(benchmark::State& state, MPI_Comm comm) {
  std::array<double, 1> sent{1};
  std::array<double, 1> received{};
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(&add, 1, &op);
  compare(
      state, [&] { MPI_Allreduce(sent.data(), received.data(), 1, MPI_DOUBLE, op, comm); },
      [&] { native_allreduce(sent.data(), received.data(), 1, MPI_DOUBLE, op, comm); });
  MPI_Op_free(&op);
}

void allgather(benchmark::State& state, MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const double sent = 1;
  std::vector<double> received(static_cast<std::size_t>(ranks));
  compare(
      state, [&] { MPI_Allgather(&sent, 1, MPI_DOUBLE, received.data(), 1, MPI_DOUBLE, comm); },
      [&] { native_allgather(&sent, 1, MPI_DOUBLE, received.data(), 1, MPI_DOUBLE, comm); });
}

void bcast(benchmark::State& state, MPI_Comm comm) {
  double value = 1;
  compare(
      state, [&] { MPI_Bcast(&value, 1, MPI_DOUBLE, 0, comm); }, [&] { native_bcast(&value, 1, MPI_DOUBLE, 0, comm); });
}

/// Two calls on communicators in turn, for what is remembered of the last one.
void allreduce_on_two(benchmark::State& state) {
  std::array<double, 1> sent{1};
  std::array<double, 1> received{};
  std::array<MPI_Comm, 2> comms{MPI_COMM_SELF, MPI_COMM_NULL};
  MPI_Comm_dup(MPI_COMM_SELF, &comms[1]);
  std::size_t turn = 0;
  compare(
      state, [&] { MPI_Allreduce(sent.data(), received.data(), 1, MPI_DOUBLE, MPI_SUM, comms.at(turn++ % 2)); },
      [&] { native_allreduce(sent.data(), received.data(), 1, MPI_DOUBLE, MPI_SUM, comms.at(turn++ % 2)); });
  MPI_Comm_free(&comms[1]);
}

/// Says nothing; every rank runs the benchmarks, and one reports.
class Silent final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  benchmark::Initialize(&argc, argv);
  const auto on = [](const char* name, auto function, MPI_Comm comm) {
    benchmark::RegisterBenchmark(name, function, comm)->Iterations(rounds);
  };
  on("allreduce/self", &allreduce<InARow>, MPI_COMM_SELF);
  on("allreduce/world", &allreduce<InARow>, MPI_COMM_WORLD);
  on("allreduce/world/after_barriers", &allreduce<AfterBarriers>, MPI_COMM_WORLD);
  on("allreduce/self/user_operation", &allreduce_of_user_operation, MPI_COMM_SELF);
  on("allgather/self", &allgather, MPI_COMM_SELF);
  on("bcast/self", &bcast, MPI_COMM_SELF);
  on("bcast/world", &bcast, MPI_COMM_WORLD);
  benchmark::RegisterBenchmark("allreduce/two_communicators", &allreduce_on_two)->Iterations(rounds);
  Silent silent;
  if (rank == 0) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    benchmark::RunSpecifiedBenchmarks(&silent);
  }
  MPI_Finalize();
  return 0;
}

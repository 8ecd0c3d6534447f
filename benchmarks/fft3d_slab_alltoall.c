/* A three-dimensional FFT, slabs over ranks, as simulation codes write it: two-dimensional FFTs of the planes, pack,
 * MPI_Alltoall, unpack, one-dimensional FFTs along what was distributed. Forward and backward transforms of plane
 * waves, checked against the known spectrum and against the field itself; time by phase.
 *
 *   fft3d_slab_alltoall [N [REPETITIONS]]       an N×N×N box, 64 and 10 by default, N a multiple of the ranks */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_mpi.h"
#include "plane_waves.h"

enum Phase { phase_fft, phase_pack, phase_alltoall, phase_unpack, phase_count };
static const char* const phase_names[phase_count] = {"FFT", "pack", "all-to-all", "unpack"};

struct Transform {
  int n;
  int ranks;
  int rank;
  int planes; /* n / ranks: of the field along its first axis, of the spectrum along its second */
  long calls;
  double seconds[phase_count];
  double first_pair;
  fftw_complex* field;    /* [planes][n][n]: j0 − rank·planes, j1, j2 */
  fftw_complex* spectrum; /* [planes][n][n]: k1 − rank·planes, k0, k2 */
  fftw_complex* packed;   /* [ranks][planes of axis 0][planes of axis 1][n] */
  fftw_complex* received;
  fftw_plan planes_plan[2];  /* forward, backward: over axes 1 and 2 of `field` */
  fftw_plan columns_plan[2]; /* over axis 0 of `spectrum` */
  struct PlaneWaves waves;
};

static size_t elements(const struct Transform* transform) {
  return (size_t)transform->planes * (size_t)transform->n * (size_t)transform->n;
}

static fftw_plan plan_planes(struct Transform* transform, int sign) {
  const int lengths[2] = {transform->n, transform->n};
  const int plane = transform->n * transform->n;
  return fftw_plan_many_dft(2, lengths, transform->planes, transform->field, NULL, 1, plane, transform->field, NULL, 1,
                            plane, sign, FFTW_ESTIMATE);
}

/* Axis 0 has stride n in `spectrum`; the guru interface loops over k1 and k2. */
static fftw_plan plan_columns(struct Transform* transform, int sign) {
  const int n = transform->n;
  const fftw_iodim along = {n, n, n};
  const fftw_iodim loops[2] = {{transform->planes, n * n, n * n}, {n, 1, 1}};
  return fftw_plan_guru_dft(1, &along, 2, loops, transform->spectrum, transform->spectrum, sign, FFTW_ESTIMATE);
}

static int make_transform(struct Transform* transform, int n) {
  transform->n = n;
  transform->planes = n / transform->ranks;
  fftw_complex** const arrays[] = {&transform->field, &transform->spectrum, &transform->packed, &transform->received};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    *arrays[i] = fftw_alloc_complex(elements(transform));
    if (*arrays[i] == NULL) return 0;
  }
  transform->waves = plane_waves_make(n);
  for (int backward = 0; backward < 2; ++backward) {
    const int sign = backward ? FFTW_BACKWARD : FFTW_FORWARD;
    transform->planes_plan[backward] = plan_planes(transform, sign);
    transform->columns_plan[backward] = plan_columns(transform, sign);
    if (transform->planes_plan[backward] == NULL || transform->columns_plan[backward] == NULL) return 0;
  }
  return transform->waves.roots != NULL;
}

static void free_transform(struct Transform* transform) {
  for (int backward = 0; backward < 2; ++backward) {
    fftw_destroy_plan(transform->planes_plan[backward]);
    fftw_destroy_plan(transform->columns_plan[backward]);
  }
  fftw_free(transform->field);
  fftw_free(transform->spectrum);
  fftw_free(transform->packed);
  fftw_free(transform->received);
  plane_waves_free(&transform->waves);
}

/* Copies rows of axis 2 between a slab and the blocks of the exchange: block r, plane a of axis 0, plane b of axis 1.
 */
enum Direction { slab_to_blocks, blocks_to_slab };

static void copy_rows(const struct Transform* transform, fftw_complex* slab, fftw_complex* blocks, int spectral,
                      enum Direction direction) {
  const ptrdiff_t n = transform->n;
  const ptrdiff_t planes = transform->planes;
  for (ptrdiff_t row = 0; row < transform->ranks * planes * planes; ++row) {
    const ptrdiff_t block = row / (planes * planes);
    const ptrdiff_t axis0 = row / planes % planes;
    const ptrdiff_t axis1 = row % planes;
    const ptrdiff_t slab_row = spectral ? axis1 * n + block * planes + axis0 : axis0 * n + block * planes + axis1;
    fftw_complex* in_slab = slab + slab_row * n;
    fftw_complex* in_blocks = blocks + row * n;
    if (direction == slab_to_blocks) {
      memcpy(in_blocks, in_slab, (size_t)n * sizeof *slab);
    } else {
      memcpy(in_slab, in_blocks, (size_t)n * sizeof *slab);
    }
  }
}

static double lap(struct Transform* transform, enum Phase phase, double since) {
  const double now = MPI_Wtime();
  transform->seconds[phase] += now - since;
  return now;
}

/* `from` and `to` are slabs; `spectral` says which of the two is the spectrum's. */
static double exchange(struct Transform* transform, fftw_complex* from, fftw_complex* to, int to_spectral,
                       double time) {
  const int count = transform->planes * transform->planes * transform->n;
  copy_rows(transform, from, transform->packed, !to_spectral, slab_to_blocks);
  time = lap(transform, phase_pack, time);
  ++transform->calls;
  MPI_Alltoall(transform->packed, count, MPI_C_DOUBLE_COMPLEX, transform->received, count, MPI_C_DOUBLE_COMPLEX,
               MPI_COMM_WORLD);
  time = lap(transform, phase_alltoall, time);
  copy_rows(transform, to, transform->received, to_spectral, blocks_to_slab);
  return lap(transform, phase_unpack, time);
}

static void forward(struct Transform* transform) {
  double time = MPI_Wtime();
  fftw_execute(transform->planes_plan[0]);
  time = lap(transform, phase_fft, time);
  time = exchange(transform, transform->field, transform->spectrum, 1, time);
  fftw_execute(transform->columns_plan[0]);
  lap(transform, phase_fft, time);
}

static void backward(struct Transform* transform) {
  double time = MPI_Wtime();
  fftw_execute(transform->columns_plan[1]);
  time = lap(transform, phase_fft, time);
  time = exchange(transform, transform->spectrum, transform->field, 0, time);
  fftw_execute(transform->planes_plan[1]);
  lap(transform, phase_fft, time);
}

struct Index {
  ptrdiff_t slab;
  ptrdiff_t middle;
  ptrdiff_t last;
};

static struct Index index_of(const struct Transform* transform, size_t element) {
  const size_t n = (size_t)transform->n;
  const struct Index index = {(ptrdiff_t)(element / (n * n)) + (ptrdiff_t)transform->rank * transform->planes,
                              (ptrdiff_t)(element / n % n), (ptrdiff_t)(element % n)};
  return index;
}

static void fill_field(struct Transform* transform) {
  for (size_t i = 0; i < elements(transform); ++i) {
    const struct Index j = index_of(transform, i);
    transform->field[i] = plane_waves_field(&transform->waves, j.slab, j.middle, j.last);
  }
}

static double field_error(const struct Transform* transform) {
  const double points = pow(transform->n, 3);
  double largest = 0;
  for (size_t i = 0; i < elements(transform); ++i) {
    const struct Index j = index_of(transform, i);
    const double complex truth = plane_waves_field(&transform->waves, j.slab, j.middle, j.last);
    largest = fmax(largest, cabs(transform->field[i] / points - truth));
  }
  return largest;
}

static double spectrum_error(const struct Transform* transform, uint64_t* digest) {
  const double points = pow(transform->n, 3);
  double largest = 0;
  for (size_t i = 0; i < elements(transform); ++i) {
    const struct Index k = index_of(transform, i);
    const double complex truth = plane_waves_spectrum(&transform->waves, k.middle, k.slab, k.last);
    largest = fmax(largest, cabs(transform->spectrum[i] / points - truth));
  }
  *digest = digest_bytes(*digest, transform->spectrum, elements(transform) * sizeof *transform->spectrum);
  return largest;
}

static double largest_of_all(double value) {
  double largest = 0;
  MPI_Reduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Bcast(&largest, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return largest;
}

/* The first pair also makes connections and, where libcoll is loaded, reads the plan: kept apart. */
static void end_first_pair(struct Transform* transform) {
  for (int phase = 0; phase < phase_count; ++phase) {
    transform->first_pair += transform->seconds[phase];
    transform->seconds[phase] = 0;
  }
}

/* Collective. Mean over ranks and repetitions, in microseconds. */
static void print_times(const struct Transform* transform, int repetitions) {
  double sums[phase_count] = {0};
  double total = 0;
  double first = 0;
  MPI_Reduce(transform->seconds, sums, phase_count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&transform->first_pair, &first, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (transform->rank != 0) return;
  for (int phase = 0; phase < phase_count; ++phase) {
    const double seconds = sums[phase] / transform->ranks / repetitions;
    total += seconds;
    printf("# Time in %s: %.1f us per pair of transforms\n", phase_names[phase], seconds * 1e6);
  }
  printf("# Time of a first pair, not counted: %.6f s\n", first / transform->ranks);
  printf("# Time: %.6f s per pair of transforms\n", total);
}

static int run(struct Transform* transform, int repetitions) {
  double error = 0;
  double round_trip_error = 0;
  uint64_t digest = 0;
  for (int i = 0; i <= repetitions; ++i) {
    fill_field(transform);
    MPI_Barrier(MPI_COMM_WORLD);
    forward(transform);
    error = fmax(error, spectrum_error(transform, &digest));
    MPI_Barrier(MPI_COMM_WORLD);
    backward(transform);
    round_trip_error = fmax(round_trip_error, field_error(transform));
    if (i == 0) end_first_pair(transform);
  }
  error = largest_of_all(error);
  round_trip_error = largest_of_all(round_trip_error);
  digest = digest_ranks(digest, MPI_COMM_WORLD);
  const double tolerance = plane_waves_tolerance(&transform->waves);
  const int correct = fmax(error, round_trip_error) <= tolerance;
  if (transform->rank == 0) {
    printf("# Error of the spectrum: %.2e, of the round trip: %.2e, accepted: %.2e\n", error, round_trip_error,
           tolerance);
    if (!correct) fprintf(stderr, "fft3d_slab_alltoall: the transform is wrong.\n");
  }
  print_times(transform, repetitions);
  if (transform->rank == 0) printf("# Checksum: %016llx\n", (unsigned long long)digest);
  return correct;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct Transform transform = {.n = 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &transform.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &transform.ranks);
  const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 64;
  const long repetitions = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
  int status = 2;
  if (n < 16 || n > 1024 || n % transform.ranks != 0 || repetitions < 1 || repetitions > 10000) {
    if (transform.rank == 0) {
      fprintf(stderr, "usage: fft3d_slab_alltoall [N [REPETITIONS]], N from 16 to 1024 and a multiple of the ranks\n");
    }
  } else if (!make_transform(&transform, (int)n)) {
    fprintf(stderr, "fft3d_slab_alltoall: rank %d could not plan the transform.\n", transform.rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  } else {
    if (transform.rank == 0) {
      printf("# FFT of %ld x %ld x %ld by FFTW on slabs and MPI_Alltoall, %d ranks\n", n, n, n, transform.ranks);
    }
    status = run(&transform, (int)repetitions) ? 0 : 1;
    print_served("alltoall", transform.calls, MPI_COMM_WORLD);
    print_served("allreduce", 0, MPI_COMM_WORLD);
    print_served("allgather", 0, MPI_COMM_WORLD);
    free_transform(&transform);
  }
  MPI_Finalize();
  return status;
}

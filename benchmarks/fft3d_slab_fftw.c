/* A three-dimensional FFT, slabs over ranks, wholly by FFTW's MPI library: forward and backward transforms of plane
 * waves, checked against the known spectrum and against the field itself.
 *
 *   fft3d_slab_fftw [N [REPETITIONS]]       an N×N×N box, 64 and 10 by default
 *
 * Out of place, with the input given up and plans measured: only then FFTW considers MPI_Alltoall for its transposes
 * beside its own exchange of MPI_Sendrecv, and keeps what it timed as faster. Its planner calls MPI_Allreduce. */
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_mpi.h"
#include "plane_waves.h"

struct Transform {
  ptrdiff_t n;
  ptrdiff_t planes; /* of this rank */
  ptrdiff_t first_plane;
  fftw_complex* field;
  fftw_complex* spectrum;
  fftw_plan forward;
  fftw_plan backward;
  struct PlaneWaves waves;
};

static int make_transform(struct Transform* transform, ptrdiff_t n) {
  const unsigned flags = FFTW_MEASURE | FFTW_DESTROY_INPUT;
  const ptrdiff_t elements =
      fftw_mpi_local_size_3d(n, n, n, MPI_COMM_WORLD, &transform->planes, &transform->first_plane);
  transform->n = n;
  transform->field = fftw_alloc_complex((size_t)elements);
  transform->spectrum = fftw_alloc_complex((size_t)elements);
  transform->waves = plane_waves_make(n);
  if (transform->field == NULL || transform->spectrum == NULL || transform->waves.roots == NULL) return 0;
  transform->forward =
      fftw_mpi_plan_dft_3d(n, n, n, transform->field, transform->spectrum, MPI_COMM_WORLD, FFTW_FORWARD, flags);
  transform->backward =
      fftw_mpi_plan_dft_3d(n, n, n, transform->spectrum, transform->field, MPI_COMM_WORLD, FFTW_BACKWARD, flags);
  return transform->forward != NULL && transform->backward != NULL;
}

static void free_transform(struct Transform* transform) {
  fftw_destroy_plan(transform->forward);
  fftw_destroy_plan(transform->backward);
  fftw_free(transform->field);
  fftw_free(transform->spectrum);
  plane_waves_free(&transform->waves);
}

typedef double complex (*expected_value)(const struct PlaneWaves*, ptrdiff_t, ptrdiff_t, ptrdiff_t);

/* Calls of `at` and what it finds go through one loop: fills (largest_error NULL) or compares, continuing the digest.
 */
static void each_point(struct Transform* transform, fftw_complex* values, expected_value expected,
                       double* largest_error, uint64_t* digest) {
  const ptrdiff_t n = transform->n;
  const double points = (double)n * (double)n * (double)n;
  for (ptrdiff_t i = 0; i < transform->planes * n * n; ++i) {
    const double complex truth = expected(&transform->waves, transform->first_plane + i / (n * n), i / n % n, i % n);
    if (largest_error == NULL) {
      values[i] = truth;
    } else {
      *largest_error = fmax(*largest_error, cabs(values[i] / points - truth));
      *digest = digest_rounded(*digest, values[i] / points);
    }
  }
}

static double largest_of_all(double value) {
  double largest = 0;
  MPI_Reduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Bcast(&largest, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return largest;
}

static const char* transposes(fftw_plan plan) {
  char* text = fftw_sprint_plan(plan);
  const int by_alltoall = text != NULL && strstr(text, "mpi-transpose-alltoall") != NULL;
  const int by_pairs = text != NULL && strstr(text, "mpi-transpose-pairwise") != NULL;
  fftw_free(text);
  return by_alltoall ? (by_pairs ? "MPI_Alltoall and MPI_Sendrecv" : "MPI_Alltoall") : "MPI_Sendrecv";
}

static int run(struct Transform* transform, int repetitions, int rank) {
  double error = 0;
  double round_trip_error = 0;
  uint64_t digest = 0;
  uint64_t ignored = 0;
  double seconds = 0;
  for (int i = 0; i < repetitions; ++i) {
    each_point(transform, transform->field, plane_waves_field, NULL, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds -= MPI_Wtime();
    fftw_execute(transform->forward);
    seconds += MPI_Wtime();
    each_point(transform, transform->spectrum, plane_waves_spectrum, &error, &digest);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds -= MPI_Wtime();
    fftw_execute(transform->backward);
    seconds += MPI_Wtime();
    each_point(transform, transform->field, plane_waves_field, &round_trip_error, &ignored);
  }
  error = largest_of_all(error);
  round_trip_error = largest_of_all(round_trip_error);
  seconds = largest_of_all(seconds);
  digest = digest_ranks(digest, MPI_COMM_WORLD);
  const int correct = fmax(error, round_trip_error) <= plane_waves_tolerance(&transform->waves);
  if (rank == 0) {
    printf("# Error of the spectrum: %.2e, of the round trip: %.2e, accepted: %.2e\n", error, round_trip_error,
           plane_waves_tolerance(&transform->waves));
    printf("# Transposes: forward by %s, backward by %s\n", transposes(transform->forward),
           transposes(transform->backward));
    printf("# Time: %.6f s per pair of transforms\n", seconds / repetitions);
    printf("# Checksum: %016llx\n", (unsigned long long)digest);
    if (!correct) fprintf(stderr, "fft3d_slab_fftw: the transform is wrong.\n");
  }
  return correct;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  int rank;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 64;
  const long repetitions = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
  int status = 2;
  struct Transform transform = {.n = 0};
  if (n < 16 || n > 1024 || repetitions < 1 || repetitions > 10000) {
    if (rank == 0) fprintf(stderr, "usage: fft3d_slab_fftw [N [REPETITIONS]], N from 16 to 1024\n");
  } else if (!make_transform(&transform, n)) {
    fprintf(stderr, "fft3d_slab_fftw: rank %d could not plan the transform.\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  } else {
    if (rank == 0) printf("# FFT of %ld x %ld x %ld by FFTW's MPI library, %d ranks\n", n, n, n, ranks);
    status = run(&transform, (int)repetitions, rank) ? 0 : 1;
    print_served("alltoall", -1, MPI_COMM_WORLD);
    print_served("allreduce", -1, MPI_COMM_WORLD);
    print_served("allgather", -1, MPI_COMM_WORLD);
    free_transform(&transform);
  }
  fftw_mpi_cleanup();
  MPI_Finalize();
  return status;
}

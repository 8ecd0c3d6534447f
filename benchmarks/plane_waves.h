/* A field whose discrete Fourier transform is known: a few plane waves with integer amplitudes,
 *   x(j) = Σ_w a_w exp(2πi k_w·j / n),   X(k) = Σ_j x(j) exp(−2πi k·j / n) = n³ a_w at k = k_w, 0 elsewhere.
 * A block that arrives at a wrong place, twice or not at all, spoils the orthogonality and with it every X(k). */
#ifndef LIBCOLL_BENCHMARKS_PLANE_WAVES_H
#define LIBCOLL_BENCHMARKS_PLANE_WAVES_H

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

struct PlaneWaves {
  ptrdiff_t n;
  double complex* roots; /* exp(2πi m / n), m = 0..n-1 */
};

/* The waves of an n×n×n box; `roots` is NULL when there is no memory. */
struct PlaneWaves plane_waves_make(ptrdiff_t n);
void plane_waves_free(struct PlaneWaves* waves);

/* x(j) and X(k)/n³. */
double complex plane_waves_field(const struct PlaneWaves* waves, ptrdiff_t j0, ptrdiff_t j1, ptrdiff_t j2);
double complex plane_waves_spectrum(const struct PlaneWaves* waves, ptrdiff_t k0, ptrdiff_t k1, ptrdiff_t k2);

/* The largest error to accept in X(k)/n³ or in x(j) after a round trip. The root mean square error of an FFT of N
 * points grows like ε·sqrt(log N) (Gentleman and Sande 1966); ε·log2(N) times the largest amplitude sum leaves ample
 * room. */
double plane_waves_tolerance(const struct PlaneWaves* waves);

/* Continues a digest with `value` rounded to integers: X(k)/n³ is integral, so that rounding differences between
 * runs, as measured plans bring, do not show, and any other difference does. */
uint64_t digest_rounded(uint64_t digest, double complex value);

#endif

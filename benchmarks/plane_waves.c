#include "plane_waves.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "plain_mpi.h"

enum { wave_count = 12 };

struct Wave {
  ptrdiff_t k[3];
  double amplitude;
};

/* Distinct for every n >= wave_count by the first component alone. */
static struct Wave wave_of(ptrdiff_t n, int number) {
  const uint64_t bits = mix64((uint64_t)number);
  const ptrdiff_t k1 = (ptrdiff_t)(bits % (uint64_t)n);
  const ptrdiff_t k2 = (ptrdiff_t)((bits >> 20) % (uint64_t)n);
  const struct Wave wave = {{(number * (n / wave_count)) % n, k1, k2}, number + 1};
  return wave;
}

struct PlaneWaves plane_waves_make(ptrdiff_t n) {
  struct PlaneWaves waves = {n, malloc((size_t)n * sizeof(double complex))};
  if (waves.roots == NULL) return waves;
  const double turn = 2 * acos(-1.0);
  for (ptrdiff_t m = 0; m < n; ++m) {
    const double angle = turn * (double)m / (double)n;
    waves.roots[m] = cos(angle) + sin(angle) * I;
  }
  return waves;
}

void plane_waves_free(struct PlaneWaves* waves) {
  free(waves->roots);
  waves->roots = NULL;
}

double complex plane_waves_field(const struct PlaneWaves* waves, ptrdiff_t j0, ptrdiff_t j1, ptrdiff_t j2) {
  double complex sum = 0;
  for (int number = 0; number < wave_count; ++number) {
    const struct Wave wave = wave_of(waves->n, number);
    const ptrdiff_t phase = (wave.k[0] * j0 + wave.k[1] * j1 + wave.k[2] * j2) % waves->n;
    sum += wave.amplitude * waves->roots[phase];
  }
  return sum;
}

double complex plane_waves_spectrum(const struct PlaneWaves* waves, ptrdiff_t k0, ptrdiff_t k1, ptrdiff_t k2) {
  double complex value = 0;
  for (int number = 0; number < wave_count; ++number) {
    const struct Wave wave = wave_of(waves->n, number);
    if (wave.k[0] == k0 && wave.k[1] == k1 && wave.k[2] == k2) value += wave.amplitude;
  }
  return value;
}

double plane_waves_tolerance(const struct PlaneWaves* waves) {
  const double amplitudes = wave_count * (wave_count + 1) / 2.0;
  return DBL_EPSILON * 3 * log2((double)waves->n) * amplitudes;
}

uint64_t digest_rounded(uint64_t digest, double complex value) {
  const int64_t parts[2] = {llround(creal(value)), llround(cimag(value))};
  return digest_bytes(digest, parts, sizeof parts);
}

#include "forms.h"

#include <stdbool.h>
#include <string.h>

/* IEEE binary128: long double on aarch64, a type of its own on x86. */
#if __LDBL_MANT_DIG__ == 113
typedef long double Quad;
#else
typedef __float128 Quad;
#endif

int size_of_form(enum Form form) {
  const int sizes[] = {1, 2, 4, 8, 1, sizeof(float), sizeof(double), sizeof(long double), sizeof(Quad)};
  return sizes[form];
}

void store_form(enum Form form, int64_t value, unsigned char* at) {
  const int8_t i8 = (int8_t)value;
  const int16_t i16 = (int16_t)value;
  const int32_t i32 = (int32_t)value;
  const bool truth = value != 0;
  const float single = (float)value;
  const double normal = (double)value;
  const long double extended = (long double)value;
  const Quad quad = (Quad)value;
  const void* sources[] = {&i8, &i16, &i32, &value, &truth, &single, &normal, &extended, &quad};
  memcpy(at, sources[form], (size_t)size_of_form(form));
}

int64_t load_form(enum Form form, const unsigned char* at) {
  int8_t i8 = 0;
  int16_t i16 = 0;
  int32_t i32 = 0;
  int64_t i64 = 0;
  bool truth = false;
  float single = 0;
  double normal = 0;
  long double extended = 0;
  Quad quad = 0;
  void* targets[] = {&i8, &i16, &i32, &i64, &truth, &single, &normal, &extended, &quad};
  memcpy(targets[form], at, (size_t)size_of_form(form));
  const int64_t values[] = {i8,           i16, i32, i64, truth, (int64_t)single, (int64_t)normal, (int64_t)extended,
                            (int64_t)quad};
  return values[form];
}

/* How a number lies in memory, and whole numbers put there and taken from there. */
#ifndef LIBCOLL_TESTS_FORMS_H
#define LIBCOLL_TESTS_FORMS_H

#include <stdint.h>

enum Form { form_i8, form_i16, form_i32, form_i64, form_bool, form_float, form_double, form_long_double, form_quad };

int size_of_form(enum Form form);
void store_form(enum Form form, int64_t value, unsigned char* at);
int64_t load_form(enum Form form, const unsigned char* at);

#endif

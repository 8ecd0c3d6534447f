/* Functions of MPI without MPI's types: arguments are passed on as the words in which calling conventions hold them,
 * whatever the MPI. None is a floating-point number, and none a structure. */
#ifndef LIBCOLL_PMPI_WORDS_H
#define LIBCOLL_PMPI_WORDS_H

#include <stdint.h>

/* The upper half of an int's word means nothing. */
typedef uintptr_t libcoll_word;

#define LIBCOLL_PARAMETERS(number) LIBCOLL_PARAMETERS_##number
#define LIBCOLL_ARGUMENTS(number) LIBCOLL_ARGUMENTS_##number
#define LIBCOLL_PARAMETERS_0 void
#define LIBCOLL_PARAMETERS_1 libcoll_word a
#define LIBCOLL_PARAMETERS_2 LIBCOLL_PARAMETERS_1, libcoll_word b
#define LIBCOLL_PARAMETERS_3 LIBCOLL_PARAMETERS_2, libcoll_word c
#define LIBCOLL_PARAMETERS_4 LIBCOLL_PARAMETERS_3, libcoll_word d
#define LIBCOLL_PARAMETERS_5 LIBCOLL_PARAMETERS_4, libcoll_word e
#define LIBCOLL_PARAMETERS_6 LIBCOLL_PARAMETERS_5, libcoll_word f
#define LIBCOLL_PARAMETERS_7 LIBCOLL_PARAMETERS_6, libcoll_word g
#define LIBCOLL_PARAMETERS_8 LIBCOLL_PARAMETERS_7, libcoll_word h
#define LIBCOLL_PARAMETERS_9 LIBCOLL_PARAMETERS_8, libcoll_word i
#define LIBCOLL_PARAMETERS_10 LIBCOLL_PARAMETERS_9, libcoll_word j
#define LIBCOLL_PARAMETERS_11 LIBCOLL_PARAMETERS_10, libcoll_word k
#define LIBCOLL_ARGUMENTS_0
#define LIBCOLL_ARGUMENTS_1 a
#define LIBCOLL_ARGUMENTS_2 LIBCOLL_ARGUMENTS_1, b
#define LIBCOLL_ARGUMENTS_3 LIBCOLL_ARGUMENTS_2, c
#define LIBCOLL_ARGUMENTS_4 LIBCOLL_ARGUMENTS_3, d
#define LIBCOLL_ARGUMENTS_5 LIBCOLL_ARGUMENTS_4, e
#define LIBCOLL_ARGUMENTS_6 LIBCOLL_ARGUMENTS_5, f
#define LIBCOLL_ARGUMENTS_7 LIBCOLL_ARGUMENTS_6, g
#define LIBCOLL_ARGUMENTS_8 LIBCOLL_ARGUMENTS_7, h
#define LIBCOLL_ARGUMENTS_9 LIBCOLL_ARGUMENTS_8, i
#define LIBCOLL_ARGUMENTS_10 LIBCOLL_ARGUMENTS_9, j
#define LIBCOLL_ARGUMENTS_11 LIBCOLL_ARGUMENTS_10, k

#endif

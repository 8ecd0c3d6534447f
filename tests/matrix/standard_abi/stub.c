/* A stub in place of libmpi_abi.so.1, the library of MPI's standard binary interface, which this machine does not have.
 * It gives each call to MPICH, with handles, constants, statuses and error codes in MPICH's form, and what comes back
 * in the standard's. Programs are compiled with the mpi.h beside it, libcoll's core with pmpi/shim/standard_abi/mpi.h.
 *
 * It shows that the preload finds this interface, that the core for it serves, and that calls which fall through still
 * mean the same. It does not show that a real MPI has these values, for both sides take them from one header; nor
 * what a real one's own progress, launcher or threads do. MPICH's handles of datatypes reach user-defined operations
 * as they are, and the arrays of datatypes of MPI_Alltoallw are never given back. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "pmpi/words.h"

/* MPI_Sendrecv's. */
#define LIBCOLL_PARAMETERS_12 LIBCOLL_PARAMETERS_11, libcoll_word l
#define LIBCOLL_ARGUMENTS_12 LIBCOLL_ARGUMENTS_11, l
enum { most_arguments = 12 };

struct function {
  const char* name;
  int number;
  const char* arguments; /* what each is (functions.def) */
};

enum {
#define STUB_FUNCTION(Name, number, arguments) function_##Name,
#include "functions.def"
#undef STUB_FUNCTION
  function_Grequest_start,
  function_Comm_create_keyval,
  function_Wtime,
  function_count
};

static const struct function functions[function_count] = {
#define STUB_FUNCTION(Name, number, arguments) {"PMPI_" #Name, number, arguments},
#include "functions.def"
#undef STUB_FUNCTION
    {"PMPI_Grequest_start", 5, "----R"}, {"PMPI_Comm_create_keyval", 4, "----"}, {"PMPI_Wtime", 0, ""}};

static void* mpich[function_count];

static void end(const char* what, const char* name) {
  fprintf(stderr, "stub of libmpi_abi: %s %s\n", what, name);
  abort();
}

/* MPICH's own calls of MPI's functions must not come back here: it finds its names in itself first. */
__attribute__((constructor)) static void open_mpich(void) {
  void* library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) end("no MPICH:", dlerror());
  for (int i = 0; i < function_count; ++i) {
    mpich[i] = dlsym(library, functions[i].name);
    if (mpich[i] == NULL) end("MPICH has no", functions[i].name);
    if (strlen(functions[i].arguments) != (size_t)functions[i].number) end("wrong arguments:", functions[i].name);
  }
  for (int i = 0; i < stub_constant_count; ++i) {
    if (stub_standard[i].kind == stub_same && stub_standard[i].value != stub_mpich[i].value) end("other values", "");
  }
}

/* ---- values */

static unsigned translated(const struct stub_constant* from, const struct stub_constant* to, enum Kind kind,
                           unsigned value) {
  for (int i = 0; i < stub_constant_count; ++i) {
    if (from[i].kind == kind && from[i].value == value) return to[i].value;
  }
  return value; /* MPICH's handles that are not predefined are larger than all numbers of the standard */
}

static int to_mpich(enum Kind kind, libcoll_word value) {
  return (int)translated(stub_standard, stub_mpich, kind, (unsigned)value);
}

static libcoll_word to_standard(enum Kind kind, int value) {
  return translated(stub_mpich, stub_standard, kind, (unsigned)value);
}

/* Of a code the class alone. */
static int standard_error(int code) {
  int class = code;
  if (code != 0) ((int (*)(int, int*))(uintptr_t)mpich[function_Error_class])(code, &class);
  for (int i = 0; i < stub_constant_count; ++i) {
    if (stub_mpich[i].kind == stub_error && stub_mpich[i].value == (unsigned)class) return (int)stub_standard[i].value;
  }
  return (int)stub_standard[stub_index_of_MPI_ERR_OTHER_in_stub_error].value;
}

static int mpich_error(int code) { return to_mpich(stub_error, (unsigned)code); }

struct standard_status {
  int source;
  int tag;
  int error;
  int internal[5];
};

struct mpich_status {
  int count_low;
  int count_high_and_cancelled;
  int source;
  int tag;
  int error;
};

static struct mpich_status status_for_mpich(const struct standard_status* status) {
  return (struct mpich_status){status->internal[0], status->internal[1], to_mpich(stub_rank, (unsigned)status->source),
                               to_mpich(stub_tag, (unsigned)status->tag), mpich_error(status->error)};
}

/* `before` is what MPICH was given: not all calls write all of it. */
static void take_status(struct standard_status* status, struct mpich_status before, struct mpich_status after) {
  status->internal[0] = after.count_low;
  status->internal[1] = after.count_high_and_cancelled;
  status->source = (int)to_standard(stub_rank, after.source);
  status->tag = (int)to_standard(stub_tag, after.tag);
  if (after.error != before.error) status->error = standard_error(after.error);
}

/* ---- arguments */

enum { handle_letters = 7 };
static const char by_value[handle_letters + 1] = "cgierot";
static const char by_address[handle_letters + 1] = "CGIEROT";
static const enum Kind handle_kinds[handle_letters] = {stub_comm,    stub_group, stub_info,    stub_errhandler,
                                                       stub_request, stub_op,    stub_datatype};

/* One argument of a call, as the program has it and as MPICH gets it. */
struct argument {
  libcoll_word given;
  int value; /* where an address is given */
  int* values;
  struct mpich_status* statuses; /* and as they were before */
  int length;
};

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes + 1);
  if (memory == NULL) end("no memory", "");
  return memory;
}

static int length_of(char letter, const libcoll_word* words) {
  int length = 0;
  if (letter == 's') length = 1;
  if (letter == 'A' || letter == 'D' || letter == 'S') length = (int)words[0];
  if (letter == 'Z') length = (int)words[3];
  if (letter == 'W') ((int (*)(int, int*))(uintptr_t)mpich[function_Comm_size])((int)words[8], &length);
  return length;
}

static void give_array(struct argument* argument, enum Kind kind, libcoll_word* word) {
  const libcoll_word* handles = (const libcoll_word*)argument->given;
  argument->values = allocate(sizeof(int) * (size_t)argument->length);
  for (int i = 0; i < argument->length; ++i) argument->values[i] = to_mpich(kind, handles[i]);
  *word = (libcoll_word)argument->values;
}

static void give_statuses(struct argument* argument, libcoll_word* word) {
  const struct standard_status* statuses = (const struct standard_status*)argument->given;
  const size_t length = (size_t)argument->length;
  argument->statuses = allocate(2 * sizeof *argument->statuses * length);
  for (size_t i = 0; i < length; ++i) argument->statuses[i] = status_for_mpich(&statuses[i]);
  memcpy(argument->statuses + length, argument->statuses, sizeof *argument->statuses * length);
  *word = (libcoll_word)argument->statuses;
}

/* Brings one word into MPICH's form. */
static void give(char letter, struct argument* argument, libcoll_word* word) {
  argument->given = *word;
  const char* handle = strchr(by_value, letter);
  const char* address = strchr(by_address, letter);
  if (handle != NULL) *word = (unsigned)to_mpich(handle_kinds[handle - by_value], *word);
  if (letter == 'b' && *word == stub_standard[stub_index_of_MPI_IN_PLACE_in_stub_buffer].value) {
    *word = (libcoll_word)(intptr_t)(int)stub_mpich[stub_index_of_MPI_IN_PLACE_in_stub_buffer].value;
  }
  if (letter == 'p') *word = (unsigned)to_mpich(stub_rank, *word);
  if (letter == 'a') *word = (unsigned)to_mpich(stub_tag, *word);
  if (letter == 'k') *word = (unsigned)to_mpich(stub_keyval, *word);
  if (letter == 'y') *word = (unsigned)to_mpich(stub_split_type, *word);
  if (letter == 'l') *word = (unsigned)to_mpich(stub_thread_level, *word);
  if (letter == 'q') *word = (unsigned)mpich_error((int)*word);
  if ((letter == 's' || letter == 'S') && *word == 0) {
    *word = stub_mpich[stub_index_of_MPI_STATUS_IGNORE_in_stub_status].value;
    return;
  }
  if (*word == 0) return;
  if (address != NULL) {
    argument->value = to_mpich(handle_kinds[address - by_address], *(const libcoll_word*)*word);
    *word = (libcoll_word)&argument->value;
  }
  if (letter == 'A') give_array(argument, stub_request, word);
  if (letter == 'D' || letter == 'W' || letter == 'Z') give_array(argument, stub_datatype, word);
  if (letter == 's' || letter == 'S') give_statuses(argument, word);
}

/* Brings what MPICH has left into the standard's form. */
static void take(char letter, struct argument* argument) {
  const char* address = strchr(by_address, letter);
  if (argument->given == 0) return;
  if (address != NULL) {
    *(libcoll_word*)argument->given = to_standard(handle_kinds[address - by_address], argument->value);
  }
  int* number = (int*)argument->given;
  if (letter == 'K') *number = (int)to_standard(stub_combiner, *number);
  if (letter == 'L') *number = (int)to_standard(stub_thread_level, *number);
  if (letter == 'Q') *number = standard_error(*number);
  for (int i = 0; (letter == 'A' || letter == 'Z') && i < argument->length; ++i) {
    ((libcoll_word*)argument->given)[i] =
        to_standard(letter == 'A' ? stub_request : stub_datatype, argument->values[i]);
  }
  for (int i = 0; argument->statuses != NULL && i < argument->length; ++i) {
    take_status((struct standard_status*)argument->given + i, argument->statuses[argument->length + i],
                argument->statuses[i]);
  }
  if (letter != 'W') free(argument->values); /* a call that goes on may still look at it */
  free(argument->statuses);
}

/* ---- calls */

static int call_mpich(void* function, int number, const libcoll_word* w) {
  typedef libcoll_word word;
  const uintptr_t address = (uintptr_t)function;
  switch (number) {
#define STUB_CASE(number, ...) \
  case number:                 \
    return (int)((word(*)(LIBCOLL_PARAMETERS(number)))address)(__VA_ARGS__);
    STUB_CASE(0, )
    STUB_CASE(1, w[0])
    STUB_CASE(2, w[0], w[1])
    STUB_CASE(3, w[0], w[1], w[2])
    STUB_CASE(4, w[0], w[1], w[2], w[3])
    STUB_CASE(5, w[0], w[1], w[2], w[3], w[4])
    STUB_CASE(6, w[0], w[1], w[2], w[3], w[4], w[5])
    STUB_CASE(7, w[0], w[1], w[2], w[3], w[4], w[5], w[6])
    STUB_CASE(8, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
    STUB_CASE(9, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8])
    STUB_CASE(10, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9])
    STUB_CASE(11, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10])
    STUB_CASE(12, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11])
#undef STUB_CASE
    default:
      return 0;
  }
}

static libcoll_word call(int index, const libcoll_word* given) {
  const struct function* function = &functions[index];
  struct argument arguments[most_arguments];
  libcoll_word words[most_arguments];
  memset(arguments, 0, sizeof arguments);
  memcpy(words, given, sizeof *words * (size_t)function->number);
  /* Handles first: how long an array is depends on one. */
  for (int arrays = 0; arrays < 2; ++arrays) {
    for (int i = 0; i < function->number; ++i) {
      const char letter = function->arguments[i];
      if ((strchr("sSADWZ", letter) != NULL) != arrays) continue;
      arguments[i].length = arrays ? length_of(letter, words) : 0;
      give(letter, &arguments[i], &words[i]);
    }
  }
  const int code = call_mpich(mpich[index], function->number, words);
  for (int i = 0; i < function->number; ++i) take(function->arguments[i], &arguments[i]);
  return (unsigned)standard_error(code);
}

/* The first word is none of the call's. */
#define DEFINE(symbol, index, parameters, ...)     \
  libcoll_word symbol(parameters) {                \
    const libcoll_word words[] = {0, __VA_ARGS__}; \
    return call(index, words + 1);                 \
  }
#define STUB_FUNCTION(Name, number, arguments)                                               \
  DEFINE(MPI_##Name, function_##Name, LIBCOLL_PARAMETERS(number), LIBCOLL_ARGUMENTS(number)) \
  DEFINE(PMPI_##Name, function_##Name, LIBCOLL_PARAMETERS(number), LIBCOLL_ARGUMENTS(number))
#include "functions.def"
#undef STUB_FUNCTION

double PMPI_Wtime(void) { return ((double (*)(void))(uintptr_t)mpich[function_Wtime])(); }
double MPI_Wtime(void) { return PMPI_Wtime(); }

/* ---- functions that MPICH calls */

struct request_functions {
  int (*query)(void*, struct standard_status*);
  int (*release)(void*);
  int (*cancel)(void*, int);
  void* state;
};

static int query(void* given, struct mpich_status* status) {
  const struct request_functions* functions_of = given;
  struct standard_status standard = {0};
  const struct mpich_status before = status_for_mpich(&standard);
  take_status(&standard, before, *status);
  const int code = functions_of->query(functions_of->state, &standard);
  *status = status_for_mpich(&standard);
  return mpich_error(code);
}

static int release(void* given) {
  const struct request_functions functions_of = *(struct request_functions*)given;
  free(given);
  return mpich_error(functions_of.release(functions_of.state));
}

static int cancel(void* given, int complete) {
  const struct request_functions* functions_of = given;
  return mpich_error(functions_of->cancel(functions_of->state, complete));
}

int PMPI_Grequest_start(int (*query_of)(void*, struct standard_status*), int (*release_of)(void*),
                        int (*cancel_of)(void*, int), void* state, libcoll_word* request) {
  struct request_functions* functions_of = allocate(sizeof *functions_of);
  *functions_of = (struct request_functions){query_of, release_of, cancel_of, state};
  const libcoll_word words[] = {(libcoll_word)&query, (libcoll_word)&release, (libcoll_word)&cancel,
                                (libcoll_word)functions_of, (libcoll_word)request};
  return (int)call(function_Grequest_start, words);
}

int MPI_Grequest_start(int (*query_of)(void*, struct standard_status*), int (*release_of)(void*),
                       int (*cancel_of)(void*, int), void* state, libcoll_word* request) {
  return PMPI_Grequest_start(query_of, release_of, cancel_of, state, request);
}

typedef int copy_function(libcoll_word comm, int keyval, void* state, void* in, void* out, int* flag);
typedef int delete_function(libcoll_word comm, int keyval, void* attribute, void* state);

struct attribute_functions {
  copy_function* copy; /* 0: copies nothing, 1: copies the value */
  delete_function* destroy;
  void* state;
};

static int copy_attribute(int comm, int keyval, void* given, void* in, void* out, int* flag) {
  const struct attribute_functions* functions_of = given;
  *flag = (uintptr_t)functions_of->copy == 1;
  if (*flag) *(void**)out = in;
  if ((uintptr_t)functions_of->copy < 2) return 0;
  return mpich_error(functions_of->copy(to_standard(stub_comm, comm), keyval, functions_of->state, in, out, flag));
}

static int delete_attribute(int comm, int keyval, void* attribute, void* given) {
  const struct attribute_functions* functions_of = given;
  if (functions_of->destroy == NULL) return 0;
  return mpich_error(functions_of->destroy(to_standard(stub_comm, comm), keyval, attribute, functions_of->state));
}

int PMPI_Comm_create_keyval(copy_function* copy, delete_function* destroy, int* keyval, void* state) {
  struct attribute_functions* functions_of = allocate(sizeof *functions_of); /* as long as the process */
  *functions_of = (struct attribute_functions){copy, destroy, state};
  const libcoll_word words[] = {(libcoll_word)&copy_attribute, (libcoll_word)&delete_attribute, (libcoll_word)keyval,
                                (libcoll_word)functions_of};
  return (int)call(function_Comm_create_keyval, words);
}

int MPI_Comm_create_keyval(copy_function* copy, delete_function* destroy, int* keyval, void* state) {
  return PMPI_Comm_create_keyval(copy, destroy, keyval, state);
}

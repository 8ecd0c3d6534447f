// One kernel, compiled for several vector instruction sets and chosen when it is called. The arithmetic is the same in
// all of them: no contraction, no reassociation.
#pragma once

#if defined(__GNUC__)
#define LIBCOLL_ALWAYS_INLINE [[gnu::always_inline]] inline
#else
#define LIBCOLL_ALWAYS_INLINE inline
#endif

// Before a loop over lanes: what its iterations read and write does not overlap. Without it the compiler's cheap cost
// model, which makes no copies of loops, leaves them scalar.
#if defined(__clang__)
#define LIBCOLL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define LIBCOLL_INDEPENDENT _Pragma("GCC ivdep")
#else
#define LIBCOLL_INDEPENDENT
#endif

// LIBCOLL_FOR_EACH_TARGET(name, (parameters), (expression), (arguments)) defines void name(parameters), which evaluates
// the expression by the widest instructions there are. The expression calls LIBCOLL_ALWAYS_INLINE templates.
#if defined(__GNUC__) && defined(__x86_64__)
// NOLINTBEGIN(bugprone-macro-parentheses)
#define LIBCOLL_FOR_EACH_TARGET(name, parameters, expression, arguments)                             \
  [[gnu::target("avx512f,avx512dq,avx512vl")]] void name##_avx512 parameters { (void)(expression); } \
  [[gnu::target("avx2")]] void name##_avx2 parameters { (void)(expression); }                        \
  void name##_baseline parameters { (void)(expression); }                                            \
  void name parameters {                                                                             \
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&         \
        __builtin_cpu_supports("avx512vl") != 0) {                                                   \
      name##_avx512 arguments;                                                                       \
    } else if (__builtin_cpu_supports("avx2") != 0) {                                                \
      name##_avx2 arguments;                                                                         \
    } else {                                                                                         \
      name##_baseline arguments;                                                                     \
    }                                                                                                \
  }
// NOLINTEND(bugprone-macro-parentheses)
#else
#define LIBCOLL_FOR_EACH_TARGET(name, parameters, expression, arguments) \
  void name parameters { (void)(expression); }
#endif

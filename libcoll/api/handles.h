// What the C API's handles are, and how its functions give errors back.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "libcoll/api/libcoll.h"
#include "planner/base/result.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

struct libcoll_topology {
  libcoll::topology::Topology topology;
};

struct libcoll_schedule {
  libcoll::schedule::Schedule schedule;
};

namespace libcoll::api {

/// A status and, where it is no success, the sentence that goes with it.
struct Outcome {
  libcoll_status status = LIBCOLL_SUCCESS;
  std::string message = {};
};

inline Outcome refuse(libcoll_status status, std::string message) { return {status, std::move(message)}; }
inline Outcome refuse_argument(std::string message) { return {LIBCOLL_ERROR_ARGUMENT, std::move(message)}; }

/// Keeps the sentence for libcoll_error_message() in this thread. Never throws.
libcoll_status give_back(const Outcome& outcome) noexcept;
libcoll_status give_back_exception(const std::exception& error) noexcept;
libcoll_status give_back_exhausted() noexcept;

/// What every function of the C API with a status does around its work: nothing thrown gets out.
template <class Work>
libcoll_status guarded(const Work& work) noexcept {
  try {
    return give_back(work());
  } catch (const std::bad_alloc&) {
    return give_back_exhausted();
  } catch (const std::exception& error) {
    return give_back_exception(error);
  }
}

/// Has what libcoll says go to the caller's sink, and nowhere where there is none.
void keep_log_quiet() noexcept;

/// The folder of this library, near which the `libcoll` command is looked for.
std::string own_directory();

}  // namespace libcoll::api

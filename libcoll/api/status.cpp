#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "libcoll/api/handles.h"
#include "libcoll/base/library_directory.h"
#include "libcoll/base/log.h"
#include "libcoll/version.h"

namespace libcoll::api {
namespace {

// Of a length that needs no memory: the last error may be that there is none.
thread_local std::array<char, 1024> last_message{};
std::atomic<libcoll_log_sink> user_sink{nullptr};

void keep_message(std::string_view text) noexcept {
  last_message[text.copy(last_message.data(), last_message.size() - 1)] = '\0';
}

void forward(std::string_view kind, const char* message) noexcept {
  if (const libcoll_log_sink sink = user_sink.load(); sink != nullptr) {
    sink(kind.empty() ? "info" : kind.data(), message);
  }
}

}  // namespace

libcoll_status give_back(const Outcome& outcome) noexcept {
  if (outcome.status != LIBCOLL_SUCCESS) keep_message(outcome.message);
  return outcome.status;
}

libcoll_status give_back_exception(const std::exception& error) noexcept {
  keep_message(error.what());
  return LIBCOLL_ERROR_INTERNAL;
}

libcoll_status give_back_exhausted() noexcept {
  keep_message("out of memory");
  return LIBCOLL_ERROR_MEMORY;
}

void keep_log_quiet() noexcept { set_log_sink(&forward); }

std::string own_directory() { return library_directory(reinterpret_cast<const void*>(&libcoll_version)); }

}  // namespace libcoll::api

extern "C" {

const char* libcoll_version(void) { return LIBCOLL_VERSION; }

const char* libcoll_error_message(void) { return libcoll::api::last_message.data(); }

void libcoll_set_log_sink(libcoll_log_sink sink) { libcoll::api::user_sink = sink; }

}  // extern "C"

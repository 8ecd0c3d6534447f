#include "libcoll/transport/ofi/ofi_settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace libcoll::transport::ofi {
namespace {

using Entry = std::array<char, 32>;

/// Some 60 bytes of a buffer are headers; longer messages, up to the limits, find their memory when they come. Entries
/// of an environment may be written to.
std::array<Entry, 4>& entries() {
  static std::array<Entry, 4> all = {{{"FI_OFI_RXM_BUFFER_SIZE=1024"},
                                      {"FI_OFI_RXM_EAGER_LIMIT=16384"},
                                      {"FI_OFI_RXM_SAR_LIMIT=16384"},
                                      {"FI_OFI_RXM_MSG_RX_SIZE=512"}}};
  return all;
}

std::string name_of(const Entry& entry) {
  const std::string_view text(entry.data());
  return std::string(text.substr(0, text.find('=')));
}

bool is_ours(const char* entry) {
  return std::any_of(entries().begin(), entries().end(), [entry](const Entry& each) { return each.data() == entry; });
}

bool users() {
  return std::any_of(entries().begin(), entries().end(),
                     [](const Entry& entry) { return std::getenv(name_of(entry).c_str()) != nullptr; });
}

/// What goes under the layer for messages other than sockets, verbs above all.
bool has_rdma_devices() {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", error);
  return !error && devices != std::filesystem::directory_iterator();
}

bool is_over_tcp(const std::string& provider) {
  return provider == "tcp" || provider == "tcp;ofi_rxm" || (provider.empty() && !has_rdma_devices());
}

/// Never given back: a thread of the program's may have begun to read it.
char** make_array(std::size_t pointers) {
  static auto* const kept = new std::vector<std::vector<char*>>;
  return kept->emplace_back(pointers).data();
}

}  // namespace

OfiSettings::OfiSettings(const std::string& provider) {
  if (environ == nullptr || !is_over_tcp(provider) || users()) return;
  before_ = environ;
  std::size_t count = 0;
  while (before_[count] != nullptr) ++count;
  extended_ = make_array(count + entries().size() + 1);
  char** end = std::copy_n(before_, count, extended_);
  for (Entry& entry : entries()) *end++ = entry.data();
  // Not setenv(): it may free the array that another thread is looking through.
  environ = extended_;
}

OfiSettings::~OfiSettings() {
  if (extended_ == nullptr) return;
  if (environ != extended_) {
    // Somebody has set a variable: the C library has made an array of its own, and all of it is to stay but ours.
    for (const Entry& entry : entries()) unsetenv(name_of(entry).c_str());
    return;
  }
  // Values may have been replaced and variables removed, of which those after them then moved up.
  char** to = before_;
  for (char** entry = extended_; *entry != nullptr; ++entry) {
    if (!is_ours(*entry)) *to++ = *entry;
  }
  *to = nullptr;
  environ = before_;
}

}  // namespace libcoll::transport::ofi

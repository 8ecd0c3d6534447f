#include "libcoll/transport/ucx/ucx_transports.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace libcoll::transport::ucx {
namespace {

constexpr std::string_view all_of_shared_memory = "sm";

std::vector<std::string_view> names_in(std::string_view list) {
  std::vector<std::string_view> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// A backslash has UCX take a name for itself alone.
std::string_view plain(std::string_view name) {
  if (name.starts_with('\\')) name.remove_prefix(1);
  return name;
}

bool is_shared_memory(std::string_view name) {
  static constexpr std::array names = {all_of_shared_memory,      std::string_view("shm"),  std::string_view("mm"),
                                       std::string_view("posix"), std::string_view("sysv"), std::string_view("xpmem"),
                                       std::string_view("cma"),   std::string_view("knem")};
  return std::find(names.begin(), names.end(), plain(name)) != names.end();
}

/// This process itself, and the memory of devices, which others help to reach hosts.
bool stays_on_host(std::string_view name) {
  static constexpr std::array kinds = {std::string_view("self"), std::string_view("cuda"), std::string_view("gdr"),
                                       std::string_view("rocm"), std::string_view("ze")};
  return is_shared_memory(name) || std::any_of(kinds.begin(), kinds.end(),
                                               [name](std::string_view kind) { return plain(name).starts_with(kind); });
}

/// Whether a list, of what is allowed or after ^ of what is not, allows what goes by any of these names.
bool allows(std::string_view list, std::initializer_list<std::string_view> names) {
  const bool is_exclusion = list.starts_with('^');
  const std::vector<std::string_view> listed = names_in(list.substr(is_exclusion ? 1 : 0));
  const bool is_listed = std::any_of(listed.begin(), listed.end(), [names](std::string_view name) {
    return std::find(names.begin(), names.end(), plain(name)) != names.end();
  });
  return is_listed != is_exclusion;
}

/// In this process's network namespace, which /sys need not show.
bool is_network_interface(std::string_view device) { return if_nametoindex(std::string(device).c_str()) != 0; }

}  // namespace

std::string without_shared_memory(std::string_view transports) {
  const bool is_exclusion = transports.starts_with('^');
  const std::vector<std::string_view> names = names_in(transports.substr(is_exclusion ? 1 : 0));
  const bool are_all = std::find(names.begin(), names.end(), "all") != names.end();
  std::string text;
  if (is_exclusion || are_all) {
    if (is_exclusion && are_all) return std::string(transports);
    text.append("^").append(all_of_shared_memory);
    for (const std::string_view name : names) {
      if (is_exclusion && !is_shared_memory(name)) text.append(",").append(name);
    }
    return text;
  }
  if (std::all_of(names.begin(), names.end(), stays_on_host)) return std::string(transports);
  for (const std::string_view name : names) {
    if (!is_shared_memory(name)) text.append(text.empty() ? "" : ",").append(name);
  }
  return text;
}

bool has_tcp(std::string_view transports, std::string_view devices) {
  if (!allows(transports, {"tcp", "all"})) return false;
  const std::vector<std::string_view> interfaces = names_in(devices);
  return std::any_of(interfaces.begin(), interfaces.end(),
                     [](std::string_view name) { return name == "all" || is_network_interface(name); });
}

bool has_memory_queues(std::string_view transports, std::string_view devices) {
  const auto allows_kind = [transports](std::string_view kind) {
    return allows(transports, {kind, "mm", "sm", "shm", "all"});
  };
  return (allows_kind("posix") || allows_kind("sysv")) && allows(devices, {"memory", "all"});
}

}  // namespace libcoll::transport::ucx

#include "libcoll/base/mpi_name.h"

#include <algorithm>
#include <array>
#include <vector>

#include "libcoll/base/fingerprint.h"

namespace libcoll {
namespace {

constexpr std::size_t longest_version = 48;
constexpr std::size_t settings_digits = 8;

constexpr std::array<std::string_view, 11> setting_prefixes = {
    "OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_btl",  "OMPI_MCA_coll", "OMPI_MCA_opal_common_ucx",
    "MPIR_CVAR_",   "I_MPI_ADJUST", "I_MPI_FABRICS", "I_MPI_SHM",     "UCX_",
    "FI_PROVIDER"};
/// Of these the values are other ones on other hosts, and in other jobs.
constexpr std::array<std::string_view, 5> place_parts = {"NET_DEVICES", "_if_include", "_if_exclude", "IFACE",
                                                         "HOSTNAME"};

/// `entry`: "NAME=value".
bool counts(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  const auto names_place = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return std::any_of(setting_prefixes.begin(), setting_prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) &&
         std::none_of(place_parts.begin(), place_parts.end(), names_place);
}

bool is_plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '.';
}

/// Up to the first comma or line's end.
std::string plain_version(std::string_view version) {
  std::string name;
  for (const char letter : version.substr(0, std::min(version.find_first_of(",\n"), longest_version))) {
    if (is_plain(letter)) {
      name += letter;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

}  // namespace

std::string mpi_name(std::string_view version, const char* const* environment) {
  std::vector<std::string_view> settings;
  for (const char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (counts(*entry)) settings.emplace_back(*entry);
  }
  std::string name = plain_version(version);
  if (settings.empty()) return name;
  std::sort(settings.begin(), settings.end());
  std::string text;
  for (const std::string_view setting : settings) text.append(setting).append("\n");
  return name + "_" + fingerprint(text).substr(0, settings_digits);
}

}  // namespace libcoll

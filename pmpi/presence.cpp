#include "pmpi/presence.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "libcoll/runtime/config.h"
#include "libcoll/version.h"
#include "pmpi/fortran_names.h"

namespace libcoll::pmpi {
namespace {

// The part of PMIx's binary interface that is used here (PMIx Standard 4.1, chapters 3 to 6; the same since version 3).
// Its headers are no dependency, for most systems have the library alone.
struct PmixProcess {
  std::array<char, 256> nspace;
  std::uint32_t rank;
};
struct PmixValue {
  std::uint16_t type;
  union {
    bool flag;
    char* string;
    int integer;
    std::array<std::uint64_t, 2> room;
  } data;
};
struct PmixInfo {
  std::array<char, 512> key;
  std::uint32_t directives;
  PmixValue value;
};
constexpr std::uint16_t pmix_bool = 1;
constexpr std::uint16_t pmix_string = 3;
constexpr std::uint16_t pmix_int = 6;
constexpr std::uint8_t pmix_global = 3;
constexpr int pmix_success = 0;
constexpr int pmix_error = -1;

using PmixInit = int (*)(PmixProcess*, PmixInfo*, std::size_t);
using PmixPut = int (*)(std::uint8_t, const char*, PmixValue*);
using PmixGet = int (*)(const PmixProcess*, const char*, const PmixInfo*, std::size_t, PmixValue**);

constexpr const char* version_key = "libcoll.version";
constexpr const char* host_key = "pmix.hname";
/// A server that does not know a key may ask another server.
constexpr int most_seconds = 10;

/// Open MPI can bring its own PMIx, whose names it prefixes.
constexpr std::string_view embedded_prefix = "OPAL_MCA_PMIX3X_";

/// What the process knows once its PMIx has begun.
struct Space {
  PmixGet get = nullptr;
  PmixProcess self{};
};
Space space;

template <class Function>
Function symbol(void* library, std::string_view prefix, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, std::string(prefix).append(name).c_str()));
}

PmixInfo make_info(std::string_view key, std::uint16_t type) {
  PmixInfo info{};
  key.copy(info.key.data(), info.key.size() - 1);
  info.value.type = type;
  return info;
}

/// What a process has put there; nothing when there is no such key.
std::optional<std::string> look_up(const Space& where, const PmixProcess& process, const char* key) {
  // As a rule all keys came with the fence. Where they did not, its server is asked, which has heard of all of them.
  std::array<PmixInfo, 1> here{make_info("pmix.optional", pmix_bool)};
  here[0].value.data.flag = true;
  std::array<PmixInfo, 2> elsewhere{make_info("pmix.immediate", pmix_bool), make_info("pmix.timeout", pmix_int)};
  elsewhere[0].value.data.flag = true;
  elsewhere[1].value.data.integer = most_seconds;
  PmixValue* value = nullptr;
  if (where.get(&process, key, here.data(), here.size(), &value) != pmix_success) {
    value = nullptr;
    if (where.get(&process, key, elsewhere.data(), elsewhere.size(), &value) != pmix_success) return std::nullopt;
  }
  if (value == nullptr || value->type != pmix_string || value->data.string == nullptr) return std::nullopt;
  std::string text(value->data.string);
  // NOLINTBEGIN(cppcoreguidelines-no-malloc): PMIx's
  std::free(value->data.string);
  std::free(value);
  // NOLINTEND(cppcoreguidelines-no-malloc)
  return text;
}

/// "0.1.0 serves reports": words behind the version.
constexpr std::string_view serves_word = " serves";
constexpr std::string_view reports_word = " reports";

std::string what_is_said() {
  const Config config = load_config(environ).config;
  const bool serves = config.enable && !config.topology.empty();
  std::string said = LIBCOLL_VERSION;
  if (serves) said += serves_word;
  if (!config.stats.empty()) said += reports_word;
  return said;
}

/// Says that this process has libcoll. Without the memory for that it counts as one that has none.
void announce(void* library, std::string_view prefix, const PmixProcess& self) noexcept try {
  auto* put = symbol<PmixPut>(library, prefix, "PMIx_Put");
  std::string said = what_is_said();
  PmixValue value{};
  value.type = pmix_string;
  value.data.string = said.data();
  if (put == nullptr || put(pmix_global, version_key, &value) != pmix_success) return;
  space.self = self;
  space.get = symbol<PmixGet>(library, prefix, "PMIx_Get");
} catch (...) {  // NOLINT(bugprone-empty-catch): as said above
}

/// Has the caller's PMIx begin, and says there that this process has libcoll.
int begin_space(void* caller, std::string_view prefix, PmixProcess* process, PmixInfo* info,
                std::size_t count) noexcept {
  // PMIx as the caller sees it: a library of MPI's, of its own or above it.
  Dl_info owner{};
  void* library = nullptr;
  if (dladdr(caller, &owner) != 0 && owner.dli_fname != nullptr) {
    library = dlopen(owner.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  auto* init = library == nullptr ? nullptr : symbol<PmixInit>(library, prefix, "PMIx_Init");
  if (init == nullptr) init = symbol<PmixInit>(RTLD_NEXT, prefix, "PMIx_Init");
  if (init == nullptr) return pmix_error;
  PmixProcess self{};
  const int code = init(process == nullptr ? &self : process, info, count);
  if (code == pmix_success && library != nullptr && space.get == nullptr) {
    announce(library, prefix, process == nullptr ? self : *process);
  }
  return code;
}

/// The process may have two copies of libcoll (next.h); the preloaded one is where PMIx was begun.
const Space& common_space() {
  const auto get = reinterpret_cast<const void* (*)()>(dlsym(RTLD_DEFAULT, "libcoll_key_value_space"));
  return get == nullptr ? space : *static_cast<const Space*>(get());
}

}  // namespace

std::optional<Presence> find_presence(int world_size) {
  const Space& where = common_space();
  if (where.get == nullptr) return std::nullopt;
  Presence presence;
  PmixProcess process = where.self;
  for (int rank = 0; rank < world_size; ++rank) {
    process.rank = static_cast<std::uint32_t>(rank);
    const std::string said = look_up(where, process, version_key).value_or("");
    const std::string version = said.substr(0, said.find(' '));
    presence.serves = presence.serves || said.find(serves_word) != std::string::npos;
    if (rank == 0) presence.root_reports = said.ends_with(reports_word);
    if (version == LIBCOLL_VERSION) continue;
    presence.absentees.push_back({rank, look_up(where, process, host_key).value_or(""), version});
  }
  // A space in which nobody can say anything.
  if (presence.absentees.size() == static_cast<std::size_t>(world_size)) return std::nullopt;
  return presence;
}

}  // namespace libcoll::pmpi

// NOLINTBEGIN(readability-identifier-naming): PMIx's names
LIBCOLL_EXPORT int PMIx_Init(void* process, void* info, std::size_t count) {
  using libcoll::pmpi::PmixInfo;
  using libcoll::pmpi::PmixProcess;
  return libcoll::pmpi::begin_space(__builtin_return_address(0), "", static_cast<PmixProcess*>(process),
                                    static_cast<PmixInfo*>(info), count);
}

LIBCOLL_EXPORT int OPAL_MCA_PMIX3X_PMIx_Init(void* process, void* info, std::size_t count) {
  using libcoll::pmpi::PmixInfo;
  using libcoll::pmpi::PmixProcess;
  return libcoll::pmpi::begin_space(__builtin_return_address(0), libcoll::pmpi::embedded_prefix,
                                    static_cast<PmixProcess*>(process), static_cast<PmixInfo*>(info), count);
}

/// For another copy of this library in the process.
LIBCOLL_EXPORT const void* libcoll_key_value_space() { return &libcoll::pmpi::space; }
// NOLINTEND(readability-identifier-naming)

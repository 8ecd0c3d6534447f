// The reader of configuration files.
#include "libcoll/base/config.h"

#include <fstream>
#include <vector>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = libcoll::fuzz::scratch_directory() + "/libcoll.toml";
  std::ofstream(path, std::ios::binary) << libcoll::fuzz::as_text(data, size);
  char* const environment[] = {nullptr};
  const std::vector<std::string> files{path};
  const libcoll::LoadedConfig loaded = libcoll::load_config(environment, files);
  for (const std::string& warning : loaded.warnings) libcoll::fuzz::require(!warning.empty());
  // Whatever stands in the file, what is in force is within bounds.
  libcoll::fuzz::require(loaded.config.segment_bytes > 0 && loaded.config.in_flight > 0);
  return 0;
}

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "tests/fuzz/fuzz.h"

namespace libcoll::fuzz {
namespace {

/// Gone with the process.
struct Scratch {
  std::string path;
  Scratch() {
    std::error_code error;
    path = (std::filesystem::temp_directory_path(error) / "libcoll-fuzz-XXXXXX").string();
    require(!error && mkdtemp(path.data()) != nullptr);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

}  // namespace

const std::string& scratch_directory() {
  static const Scratch scratch;
  return scratch.path;
}

}  // namespace libcoll::fuzz

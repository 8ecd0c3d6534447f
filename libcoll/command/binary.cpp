#include "libcoll/command/binary.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace libcoll::command {
namespace {

namespace fs = std::filesystem;

/// An ELF file of 64 bits and this machine's byte order. Whatever it says of itself is checked against its length.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path, std::ios::binary) {
    std::error_code error;
    size_ = fs::file_size(path, error);
    if (error || !read(0, header_)) return;
    good_ = std::memcmp(&header_.e_ident[0], ELFMAG, SELFMAG) == 0 && header_.e_ident[EI_CLASS] == ELFCLASS64 &&
            header_.e_ident[EI_DATA] == ELFDATA2LSB && (header_.e_type == ET_EXEC || header_.e_type == ET_DYN);
  }

  [[nodiscard]] bool good() const { return good_; }

  /// Whether a dynamic linker starts it.
  bool has_interpreter() {
    for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr segment{};
      if (read(header_.e_phoff + i * sizeof segment, segment) && segment.p_type == PT_INTERP) return true;
    }
    return false;
  }

  /// Whether one of its symbol tables has a definition of the name.
  bool defines(std::string_view name) {
    for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
      const std::optional<Elf64_Shdr> table = section(i);
      if (table && (table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM) && defines(*table, name)) return true;
    }
    return false;
  }

 private:
  template <class Record>
  bool read(std::uint64_t offset, Record& record) {
    if (offset > size_ || size_ - offset < sizeof record) return false;
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(&record), sizeof record));
  }

  std::optional<Elf64_Shdr> section(std::uint64_t number) {
    Elf64_Shdr found{};
    if (!read(header_.e_shoff + number * sizeof found, found)) return std::nullopt;
    return found;
  }

  std::optional<std::string> contents(const Elf64_Shdr& section) {
    constexpr std::uint64_t most_bytes = 1U << 30U;
    if (section.sh_offset > size_ || section.sh_size > size_ - section.sh_offset || section.sh_size > most_bytes) {
      return std::nullopt;
    }
    std::string text(section.sh_size, '\0');
    file_.seekg(static_cast<std::streamoff>(section.sh_offset));
    if (!file_.read(text.data(), static_cast<std::streamsize>(text.size()))) return std::nullopt;
    return text;
  }

  bool defines(const Elf64_Shdr& table, std::string_view name) {
    const std::optional<Elf64_Shdr> strings = section(table.sh_link);
    const std::optional<std::string> names = strings ? contents(*strings) : std::nullopt;
    const std::optional<std::string> symbols = contents(table);
    if (!names || !symbols) return false;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      std::memcpy(&symbol, symbols->data() + at, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names->size()) continue;
      if (name == names->c_str() + symbol.st_name) return true;
    }
    return false;
  }

  std::ifstream file_;
  std::uint64_t size_ = 0;
  Elf64_Ehdr header_{};
  bool good_ = false;
};

}  // namespace

std::string find_program(const std::string& program) {
  struct stat facts {};
  const auto is_program = [&facts](const std::string& file) {
    return access(file.c_str(), X_OK) == 0 && stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
  };
  if (program.find('/') != std::string::npos) return is_program(program) ? program : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (fs::path(folder) / program).string();
    if (is_program(candidate)) return candidate;
  }
  return "";
}

std::string preload_obstacle(const std::string& path) {
  const std::string found = find_program(path);
  if (found.empty()) return "";
  struct stat facts {};
  if (stat(found.c_str(), &facts) == 0 && (facts.st_mode & (S_ISUID | S_ISGID)) != 0) {
    return found + " is set-user-ID or set-group-ID: the dynamic linker preloads nothing into it from this folder";
  }
  ElfFile file(found);
  if (!file.good()) return "";
  if (!file.has_interpreter()) return found + " is linked statically: nothing of it can be intercepted";
  // A profiling tool in the program defines MPI_Init, and no PMPI_ name.
  if (file.defines("PMPI_Init")) return found + " has MPI linked into it: its calls cannot be intercepted";
  return "";
}

std::string program_among(const std::vector<std::string>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    // Values of options ("-n 8") are no files; a bare word is a program where no option of the launcher is before it.
    const bool is_value = i > 1 && arguments[i - 1].starts_with('-');
    if (arguments[i].starts_with('-')) continue;
    if (arguments[i].find('/') != std::string::npos || !is_value) {
      if (!find_program(arguments[i]).empty()) return arguments[i];
    }
  }
  return "";
}

}  // namespace libcoll::command

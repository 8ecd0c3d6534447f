#include "libcoll/node/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "libcoll/base/page_size.h"
#include "libcoll/base/system_error.h"

namespace libcoll::node {
namespace {

constexpr const char* directory_of_names = "/dev/shm";
constexpr mode_t only_owner = 0600;

Error system_error(const std::string& what) { return Error{"shared memory: " + what + ": " + reason()}; }

/// 128 random bits.
Result<std::string> make_name() {
  std::array<unsigned char, 16> bits{};
  if (getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) return system_error("getrandom");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name(segment_name_prefix);
  for (const unsigned char byte : bits) {
    name += digits[byte / 16];
    name += digits[byte % 16];
  }
  return name;
}

}  // namespace

Segment::Segment(Segment&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      name_(std::exchange(other.name_, {})),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  if (this == &other) return *this;
  release();
  descriptor_ = std::move(other.descriptor_);
  name_ = std::exchange(other.name_, {});
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

Segment::~Segment() { release(); }

void Segment::release() {
  remove_name();
  if (data_ != nullptr) munmap(data_, size_);
  abandon();
}

void Segment::abandon() {
  data_ = nullptr;
  size_ = 0;
}

void Segment::remove_name() {
  if (!name_.empty()) shm_unlink(name_.c_str());
  name_.clear();
}

Status Segment::map() {
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (memory == MAP_FAILED) return system_error("mmap");
  data_ = static_cast<std::byte*>(memory);
  return {};
}

Result<Segment> Segment::create(std::size_t bytes) {
  Result<std::string> name = make_name();
  if (!name) return name.error();
  Segment segment;
  segment.descriptor_ = FileDescriptor(shm_open(name->c_str(), O_RDWR | O_CREAT | O_EXCL, only_owner));
  if (!segment.descriptor_) return system_error("shm_open");
  segment.name_ = std::move(*name);
  segment.size_ = bytes;
  if (ftruncate(segment.descriptor_.get(), static_cast<off_t>(bytes)) != 0) return system_error("ftruncate");
  if (const Status mapped = segment.map(); !mapped) return mapped.error();
  return segment;
}

Result<Segment> Segment::open(const std::string& name, std::size_t bytes) {
  if (!name.starts_with(segment_name_prefix)) return Error{"shared memory: \"" + name + "\" is no name of ours"};
  Segment segment;
  segment.descriptor_ = FileDescriptor(shm_open(name.c_str(), O_RDWR | O_NOFOLLOW, 0));
  if (!segment.descriptor_) return system_error("shm_open");
  struct stat facts {};
  if (fstat(segment.descriptor_.get(), &facts) != 0) return system_error("fstat");
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 07777) != only_owner ||
      facts.st_size != static_cast<off_t>(bytes)) {
    return Error{"shared memory: what lies under the name is not what was put there"};
  }
  segment.size_ = bytes;
  if (const Status mapped = segment.map(); !mapped) return mapped.error();
  return segment;
}

Status Segment::reserve(std::size_t offset, std::size_t bytes) const {
  if (bytes == 0) return {};
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(descriptor_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
  if (error == 0) return {};
  return Error{"shared memory: " + std::to_string(bytes) + " bytes: " + reason(error)};
}

void Segment::map_pages(std::size_t offset, std::size_t bytes) const {
#if defined(MADV_POPULATE_WRITE)
  const std::size_t page = page_bytes();
  const std::size_t begin = offset / page * page;
  madvise(data_ + begin, offset + bytes - begin, MADV_POPULATE_WRITE);
#else
  static_cast<void>(offset);
  static_cast<void>(bytes);
#endif
}

void Segment::map_cleared_pages(std::size_t offset, std::size_t bytes) const {
  const auto read = [this](std::size_t at) { static_cast<void>(*static_cast<volatile std::byte*>(data_ + at)); };
  if (bytes == 0) return;
  for (std::size_t at = offset; at < offset + bytes; at += page_bytes()) read(at);
  read(offset + bytes - 1);
}

void remove_stale_segments(std::chrono::seconds age, std::string_view prefix) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(directory_of_names), &closedir);
  if (directory == nullptr) return;
  prefix.remove_prefix(1);
  const std::time_t now = std::time(nullptr);
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    struct stat facts {};
    if (!name.starts_with(prefix) || fstatat(dirfd(directory.get()), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (S_ISREG(facts.st_mode) && facts.st_uid == geteuid() && now - facts.st_ctime >= age.count()) {
      unlinkat(dirfd(directory.get()), entry->d_name, 0);
    }
  }
}

}  // namespace libcoll::node

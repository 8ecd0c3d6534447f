// Memory that processes of one node share.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "libcoll/base/safe_file.h"
#include "planner/base/result.h"

namespace libcoll::node {

/// POSIX shared memory, mapped. Its name exists only while the processes find each other: remove_name() takes it away,
/// and the memory goes with the last process that has it, however that ends.
class Segment {
 public:
  Segment() = default;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  /// A new one under a name that nobody can guess, zeroed, for this user alone.
  static Result<Segment> create(std::size_t bytes);
  /// The one of that name, if it is this user's, closed to others, and that long.
  static Result<Segment> open(const std::string& name, std::size_t bytes);

  /// Has the system set aside memory for [offset, offset + bytes), near the calling process: without it, a machine that
  /// is out of shared memory kills whoever writes.
  [[nodiscard]] Status reserve(std::size_t offset, std::size_t bytes) const;
  /// Clears what reserve() has set aside and maps it, all at once, where the system can; otherwise each page when it is
  /// first used. Precondition: offset + bytes <= size().
  void map_pages(std::size_t offset, std::size_t bytes) const;
  /// The same for what other processes have cleared: the system maps many neighbouring pages at a time.
  void map_cleared_pages(std::size_t offset, std::size_t bytes) const;
  /// After this, nobody else can open it, and nothing is left of it when the processes have ended.
  void remove_name();
  /// No further reserve().
  void close_descriptor() { descriptor_ = FileDescriptor(); }
  /// Stays mapped until the process ends: a transport may still write to it.
  void abandon();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] Status map();
  void release();

  FileDescriptor descriptor_;
  std::string name_;  ///< empty when there is none to remove, or it is not ours to
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Longest name of a segment, with the closing zero.
inline constexpr std::size_t segment_name_bytes = 48;

/// What the names of all segments begin with.
inline constexpr std::string_view segment_name_prefix = "/libcoll-";

/// Removes names with that prefix that processes of this user left at least that long ago, killed between create() and
/// remove_name().
void remove_stale_segments(std::chrono::seconds age, std::string_view prefix = segment_name_prefix);

}  // namespace libcoll::node

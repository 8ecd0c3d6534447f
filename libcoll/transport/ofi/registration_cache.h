// Registered memory, kept from one message to the next for networks that demand it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

#include "planner/base/result.h"

namespace libcoll::transport::ofi {

/// Counts what may have taken memory away from this process's address space (munmap, mremap, a shrinking heap, …), by
/// libucm's hooks. Registrations made before an event are not to be used for memory asked about after it.
class UnmapWatch {
 public:
  /// Starts watching; an error when the hooks cannot be installed: then nothing may be kept.
  static Status start();
  [[nodiscard]] static std::uint64_t events() noexcept;
  /// One more event. For the hooks: takes no lock and allocates nothing.
  static void count() noexcept;
};

/// How memory is registered with a network.
class MemoryRegistrar {
 public:
  /// Handle of the registration of [address, address + bytes); null when the network refuses.
  virtual void* add(void* address, std::size_t bytes) noexcept = 0;
  virtual void remove(void* handle) noexcept = 0;

 protected:
  ~MemoryRegistrar() = default;
};

/// At most `capacity` registrations that no message uses, the least recently used go first. An unmapping anywhere in
/// the process retires all of them: those in use are removed when their last message is over, the others at once. Calls
/// are serialised by the caller.
class RegistrationCache {
 public:
  struct Registration {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    void* handle = nullptr;
    std::int32_t users = 0;
    bool retired = false;
  };

  RegistrationCache(MemoryRegistrar& registrar, std::size_t capacity) : registrar_(registrar), capacity_(capacity) {}
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;
  /// Removes all of them, also those in use.
  ~RegistrationCache();

  /// A registration that covers these bytes, whole pages as a rule, for one message; null when the network refuses.
  Registration* acquire(const void* data, std::size_t bytes);
  /// The message is over.
  void release(Registration* registration);

 private:
  using Entries = std::list<Registration>;

  void retire_all();
  void remove_unused_beyond(std::size_t count);

  MemoryRegistrar& registrar_;
  std::size_t capacity_;
  Entries entries_;  ///< most recently used first
  std::uint64_t seen_ = UnmapWatch::events();
};

}  // namespace libcoll::transport::ofi

// A thread that moves calls along that nobody waits for, while the program does other things.
#pragma once

#include <condition_variable>
#include <string>
#include <thread>

namespace libcoll::comm {

class ProgressEngine;

/// Sleeps while there are none, and otherwise on the transport's descriptor. It does nothing while a call of ours makes
/// progress anyway. It may call MPI only where MPI allows that of any thread; completing the program's requests is left
/// to MPI's own progress.
class ProgressThread {
 public:
  /// `engine` must outlive it. Signals of the process are not handled by this thread.
  explicit ProgressThread(ProgressEngine& engine);
  /// Ends the thread. Not under the runtime's lock.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// To these processors ("4-5"); where the system refuses, the thread stays where it is.
  void bind(const std::string& processors);

  /// There is something to do, or to stop for. Under the runtime's lock.
  void wake() { wake_.notify_one(); }

 private:
  void run();

  ProgressEngine& engine_;
  std::condition_variable_any wake_;
  bool stop_ = false;  ///< under the runtime's lock
  std::thread thread_;
};

}  // namespace libcoll::comm

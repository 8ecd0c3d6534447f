#include "libcoll/command/memory.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "libcoll/base/safe_file.h"
#include "libcoll/base/system_error.h"
#include "libcoll/command/planning.h"
#include "libcoll/execute/execution.h"
#include "libcoll/execute/task_graph.h"
#include "libcoll/transport/ofi/ofi_transport.h"
#include "libcoll/transport/transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "planner/registry/planner.h"
#include "planner/schedule/packed.h"
#include "planner/schedule/program.h"
#include "planner/schedule/route_binding.h"

namespace libcoll::command {

using namespace execute;
using namespace schedule;
using namespace topology;
using namespace transport;
using namespace transport::ofi;
using namespace transport::ucx;

namespace {

/// Each has its own descriptors, of which a process may not have many.
constexpr std::int32_t transports_per_process = 8;
constexpr std::chrono::seconds patience{60};

constexpr std::array all_collectives{Collective::allgather, Collective::reduce_scatter, Collective::allreduce,
                                     Collective::alltoall};

using Clock = std::chrono::steady_clock;

/// By the kernel's own account.
ResidentMemory resident_memory() {
  ResidentMemory memory;
  std::ifstream status("/proc/self/status");
  constexpr std::int64_t unit = 1024;
  for (std::string name; status >> name;) {
    std::int64_t* field = nullptr;
    if (name == "RssAnon:") field = &memory.anonymous;
    if (name == "RssFile:") field = &memory.files;
    if (name == "RssShmem:") field = &memory.shared;
    if (field == nullptr) continue;
    status >> *field;
    *field *= unit;
  }
  return memory;
}

/// Notes what was added since it was last asked.
class Meter {
 public:
  explicit Meter(std::vector<MemoryPart>& parts) : parts_(parts), last_(resident_memory()) {}

  void note(const std::string& name) {
    const ResidentMemory now = resident_memory();
    parts_.push_back({name, {now.anonymous - last_.anonymous, now.shared - last_.shared, now.files - last_.files}});
    last_ = resident_memory();
  }

 private:
  std::vector<MemoryPart>& parts_;
  ResidentMemory last_;
};

Result<std::unique_ptr<Transport>> open_transport(const Config& config, const RouteBinding& binding) {
  if (config.transport == "ofi") return make_ofi_transport(binding, {config.ofi_provider, config.segment_bytes, false});
  if (config.transport == "mpi") return Error{"the MPI transport has no memory of its own to speak of outside a job"};
  return make_ucx_transport(binding);
}

// ---- texts through sockets ------------------------------------------------------------------------------------

bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = send(descriptor, from, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int descriptor, void* data, std::size_t bytes) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(descriptor, to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_text(int descriptor, const std::string& text) {
  const std::uint64_t bytes = text.size();
  return write_all(descriptor, &bytes, sizeof bytes) && write_all(descriptor, text.data(), bytes);
}

std::optional<std::string> read_text(int descriptor) {
  std::uint64_t bytes = 0;
  if (!read_all(descriptor, &bytes, sizeof bytes)) return std::nullopt;
  std::string text(bytes, '\0');
  if (!read_all(descriptor, text.data(), bytes)) return std::nullopt;
  return text;
}

// ---- wire-ups ------------------------------------------------------------------------------------------------

/// The tag of the message to or from the `index`-th other node.
std::uint64_t tag_of(std::int32_t index) { return TagSpace(1, 0).tag(index, 0); }

/// A word to and from a peer by every route class; it must stay in place while it waits.
class WireUp final : public Waiter {
 public:
  WireUp(Transport& transport, const std::string& address, std::uint64_t tag)
      : words_(static_cast<std::size_t>(transport.route_classes())) {
    completions_.assign(2 * words_.size(), Completion{this, 0, 0});
    for (std::int32_t route_class = 0; route_class < transport.route_classes(); ++route_class) {
      const Result<PeerId> peer = transport.connect(address, route_class);
      if (!peer) {
        failed_ = true;
        return;
      }
      const auto lane = static_cast<std::size_t>(route_class);
      waiting_ += 2;
      count(transport.receive(route_class, tag, &words_[lane], sizeof word_, &completions_[2 * lane]));
      count(transport.send(*peer, tag, &word_, sizeof word_, &completions_[2 * lane + 1]));
    }
  }

  [[nodiscard]] bool done() const { return waiting_ == 0; }
  [[nodiscard]] bool failed() const { return failed_; }
  void completed(std::uint32_t, bool ok) noexcept override {
    --waiting_;
    failed_ = failed_ || !ok;
  }

 private:
  void count(Posted posted) {
    if (posted != Posted::pending) --waiting_;
    failed_ = failed_ || posted == Posted::failed;
  }

  std::vector<std::uint64_t> words_;
  std::vector<Completion> completions_;
  std::uint64_t word_ = 1;
  std::int64_t waiting_ = 0;
  bool failed_ = false;
};

// ---- child processes ------------------------------------------------------------------------------------------

/// A child that does one thing for this process and ends with it.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&& other) noexcept : process_(std::exchange(other.process_, -1)), socket_(std::move(other.socket_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (process_ < 0) return;
    socket_ = FileDescriptor();  // that it waits for
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  /// `body(socket)` runs in the child.
  template <class Body>
  static Result<Child> start(Body body) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return Error{std::string("socketpair: ") + reason()};
    }
    FileDescriptor mine(ends[0]);
    const FileDescriptor theirs(ends[1]);
    Child child;
    child.process_ = fork();
    if (child.process_ < 0) return Error{std::string("fork: ") + reason()};
    if (child.process_ == 0) {
      child.process_ = -1;
      mine = FileDescriptor();
      // UCX says on standard output what goes wrong, where this command's figures go.
      dup2(STDERR_FILENO, STDOUT_FILENO);
      body(theirs.get());
      _exit(0);
    }
    child.socket_ = std::move(mine);
    return child;
  }

  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  pid_t process_ = -1;
  FileDescriptor socket_;
};

/// Ended in reverse order: a child has copies of the sockets of those before it, which keep these waiting.
struct Children {
  std::vector<Child> list;

  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() { end(); }
  void end() {
    while (!list.empty()) list.pop_back();
  }
};

/// A child process: other nodes of the job. Says their addresses, greets the address that comes back, and moves their
/// messages along until the socket closes.
void be_nodes(int socket, const Config& config, const RouteBinding& binding, std::int32_t first, std::int32_t count) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::int32_t i = 0; i < count; ++i) {
    Result<std::unique_ptr<Transport>> transport = open_transport(config, binding);
    if (!transport || !write_text(socket, (*transport)->address())) return;
    transports.push_back(std::move(*transport));
  }
  const std::optional<std::string> address = read_text(socket);
  if (!address) return;
  std::vector<std::unique_ptr<WireUp>> wire_ups;
  wire_ups.reserve(transports.size());
  for (std::int32_t i = 0; i < count; ++i) {
    wire_ups.push_back(std::make_unique<WireUp>(*transports[static_cast<std::size_t>(i)], *address, tag_of(first + i)));
  }
  for (char byte = 0;;) {
    bool moved = false;
    for (const auto& transport : transports) moved = transport->progress() || moved;
    if (recv(socket, &byte, 1, MSG_DONTWAIT) == 0) return;
    if (!moved) usleep(100);
  }
}

/// A child process: plans all collectives, whose memory is not a rank's.
void be_planner(int socket, const Topology& topology) {
  for (const Collective collective : all_collectives) {
    const Result<Plan> plan = make_plan(topology, collective, "auto", {});
    if (!write_text(socket, plan ? pack_schedule(plan->schedule) : "")) return;
  }
}

// ---- the parts ------------------------------------------------------------------------------------------------

Status connect_all(Transport& transport, const std::vector<std::string>& addresses,
                   std::vector<std::unique_ptr<WireUp>>& wire_ups) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    wire_ups.push_back(std::make_unique<WireUp>(transport, addresses[i], tag_of(static_cast<std::int32_t>(i))));
  }
  const Clock::time_point begin = Clock::now();
  for (;;) {
    transport.progress();
    bool done = true;
    for (const auto& wire : wire_ups) {
      if (wire->failed()) return Error{"another node could not be reached by " + transport.name()};
      done = done && wire->done();
    }
    if (done) return {};
    if (Clock::now() - begin > patience) return Error{"not all nodes answered by " + transport.name()};
  }
}

/// What a rank keeps of one plan.
struct Adopted {
  Program program;
  TaskGraph task_graph;
  Workspace workspace;
};

Status adopt(const std::string& text, Adopted& adopted) {
  const Result<Schedule> schedule = unpack_schedule(text);
  if (!schedule) return schedule.error();
  adopted.program = lower(*schedule, 0);
  return {};
}

void make_ready(Adopted& adopted, std::int64_t call_bytes) {
  const std::int32_t nodes = adopted.program.nodes;
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(nodes));
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::int64_t elements = adopted.program.collective == Collective::allreduce ? call_bytes : call_bytes / nodes;
  adopted.task_graph = make_task_graph(adopted.program, ranks, equal_shards(elements, 1), Tuning());
  adopted.workspace.waits = adopted.task_graph.waits;
  adopted.workspace.completions.resize(adopted.task_graph.task_count());
}

Result<RouteBinding> binding_of(const Config& config, std::int32_t route_classes) {
  if (!config.route_binding.empty()) return load_route_binding(config.route_binding);
  RouteBinding binding;
  for (std::int32_t route_class = 0; route_class < route_classes; ++route_class) {
    binding.classes.push_back({route_class, {}, {}});
  }
  return binding;
}

}  // namespace

std::int64_t MemoryReport::total() const {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const MemoryPart& part) { return sum + part.added.total(); });
}

Result<MemoryReport> measure_memory(const Topology& topology, const Config& config, std::int32_t route_classes,
                                    std::int64_t call_bytes) {
  const Result<RouteBinding> binding = binding_of(config, route_classes);
  if (!binding) return binding.error();
  MemoryReport report;
  report.nodes = topology.host_count();

  // Children first: they must not have what this process is about to get.
  Result<Child> planner = Child::start([&](int socket) { be_planner(socket, topology); });
  if (!planner) return planner.error();
  Children others;
  std::vector<std::int32_t> counts;
  for (std::int32_t first = 0; first < report.nodes - 1; first += transports_per_process) {
    counts.push_back(std::min(transports_per_process, report.nodes - 1 - first));
    Result<Child> child = Child::start([&](int socket) { be_nodes(socket, config, *binding, first, counts.back()); });
    if (!child) return child.error();
    others.list.push_back(std::move(*child));
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < all_collectives.size(); ++i) {
    std::optional<std::string> text = read_text(planner->socket());
    if (!text || text->empty()) return Error{"not all collectives can be planned on " + topology.name()};
    texts.push_back(std::move(*text));
  }
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < others.list.size(); ++i) {
    for (std::int32_t each = 0; each < counts[i]; ++each) {
      std::optional<std::string> address = read_text(others.list[i].socket());
      if (!address) return Error{"the transports of the other nodes could not be opened"};
      addresses.push_back(std::move(*address));
    }
  }

  std::vector<std::unique_ptr<WireUp>> wire_ups;
  std::vector<Adopted> plans(texts.size());
  Meter meter(report.parts);
  const Result<std::unique_ptr<Transport>> transport = open_transport(config, *binding);
  if (!transport) return transport.error();
  report.transport = (*transport)->name();
  report.route_classes = (*transport)->route_classes();
  meter.note("contexts and workers");
  for (const Child& child : others.list) {
    if (!write_text(child.socket(), (*transport)->address())) return Error{"another node ended too early"};
  }
  if (const Status connected = connect_all(**transport, addresses, wire_ups); !connected) return connected.error();
  report.connections = static_cast<std::int32_t>(addresses.size()) * report.route_classes;
  meter.note("connections");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (const Status adopted = adopt(texts[i], plans[i]); !adopted) return adopted.error();
  }
  meter.note("plans");
  for (Adopted& plan : plans) make_ready(plan, call_bytes);
  meter.note("task_graphs");
  // Who is still connecting must not find that this process has gone.
  others.end();
  return report;
}

}  // namespace libcoll::command

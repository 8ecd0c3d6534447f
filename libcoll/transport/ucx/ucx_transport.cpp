#include "libcoll/transport/ucx/ucx_transport.h"

#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/utsname.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/debug.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "libcoll/base/log.h"
#include "libcoll/transport/address_list.h"
#include "libcoll/transport/ucx/ucx_transports.h"

namespace libcoll::transport::ucx {

using namespace schedule;

namespace {

Error ucx_error(const char* what, ucs_status_t status) {
  return Error{std::string("UCX: ") + what + ": " + ucs_status_string(status)};
}

/// A worker without anything outstanding is progressed in one pass of so many.
constexpr std::uint32_t passes_of_idle_workers = 16;

/// The 64 bits of a tag are matched whole.
constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

/// What stands behind the addresses of the rails: this host, the same text for all of its processes that can have
/// shared memory; empty where the job has one process on it.
std::string host_mark(HostMates mates) {
  if (mates == HostMates::none) return {};
  utsname names{};
  uname(&names);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot + " " + names.nodename;
}

/// What one route class has of UCX.
struct Rail {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  std::string address;
  /// UCX ends a connection with a word of farewell, for which it tries again and again to find room in the socket. On a
  /// connection that is dead and full it would do so until the system gives up: minutes. It has to stay open instead.
  bool stays_open = false;
  std::uint32_t outstanding = 0;  ///< sends and receives that UCX has yet to complete

  Rail() = default;
  Rail(Rail&& other) noexcept
      : context(std::exchange(other.context, nullptr)),
        worker(std::exchange(other.worker, nullptr)),
        address(std::move(other.address)),
        stays_open(other.stays_open) {}
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;
  Rail& operator=(Rail&&) = delete;
  ~Rail() {
    if (stays_open) return;
    if (worker != nullptr) ucp_worker_destroy(worker);
    if (context != nullptr) ucp_cleanup(context);
  }
};

Status apply_settings(ucp_config_t* config, const RouteClassBinding& binding) {
  for (const auto& [name, value] : binding.settings) {
    const ucs_status_t status = ucp_config_modify(config, name.c_str(), value.c_str());
    if (status == UCS_OK) continue;
    std::string what = "setting ";
    what.append(name).append(" = \"").append(value).append("\" of route class ");
    what += std::to_string(binding.route_class);
    return ucx_error(what.c_str(), status);
  }
  return {};
}

/// What `print` writes to a file; empty when there is no memory for it.
template <class Print>
std::string printed(Print print) {
  char* memory = nullptr;
  std::size_t bytes = 0;
  std::FILE* stream = open_memstream(&memory, &bytes);
  if (stream == nullptr) return {};
  print(stream);
  std::fclose(stream);
  std::string text(memory, bytes);
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's
  return text;
}

/// A setting's value as UCX found it in its environment and files; empty when there is no such setting.
std::string value_of(const ucp_config_t* config, std::string_view name) {
  const std::string text = "\n" + printed([config](std::FILE* stream) {
                             ucp_config_print(config, stream, nullptr, UCS_CONFIG_PRINT_CONFIG);
                           });
  const std::string key = "\nUCX_" + std::string(name) + "=";
  const std::size_t found = text.find(key);
  if (found == std::string::npos) return {};
  const std::size_t begin = found + key.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

Status leave_out_shared_memory(ucp_config_t* config) {
  const std::string transports = value_of(config, "TLS");
  if (transports.empty()) return {};
  const ucs_status_t status = ucp_config_modify(config, "TLS", without_shared_memory(transports).c_str());
  return status == UCS_OK ? Status() : ucx_error("leaving out shared memory", status);
}

/// A send that both ends copy through memory of the host, as far as RNDV_SEND_NBR_THRESH allows; longer ones the
/// receiver copies out of the sender's memory by a system call, which has to be agreed on.
constexpr std::uint32_t copied = UCP_OP_ATTR_FLAG_FAST_CMPL;
/// Up to this length two copies take less than the agreement and the call, other messages than summands.
constexpr std::size_t most_copied_bytes = 32 * std::size_t{1024};

/// What the user has set: the route class's own setting, or that of the environment.
std::optional<std::string> set_by_user(const RouteClassBinding& binding, std::string_view name) {
  if (std::optional<std::string> own = setting_of(binding, name)) return own;
  const char* value = std::getenv(("UCX_" + std::string(name)).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Lets the longest summands be copied, where the user has not set how long a copied send may be.
void allow_long_summands(ucp_config_t* config, const RouteClassBinding& binding) {
  constexpr const char* name = "RNDV_SEND_NBR_THRESH";
  if (set_by_user(binding, name)) return;
  // A version without it takes summands as it takes other messages.
  static_cast<void>(ucp_config_modify(config, name, std::to_string(most_memory_segment_bytes + 1).c_str()));
}

/// The first version of UCX that takes a transport's setting by the name that the environment has for it.
constexpr std::array<unsigned, 2> long_names_since{1, 15};

std::array<unsigned, 2> version_of_ucx() {
  std::array<unsigned, 2> version{};
  unsigned patch = 0;
  ucp_get_version(&version[0], &version[1], &patch);
  return version;
}

/// UCX asks after peers that are silent, and gives up a connection whose cable is out for half a minute. Calls may go
/// by other links meanwhile and need it later. One that data waits on lives for minutes: so do the others then.
void keep_idle_connections(ucp_config_t* config, const RouteClassBinding& binding) {
  if (!set_by_user(binding, "KEEPALIVE_INTERVAL")) {
    static_cast<void>(ucp_config_modify(config, "KEEPALIVE_INTERVAL", "inf"));
  }
  if (set_by_user(binding, "TCP_KEEPIDLE")) return;
  const std::string devices = set_by_user(binding, "NET_DEVICES").value_or(value_of(config, "NET_DEVICES"));
  // UCX warns of settings for what it does not use.
  if (!has_tcp(set_by_user(binding, "TLS").value_or(value_of(config, "TLS")), devices)) return;
  const char* const name = version_of_ucx() < long_names_since ? "KEEPIDLE" : "TCP_KEEPIDLE";
  static_cast<void>(ucp_config_modify(config, name, "inf"));
}

/// UCX sets aside and touches memory for messages that come through queues of the host, before there are any: 4 MB per
/// kind of shared memory, which takes as long as all else that a context needs. A queue holds 64; more memory comes
/// when they have to wait.
void start_with_few_buffers(ucp_config_t* config, const RouteClassBinding& binding) {
  for (const char* kind : {"MM", "POSIX", "SYSV", "XPMEM"}) {
    if (set_by_user(binding, std::string(kind) + "_RX_BUFS_GROW")) return;
  }
  const std::string transports = set_by_user(binding, "TLS").value_or(value_of(config, "TLS"));
  const std::string devices = set_by_user(binding, "SHM_DEVICES").value_or(value_of(config, "SHM_DEVICES"));
  // UCX warns of settings for what it does not use.
  if (!has_memory_queues(transports, devices)) return;
  static_cast<void>(ucp_config_modify(config, "MM_RX_BUFS_GROW", "128"));
}

/// Larger messages are copied into sockets by the kernel before they complete, when nothing is agreed with the
/// receiver.
bool without_rendezvous(const RouteClassBinding& binding) { return set_by_user(binding, "RNDV_THRESH") == "inf"; }

/// What the receiver reads in the sender's memory, it reads in pieces of 512 KB, each a system call that costs what
/// copying 40 KB does. Not for versions whose name of the setting is another one.
bool may_read_long_pieces(const RouteClassBinding& binding) {
  return version_of_ucx() < long_names_since && !set_by_user(binding, "CMA_SEG_SIZE");
}

/// Whether this process may read other processes' memory, by UCX's own test.
bool reads_memory(ucp_context_h context) {
  const std::string text = printed([context](std::FILE* stream) { ucp_context_print_info(context, stream); });
  return text.find("cma/") != std::string::npos;
}

Status open_context(Rail& rail, const RouteClassBinding& binding, HostMates mates, bool reads_long_pieces) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return ucx_error("reading its configuration", status);
  allow_long_summands(config, binding);
  Status applied = mates == HostMates::possible ? Status() : leave_out_shared_memory(config);
  if (mates == HostMates::possible) start_with_few_buffers(config, binding);
  if (reads_long_pieces) {
    static_cast<void>(ucp_config_modify(config, "SCOPY_SEG_SIZE", std::to_string(most_read_segment_bytes).c_str()));
  }
  keep_idle_connections(config, binding);
  if (applied.ok()) applied = apply_settings(config, binding);
  if (applied.ok()) {
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    parameters.name = "libcoll";
    status = ucp_init(&parameters, config, &rail.context);
  }
  ucp_config_release(config);
  if (!applied) return applied;
  return status == UCS_OK ? Status() : ucx_error("opening a context", status);
}

Status open_context(Rail& rail, const RouteClassBinding& binding, HostMates mates) {
  if (binding.route_class != 0) mates = HostMates::none;
  const bool reads_long_pieces = mates == HostMates::possible && may_read_long_pieces(binding);
  Status opened = open_context(rail, binding, mates, reads_long_pieces);
  // UCX warns of settings for what it does not use.
  if (!opened || !reads_long_pieces || reads_memory(rail.context)) return opened;
  ucp_cleanup(std::exchange(rail.context, nullptr));
  return open_context(rail, binding, mates, false);
}

Status open_worker(Rail& rail) {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(rail.context, &parameters, &rail.worker);
  if (status != UCS_OK) return ucx_error("creating a worker", status);
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = ucp_worker_get_address(rail.worker, &address, &bytes);
  if (status != UCS_OK) return ucx_error("reading the worker's address", status);
  rail.address.assign(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(rail.worker, address);
  return {};
}

// ---- messages in pieces -----------------------------------------------------------------------------------------

/// A datatype of UCX's whose memory is a Completion: its pieces are given and taken one by one.
const ucp_generic_dt_ops_t piece_operations = {
    [](void*, const void* completion, std::size_t) -> void* { return const_cast<void*>(completion); },
    [](void*, void* completion, std::size_t) -> void* { return completion; },
    [](void* completion) -> std::size_t { return static_cast<const Completion*>(completion)->bytes; },
    [](void* from, std::size_t offset, void* piece, std::size_t most) -> std::size_t {
      const auto* completion = static_cast<const Completion*>(from);
      const std::size_t bytes = std::min(most, completion->bytes - offset);
      completion->pieces->give(completion->index, offset, {static_cast<std::byte*>(piece), bytes});
      return bytes;
    },
    [](void* to, std::size_t offset, const void* piece, std::size_t bytes) -> ucs_status_t {
      const auto* completion = static_cast<const Completion*>(to);
      completion->pieces->take(completion->index, offset, {static_cast<const std::byte*>(piece), bytes});
      return UCS_OK;
    },
    [](void*) {},
};

class UcxTransport final : public Transport {
 public:
  UcxTransport() = default;
  ~UcxTransport() override {
    for (const Endpoint& endpoint : endpoints_) {
      if (!rail_of(endpoint).stays_open) close(endpoint);
    }
    if (epoll_ >= 0) ::close(epoll_);
    if (pieces_ != 0) {
      rails_.clear();
      ucp_dt_destroy(pieces_);
    }
  }

  Status open(const RouteBinding& binding, HostMates mates) {
    static const std::vector<RouteClassBinding> unsteered(1);
    const std::vector<RouteClassBinding>& classes = binding.classes.empty() ? unsteered : binding.classes;
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) return Error{std::string("epoll_create1: ") + std::strerror(errno)};
    const ucs_status_t described = ucp_dt_create_generic(&piece_operations, nullptr, &pieces_);
    if (described != UCS_OK) return ucx_error("describing messages in pieces", described);
    for (const RouteClassBinding& each : classes) {
      eager_only_ = eager_only_ && without_rendezvous(each);
      if (Status opened = open_rail(each, mates); !opened) return opened;
    }
    host_mark_ = host_mark(mates);
    append_address(address_, host_mark_);
    if (address_.size() <= max_address_bytes) return {};
    return Error{"UCX: worker addresses of " + std::to_string(address_.size()) + " bytes, expected at most " +
                 std::to_string(max_address_bytes)};
  }

  std::string name() const override { return "ucx"; }
  const std::string& address() const override { return address_; }
  std::int32_t route_classes() const override { return static_cast<std::int32_t>(rails_.size()); }

  std::int64_t unflushed_bytes() const override {
    return eager_only_ ? std::numeric_limits<std::int64_t>::max() : Transport::unflushed_bytes();
  }

  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    const auto known = peers_.find({address, route_class});
    if (known != peers_.end()) return known->second;
    const std::string_view target = nth_address(address, route_class);
    if (route_class < 0 || route_class >= route_classes() || target.empty()) {
      return Error{"UCX: no route class " + std::to_string(route_class) + ", expected from 0 to " +
                   std::to_string(route_classes() - 1)};
    }
    const ucp_worker_h worker = rails_[static_cast<std::size_t>(route_class)].worker;
    ucp_ep_params_t parameters{};
    parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    parameters.address = reinterpret_cast<const ucp_address_t*>(target.data());
    if (is_on_another_host(address)) {
      parameters.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
      parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
      parameters.err_handler = {&UcxTransport::broke, this};
    }
    ucp_ep_h endpoint = nullptr;
    const ucs_status_t status = ucp_ep_create(worker, &parameters, &endpoint);
    if (status != UCS_OK) return ucx_error("creating an endpoint", status);
    const auto peer = static_cast<PeerId>(endpoints_.size());
    endpoints_.push_back({endpoint, route_class, false, route_class == 0 && !is_on_another_host(address)});
    peers_.emplace(std::pair(address, route_class), peer);
    return peer;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    const bool is_copied = bytes <= most_copied_bytes && is_by_memory(peer);
    return post_send(peer, tag, data, bytes, ucp_dt_make_contig(1), completion, is_copied ? copied : 0);
  }

  /// Without rendezvous: the receiver takes pieces, and UCX can read none from the sender's memory into those.
  Posted send_by_copy(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
                      Completion* completion) noexcept override {
    return post_send(peer, tag, data, bytes, ucp_dt_make_contig(1), completion, is_by_memory(peer) ? copied : 0);
  }

  bool share_memory(const std::string& one, const std::string& other) const override {
    const std::string_view mark = nth_address(one, route_classes());
    return route_classes() == 1 && !mark.empty() && mark == nth_address(other, route_classes());
  }

  bool is_by_memory(PeerId peer) const noexcept override {
    return endpoints_[static_cast<std::size_t>(peer)].is_by_memory;
  }

  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    return post_receive(route_class, tag, data, bytes, bytes, ucp_dt_make_contig(1), completion);
  }

  bool takes_pieces() const override { return true; }

  Posted send_pieces(PeerId peer, std::uint64_t tag, Pieces& pieces, std::size_t bytes,
                     Completion* completion) noexcept override {
    completion->pieces = &pieces;
    completion->bytes = bytes;
    return post_send(peer, tag, completion, 1, pieces_, completion);
  }

  Posted receive_pieces(std::int32_t route_class, std::uint64_t tag, Pieces& pieces, std::size_t bytes,
                        Completion* completion) noexcept override {
    completion->pieces = &pieces;
    return post_receive(route_class, tag, completion, 1, bytes, pieces_, completion);
  }

  /// Workers without anything outstanding have their turn, too, now and then: peers connect to them, and UCX has
  /// messages of its own.
  bool progress() noexcept override {
    bool all = event_came_.load(std::memory_order_relaxed) || ++passes_ % passes_of_idle_workers == 0;
    if (all) event_came_.store(false, std::memory_order_relaxed);
    all = all || std::none_of(rails_.begin(), rails_.end(), [](const Rail& rail) { return rail.outstanding > 0; });
    bool moved = false;
    for (const Rail& rail : rails_) {
      if (all || rail.outstanding > 0) moved = ucp_worker_progress(rail.worker) != 0 || moved;
    }
    return moved;
  }

  /// By endpoint: a flush of the worker does not wait for acknowledgements that are queued on an endpoint.
  bool flushed(Flush& flush, std::span<const PeerId> peers) noexcept override {
    if (!flush.started) {
      flush.started = true;
      for (const PeerId peer : peers) start_flush(flush, peer);
    }
    std::erase_if(flush.requests, [](void* request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      return true;
    });
    return flush.requests.empty();
  }

  void abandon(Flush& flush) noexcept override {
    for (void* request : flush.requests) ucp_request_free(request);  // UCX keeps it until it is done
    flush = {};
  }

  bool arm() noexcept override {
    return std::all_of(rails_.begin(), rails_.end(),
                       [](const Rail& rail) { return ucp_worker_arm(rail.worker) == UCS_OK; });
  }

  void forsake(PeerId peer) noexcept override { rail_of(endpoints_[static_cast<std::size_t>(peer)]).stays_open = true; }

  bool has_broken(std::span<const PeerId> peers) const noexcept override {
    return has_broken_ && std::any_of(peers.begin(), peers.end(), [this](PeerId peer) {
             return peer >= 0 && endpoints_[static_cast<std::size_t>(peer)].is_broken;
           });
  }

  void block(int timeout_milliseconds) noexcept override {
    epoll_event event{};
    if (epoll_wait(epoll_, &event, 1, timeout_milliseconds) > 0) event_came_.store(true, std::memory_order_relaxed);
  }

 private:
  struct Endpoint {
    ucp_ep_h handle;
    std::int32_t route_class;
    bool is_broken = false;
    bool is_by_memory = false;
  };

  Rail& rail_of(const Endpoint& endpoint) { return rails_[static_cast<std::size_t>(endpoint.route_class)]; }

  static Posted posted(ucs_status_ptr_t request) {
    if (request == nullptr) return Posted::done;
    return UCS_PTR_IS_ERR(request) ? Posted::failed : Posted::pending;
  }

  /// Both ends come to the same answer, as UCX wants it: shared memory cannot tell of failures, so UCX leaves it out of
  /// connections that are to.
  bool is_on_another_host(const std::string& address) const {
    return host_mark_.empty() || nth_address(address, route_classes()) != host_mark_;
  }

  /// A connection is gone: sends by it fail from now on, and what its peer would have sent does not come.
  static void broke(void* self, ucp_ep_h endpoint, ucs_status_t status) {
    log(LogLevel::info, std::string("UCX: a connection broke: ") + ucs_status_string(status));
    auto& transport = *static_cast<UcxTransport*>(self);
    for (Endpoint& each : transport.endpoints_) {
      if (each.handle == endpoint) each.is_broken = true;
    }
    transport.has_broken_ = true;
  }

  static void sent(void* request, ucs_status_t status, void* user_data) {
    ucp_request_free(request);
    const auto* completion = static_cast<Completion*>(user_data);
    --*completion->outstanding;
    completion->waiter->completed(completion->index, status == UCS_OK);
  }

  static void received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* user_data) {
    ucp_request_free(request);
    auto* const completion = static_cast<Completion*>(user_data);
    completion->other_length =
        status == UCS_ERR_MESSAGE_TRUNCATED || (status == UCS_OK && info->length != completion->bytes);
    --*completion->outstanding;
    completion->waiter->completed(completion->index, status == UCS_OK && !completion->other_length);
  }

  Posted post_send(PeerId peer, std::uint64_t tag, const void* memory, std::size_t count, ucp_datatype_t type,
                   Completion* completion, std::uint32_t flags = 0) {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE | flags;
    parameters.cb.send = &UcxTransport::sent;
    parameters.datatype = type;
    parameters.user_data = completion;
    const Endpoint& endpoint = endpoints_[static_cast<std::size_t>(peer)];
    count_outstanding(rail_of(endpoint), completion);
    const Posted result = posted(ucp_tag_send_nbx(endpoint.handle, memory, count, tag, &parameters));
    if (result != Posted::pending) --*completion->outstanding;
    return result;
  }

  Posted post_receive(std::int32_t route_class, std::uint64_t tag, void* memory, std::size_t count, std::size_t bytes,
                      ucp_datatype_t type, Completion* completion) {
    // Even a receive that completes at once goes through the callback (which may come before this returns): only
    // there does UCX 1.13 tell the length received.
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE |
                              UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    parameters.cb.recv = &UcxTransport::received;
    parameters.datatype = type;
    completion->bytes = bytes;
    parameters.user_data = completion;
    Rail& rail = rails_[static_cast<std::size_t>(route_class)];
    count_outstanding(rail, completion);
    const Posted result = posted(ucp_tag_recv_nbx(rail.worker, memory, count, tag, whole_tag, &parameters));
    if (result == Posted::failed) --*completion->outstanding;
    return result;
  }

  /// Before it is posted: the callback may come earlier than the end of the posting.
  static void count_outstanding(Rail& rail, Completion* completion) {
    completion->outstanding = &rail.outstanding;
    ++rail.outstanding;
  }

  ucp_ep_h endpoint_of(PeerId peer) const { return endpoints_[static_cast<std::size_t>(peer)].handle; }

  Status open_rail(const RouteClassBinding& binding, HostMates mates) {
    Rail& rail = rails_.emplace_back();
    if (Status opened = open_context(rail, binding, mates); !opened) return opened;
    if (Status opened = open_worker(rail); !opened) return opened;
    append_address(address_, rail.address);
    int descriptor = -1;
    const ucs_status_t status = ucp_worker_get_efd(rail.worker, &descriptor);
    if (status != UCS_OK) return ucx_error("getting an event descriptor", status);
    epoll_event event{EPOLLIN, {}};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
    return Error{std::string("epoll_ctl: ") + std::strerror(errno)};
  }

  /// A flush that fails is left out: the operations concerned report their failure themselves.
  void start_flush(Flush& flush, PeerId peer) {
    if (peer < 0) return;
    const ucp_request_param_t parameters{};
    void* request = ucp_ep_flush_nbx(endpoint_of(peer), &parameters);
    if (request != nullptr && !UCS_PTR_IS_ERR(request)) flush.requests.push_back(request);
  }

  void close(const Endpoint& endpoint) {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* request = ucp_ep_close_nbx(endpoint.handle, &parameters);
    if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(rail_of(endpoint).worker);
    ucp_request_free(request);
  }

  std::string host_mark_;  ///< as its address says to others
  bool has_broken_ = false;
  bool eager_only_ = true;  ///< no message waits for its receiver, whatever its size
  ucp_datatype_t pieces_ = 0;
  std::vector<Rail> rails_;               ///< by route class
  std::uint32_t passes_ = 0;              ///< of progress()
  std::atomic<bool> event_came_ = false;  ///< on some worker's descriptor, while this process slept
  int epoll_ = -1;                        ///< over the descriptors of all workers
  std::string address_;
  std::vector<Endpoint> endpoints_;
  std::map<std::pair<std::string, std::int32_t>, PeerId> peers_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_ucx_transport(const RouteBinding& binding, HostMates mates) {
  auto transport = std::make_unique<UcxTransport>();
  const Status opened = transport->open(binding, mates);
  if (!opened) return opened.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

LibraryVersion ucx_version() noexcept {
  LibraryVersion version;
  unsigned patch = 0;
  ucp_get_version(&version.major, &version.minor, &patch);
  return version;
}

void disable_ucx_signal_handlers() noexcept {
  for (const int signal_number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) {
    struct sigaction action {};
    Dl_info owner{};
    if (sigaction(signal_number, nullptr, &action) != 0) continue;
    if (dladdr(reinterpret_cast<void*>(action.sa_sigaction), &owner) == 0 || owner.dli_fname == nullptr) continue;
    if (std::string_view(owner.dli_fname).find("libucs") != std::string_view::npos) {
      ucs_debug_disable_signal(signal_number);
    }
  }
}

}  // namespace libcoll::transport::ucx

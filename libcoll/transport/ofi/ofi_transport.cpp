#include "libcoll/transport/ofi/ofi_transport.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "libcoll/base/system_error.h"
#include "libcoll/transport/address_list.h"
#include "libcoll/transport/nap.h"
#include "libcoll/transport/ofi/ofi_settings.h"
#include "libcoll/transport/ofi/registration_cache.h"

namespace libcoll::transport::ofi {

using namespace schedule;

namespace {

/// What is asked for: later versions, 2.x too, behave towards us as this one did.
constexpr std::uint32_t api_version = FI_VERSION(1, 9);
constexpr std::size_t completions_per_read = 16;
/// Per route class, of a provider that wants registered memory.
constexpr std::size_t kept_registrations = 64;
constexpr std::size_t most_address_bytes = 512;

// ---- the library ----------------------------------------------------------------------------------------------------

/// What libfabric exports of what we need; everything else goes through tables in its objects. It is not linked: it
/// would bring a dozen network libraries into every process that libcoll is loaded into.
struct Library {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
  decltype(&fi_version) version = nullptr;
  std::string obstacle;  ///< why it is not there
};

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Library load() {
  Library library;
  void* handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    library.obstacle = reason == nullptr ? "it cannot be loaded" : reason;
  } else if (!look_up(handle, "fi_getinfo", library.getinfo) || !look_up(handle, "fi_freeinfo", library.freeinfo) ||
             !look_up(handle, "fi_dupinfo", library.dupinfo) || !look_up(handle, "fi_fabric", library.fabric) ||
             !look_up(handle, "fi_strerror", library.strerror) || !look_up(handle, "fi_version", library.version)) {
    library.obstacle = "libfabric.so.1 lacks a function";
  }
  return library;
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

Error ofi_error(const std::string& what, std::int64_t code) {
  return Error{"libfabric: " + what + ": " + library().strerror(static_cast<int>(std::abs(code)))};
}

/// Some providers install signal handlers when they are set up; those are not ours to give to a user's process.
class SignalHandlersKept {
 public:
  SignalHandlersKept() {
    for (int number = 1; number < NSIG; ++number) known_[index(number)] = sigaction(number, nullptr, &at(number)) == 0;
  }
  SignalHandlersKept(const SignalHandlersKept&) = delete;
  SignalHandlersKept& operator=(const SignalHandlersKept&) = delete;
  ~SignalHandlersKept() {
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction now {};
      if (!known_[index(number)] || sigaction(number, nullptr, &now) != 0) continue;
      if (now.sa_sigaction != at(number).sa_sigaction) sigaction(number, &at(number), nullptr);
    }
  }

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  struct sigaction& at(int number) {
    return actions_[index(number)];
  }

  std::array<struct sigaction, NSIG> actions_{};
  std::array<bool, NSIG> known_{};
};

// ---- choosing a provider --------------------------------------------------------------------------------------------

struct InfoDeleter {
  void operator()(fi_info* info) const { library().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoDeleter>;

char* copied(const std::string& text) { return strdup(text.c_str()); }

/// The device of a route class: "mlx5_1:1" is port 1 of the domain "mlx5_1". Empty: any.
Result<std::string> domain_of(const RouteClassBinding& binding) {
  std::string domain;
  for (const auto& [name, value] : binding.settings) {
    if (name != "NET_DEVICES") {
      return Error{"libfabric: setting " + name + " of route class " + std::to_string(binding.route_class) +
                   " means nothing to it, expected NET_DEVICES alone"};
    }
    domain = value.substr(0, value.find(':'));
  }
  return domain;
}

/// All of an operation's tag bits take part in matching.
bool matches_whole_tags(const fi_info& info) {
  return std::bit_width(info.ep_attr->mem_tag_format) == std::numeric_limits<std::uint64_t>::digits;
}

Info make_hints(const OfiOptions& options, const std::string& domain, int registration_modes) {
  Info hints(library().dupinfo(nullptr));
  if (hints == nullptr) return hints;
  hints->caps = FI_TAGGED;
  // Over the loopback interface or within a node only: good enough when it was asked for.
  if (options.provider.empty() && domain.empty()) hints->caps |= FI_LOCAL_COMM | FI_REMOTE_COMM;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = registration_modes;
  if (!options.provider.empty()) hints->fabric_attr->prov_name = copied(options.provider);
  return hints;
}

/// The first offer that will do, or why none will.
Result<Info> find_offer(const OfiOptions& options, const std::string& domain, int registration_modes) {
  const Info hints = make_hints(options, domain, registration_modes);
  if (hints == nullptr) return Error{"libfabric: out of memory"};
  fi_info* found = nullptr;
  const int code = library().getinfo(api_version, nullptr, nullptr, 0, hints.get(), &found);
  std::string wanted = options.provider.empty() ? "provider" : "provider \"" + options.provider + "\"";
  if (!domain.empty()) wanted += " on \"" + domain + "\"";
  if (code != 0) return ofi_error("no " + wanted + " of tagged messages", code);
  const Info offers(found);
  std::string obstacle;
  for (const fi_info* offer = found; offer != nullptr; offer = offer->next) {
    // Layered providers do not look at the name in the hints.
    if (!domain.empty() && domain != offer->domain_attr->name) continue;
    if (!matches_whole_tags(*offer)) {
      obstacle = " matches 64 bits of a tag";
    } else if (offer->ep_attr->max_msg_size < static_cast<std::size_t>(options.largest_message_bytes)) {
      obstacle = " sends messages of " + std::to_string(options.largest_message_bytes) + " bytes";
    } else {
      return Info(library().dupinfo(offer));
    }
  }
  return Error{"libfabric: no " + wanted + obstacle};
}

/// With memory registered by the provider where possible.
Result<Info> choose_offer(const OfiOptions& options, const std::string& domain) {
  // These concern one-sided access alone, which we do not use.
  constexpr int harmless = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  Result<Info> offer = find_offer(options, domain, harmless | (options.register_memory ? FI_MR_LOCAL : 0));
  if (offer.ok() || options.register_memory) return offer;
  Result<Info> registered = find_offer(options, domain, harmless | FI_MR_LOCAL);
  return registered.ok() ? std::move(registered) : std::move(offer);
}

// ---- one route class ------------------------------------------------------------------------------------------------

template <class Object>
struct Close {
  void operator()(Object* object) const { fi_close(&object->fid); }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close<Object>>;

/// A message that the provider has or is to get.
struct Operation {
  fi_context2 context{};  ///< the provider's; first, since completions come back with its address
  Completion* completion = nullptr;
  PeerId peer = -1;  ///< none: a receive
  fi_addr_t to = FI_ADDR_UNSPEC;
  std::uint64_t tag = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
  RegistrationCache::Registration* registration = nullptr;
};

/// What one route class has of libfabric; members go in reverse order.
class Rail final : private MemoryRegistrar {
 public:
  Rail() = default;
  ~Rail() = default;

  Status open(const OfiOptions& options, const RouteClassBinding& binding) {
    const Result<std::string> domain = domain_of(binding);
    if (!domain) return domain.error();
    Result<Info> offer = choose_offer(options, *domain);
    if (!offer) return offer.error();
    info_ = std::move(*offer);
    if (Status opened = open_domain(); !opened) return opened;
    if (Status opened = open_endpoint(); !opened) return opened;
    if (options.register_memory || (static_cast<unsigned>(info_->domain_attr->mr_mode) & FI_MR_LOCAL) != 0) {
      registrations_.emplace(static_cast<MemoryRegistrar&>(*this), UnmapWatch::start().ok() ? kept_registrations : 0);
    }
    return read_address();
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string_view provider() const { return info_->fabric_attr->prov_name; }
  [[nodiscard]] std::size_t largest_message() const { return info_->ep_attr->max_msg_size; }
  /// -1 when the provider has none.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  Result<fi_addr_t> insert(std::string_view address) {
    fi_addr_t peer = FI_ADDR_UNSPEC;
    const int inserted = fi_av_insert(addresses_.get(), address.data(), 1, &peer, 0, nullptr);
    if (inserted == 1) return peer;
    return ofi_error("inserting an address", inserted < 0 ? inserted : FI_EINVAL);
  }

  /// 0, -FI_EAGAIN when the provider has no room now, or another error.
  ssize_t post(Operation& operation) noexcept {
    void* description = nullptr;
    if (registrations_ && operation.bytes > 0) {
      if (operation.registration == nullptr) {
        operation.registration = registrations_->acquire(operation.data, operation.bytes);
      }
      if (operation.registration == nullptr) return -FI_ENOMEM;
      description = fi_mr_desc(static_cast<fid_mr*>(operation.registration->handle));
    }
    if (operation.peer >= 0) {
      return fi_tsend(endpoint_.get(), operation.data, operation.bytes, description, operation.to, operation.tag,
                      &operation.context);
    }
    return fi_trecv(endpoint_.get(), operation.data, operation.bytes, description, FI_ADDR_UNSPEC, operation.tag, 0,
                    &operation.context);
  }

  void release_memory(Operation& operation) noexcept {
    if (operation.registration == nullptr) return;
    registrations_->release(operation.registration);
    operation.registration = nullptr;
  }

  /// At most as many completions as there is room for, or an error.
  ssize_t read(std::span<fi_cq_tagged_entry> entries) noexcept {
    return fi_cq_read(completions_.get(), entries.data(), entries.size());
  }
  /// What failed; op_context is null when nothing did.
  fi_cq_err_entry read_failed() noexcept {
    fi_cq_err_entry entry{};
    if (fi_cq_readerr(completions_.get(), &entry, 0) != 1) entry.op_context = nullptr;
    return entry;
  }
  /// Whether the descriptor will tell of everything from now on.
  bool may_sleep() noexcept {
    if (descriptor_ < 0) return true;
    fid* objects[] = {&completions_->fid};
    return fi_trywait(fabric_.get(), objects, 1) == FI_SUCCESS;
  }

 private:
  Status open_domain() {
    fid_fabric* fabric = nullptr;
    if (const int code = library().fabric(info_->fabric_attr, &fabric, nullptr); code != 0) {
      return ofi_error("opening the fabric", code);
    }
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    if (const int code = fi_domain(fabric, info_.get(), &domain, nullptr); code != 0) {
      return ofi_error("opening a domain", code);
    }
    domain_.reset(domain);
    return open_completions();
  }

  Status open_completions() {
    fi_cq_attr attributes{};
    attributes.format = FI_CQ_FORMAT_TAGGED;
    attributes.wait_obj = FI_WAIT_FD;
    fid_cq* completions = nullptr;
    if (fi_cq_open(domain_.get(), &attributes, &completions, nullptr) == 0) {
      completions_.reset(completions);
      if (fi_control(&completions->fid, FI_GETWAIT, &descriptor_) == 0) return {};
      descriptor_ = -1;
      completions_.reset();
    }
    attributes.wait_obj = FI_WAIT_NONE;
    const int code = fi_cq_open(domain_.get(), &attributes, &completions, nullptr);
    if (code != 0) return ofi_error("opening a completion queue", code);
    completions_.reset(completions);
    return {};
  }

  Status open_endpoint() {
    fi_av_attr attributes{};
    attributes.type = info_->domain_attr->av_type;
    fid_av* addresses = nullptr;
    if (const int code = fi_av_open(domain_.get(), &attributes, &addresses, nullptr); code != 0) {
      return ofi_error("opening an address vector", code);
    }
    addresses_.reset(addresses);
    fid_ep* endpoint = nullptr;
    if (const int code = fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr); code != 0) {
      return ofi_error("opening an endpoint", code);
    }
    endpoint_.reset(endpoint);
    int code = fi_ep_bind(endpoint, &addresses->fid, 0);
    if (code == 0) code = fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV);
    if (code == 0) code = fi_enable(endpoint);
    return code == 0 ? Status() : ofi_error("enabling an endpoint", code);
  }

  Status read_address() {
    std::array<char, most_address_bytes> bytes{};
    std::size_t length = bytes.size();
    const int code = fi_getname(&endpoint_->fid, bytes.data(), &length);
    if (code != 0) return ofi_error("reading the endpoint's address", code);
    address_.assign(bytes.data(), length);
    return {};
  }

  void* add(void* address, std::size_t bytes) noexcept override {
    fid_mr* region = nullptr;
    if (fi_mr_reg(domain_.get(), address, bytes, FI_SEND | FI_RECV, 0, next_key_++, 0, &region, nullptr) != 0) {
      return nullptr;
    }
    if ((static_cast<unsigned>(info_->domain_attr->mr_mode) & FI_MR_ENDPOINT) == 0) return region;
    if (fi_mr_bind(region, &endpoint_->fid, 0) == 0 && fi_mr_enable(region) == 0) return region;
    fi_close(&region->fid);
    return nullptr;
  }
  void remove(void* handle) noexcept override { fi_close(&static_cast<fid_mr*>(handle)->fid); }

  Info info_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_cq> completions_;
  Owned<fid_av> addresses_;
  std::optional<RegistrationCache> registrations_;
  Owned<fid_ep> endpoint_;
  int descriptor_ = -1;
  std::string address_;
  std::uint64_t next_key_ = 1;
};

// ---- the transport --------------------------------------------------------------------------------------------------

class OfiTransport final : public Transport {
 public:
  OfiTransport() = default;
  ~OfiTransport() override {
    if (epoll_ >= 0) ::close(epoll_);
  }

  Status open(const RouteBinding& binding, const OfiOptions& options) {
    // The process has no thread of ours yet.
    const OfiSettings settings(options.provider);
    if (!library().obstacle.empty()) return Error{"libfabric: " + library().obstacle};
    if (binding.backend == SteeringBackend::uct) return Error{"libfabric: a route binding by path indices is UCX's"};
    const SignalHandlersKept kept;
    static const std::vector<RouteClassBinding> unsteered(1);
    const std::vector<RouteClassBinding>& classes = binding.classes.empty() ? unsteered : binding.classes;
    for (const RouteClassBinding& each : classes) {
      if (Status opened = rails_.emplace_back().open(options, each); !opened) return opened;
    }
    receives_full_in_pass_.resize(rails_.size());
    append_address(address_, rails_.front().provider());
    for (const Rail& rail : rails_) append_address(address_, rail.address());
    if (address_.size() <= max_address_bytes) return watch_descriptors();
    return Error{"libfabric: addresses of " + std::to_string(address_.size()) + " bytes, expected at most " +
                 std::to_string(max_address_bytes)};
  }

  std::string name() const override { return "ofi (" + std::string(rails_.front().provider()) + ")"; }
  const std::string& address() const override { return address_; }
  std::int32_t route_classes() const override { return static_cast<std::int32_t>(rails_.size()); }
  /// A flush sends nothing.
  std::int64_t unflushed_bytes() const override { return std::numeric_limits<std::int64_t>::max(); }

  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    const auto known = peers_.find({address, route_class});
    if (known != peers_.end()) return known->second;
    if (nth_address(address, 0) != rails_.front().provider()) {
      return Error{"libfabric: a peer has another provider than " + std::string(rails_.front().provider())};
    }
    const std::string_view target = nth_address(address, route_class + 1);
    if (route_class < 0 || route_class >= route_classes() || target.empty()) {
      return Error{"libfabric: no route class " + std::to_string(route_class) + ", expected from 0 to " +
                   std::to_string(route_classes() - 1)};
    }
    const Result<fi_addr_t> inserted = rails_[static_cast<std::size_t>(route_class)].insert(target);
    if (!inserted) return inserted.error();
    const auto peer = static_cast<PeerId>(endpoints_.size());
    endpoints_.push_back({static_cast<std::size_t>(route_class), *inserted});
    peers_.emplace(std::pair(address, route_class), peer);
    return peer;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    Peer& to = endpoints_[static_cast<std::size_t>(peer)];
    // Only read: an operation has one pointer for both directions.
    return start(to.rail, {{}, completion, peer, to.address, tag, const_cast<void*>(data), bytes, nullptr});
  }

  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    return start(static_cast<std::size_t>(route_class),
                 {{}, completion, -1, FI_ADDR_UNSPEC, tag, data, bytes, nullptr});
  }

  bool progress() noexcept override {
    bool moved = false;
    for (std::size_t rail = 0; rail < rails_.size(); ++rail) moved = read_completions(rail) || moved;
    if (!waiting_.empty()) moved = post_waiting() || moved;
    if (moved) nap_.disturb();
    return moved;
  }

  /// libfabric has no flush. A send completes when the provider has handed it to the network (FI_TRANSMIT_COMPLETE, the
  /// rule for reliable endpoints) and a long one when the receiver has fetched it, so that nothing of ours is held back
  /// once all sends are complete.
  bool flushed(Flush&, std::span<const PeerId> peers) noexcept override {
    return std::all_of(peers.begin(), peers.end(), [&](PeerId peer) {
      return peer < 0 || endpoints_[static_cast<std::size_t>(peer)].sends_under_way == 0;
    });
  }

  bool arm() noexcept override {
    has_waiting_.store(!waiting_.empty(), std::memory_order_relaxed);
    return std::all_of(rails_.begin(), rails_.end(), [](Rail& rail) { return rail.may_sleep(); });
  }

  void block(int timeout_milliseconds) noexcept override {
    // Nothing tells when a provider that had no room has some again.
    if (!has_descriptors_ || has_waiting_.load(std::memory_order_relaxed)) return nap_.take(timeout_milliseconds);
    epoll_event event{};
    epoll_wait(epoll_, &event, 1, timeout_milliseconds);
  }

 private:
  struct Peer {
    std::size_t rail = 0;
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::int64_t sends_under_way = 0;
    std::uint64_t full_in_pass = 0;  ///< the last pass over what waits in which the provider had no room for it
  };
  struct Waiting {
    std::size_t rail;
    Operation* operation;
  };

  Status watch_descriptors() {
    has_descriptors_ =
        std::all_of(rails_.begin(), rails_.end(), [](const Rail& rail) { return rail.descriptor() >= 0; });
    if (!has_descriptors_) return {};
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) return Error{std::string("epoll_create1: ") + reason()};
    for (const Rail& rail : rails_) {
      epoll_event event{EPOLLIN, {}};
      if (epoll_ctl(epoll_, EPOLL_CTL_ADD, rail.descriptor(), &event) == 0) continue;
      return Error{std::string("epoll_ctl: ") + reason()};
    }
    return {};
  }

  Operation& kept(const Operation& operation) {
    if (free_.empty()) return operations_.emplace_back(operation);
    Operation& place = *free_.back();
    free_.pop_back();
    return place = operation;
  }

  Posted start(std::size_t rail, const Operation& wanted) noexcept {
    if (wanted.bytes > rails_[rail].largest_message()) return Posted::failed;
    Operation& operation = kept(wanted);
    const ssize_t code = rails_[rail].post(operation);
    if (code != 0 && code != -FI_EAGAIN) {
      rails_[rail].release_memory(operation);
      free_.push_back(&operation);
      return Posted::failed;
    }
    if (code == -FI_EAGAIN) waiting_.push_back({rail, &operation});
    if (operation.peer >= 0) ++endpoints_[static_cast<std::size_t>(operation.peer)].sends_under_way;
    return Posted::pending;
  }

  void finish(std::size_t rail, Operation& operation, bool ok) noexcept {
    rails_[rail].release_memory(operation);
    if (operation.peer >= 0) --endpoints_[static_cast<std::size_t>(operation.peer)].sends_under_way;
    const Completion* completion = operation.completion;
    free_.push_back(&operation);
    completion->waiter->completed(completion->index, ok);
  }

  bool read_completions(std::size_t rail) noexcept {
    bool moved = false;
    for (;;) {
      std::array<fi_cq_tagged_entry, completions_per_read> entries{};
      const ssize_t count = rails_[rail].read(entries);
      if (count == -FI_EAVAIL) {
        const fi_cq_err_entry failure = rails_[rail].read_failed();
        if (failure.op_context == nullptr) return moved;
        auto& operation = *static_cast<Operation*>(failure.op_context);
        operation.completion->other_length = failure.err == FI_ETRUNC;
        finish(rail, operation, false);
        moved = true;
        continue;
      }
      if (count <= 0) return moved;
      moved = true;
      for (const fi_cq_tagged_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
        Operation& operation = *static_cast<Operation*>(entry.op_context);
        operation.completion->other_length = operation.peer < 0 && entry.len != operation.bytes;
        finish(rail, operation, !operation.completion->other_length);
      }
      if (static_cast<std::size_t>(count) < entries.size()) return moved;
    }
  }

  /// What the provider had no room for. A peer whose connection is not up yet does not hold up the others.
  bool post_waiting() noexcept {
    ++pass_;
    std::size_t still = 0;
    const std::size_t count = waiting_.size();
    failed_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const Waiting each = waiting_[i];
      const PeerId peer = each.operation->peer;
      std::uint64_t& full =
          peer < 0 ? receives_full_in_pass_[each.rail] : endpoints_[static_cast<std::size_t>(peer)].full_in_pass;
      const ssize_t code = full == pass_ ? -FI_EAGAIN : rails_[each.rail].post(*each.operation);
      if (code == -FI_EAGAIN) {
        full = pass_;
        waiting_[still++] = each;
      } else if (code != 0) {
        failed_.push_back(each);
      }
    }
    waiting_.resize(still);
    for (const Waiting& each : failed_) finish(each.rail, *each.operation, false);
    return still < count;
  }

  std::deque<Rail> rails_;  ///< by route class
  int epoll_ = -1;          ///< over the descriptors of all rails
  bool has_descriptors_ = false;
  Nap nap_;
  std::string address_;
  std::vector<Peer> endpoints_;
  std::map<std::pair<std::string, std::int32_t>, PeerId> peers_;
  std::deque<Operation> operations_;  ///< stay in place: the provider has their addresses
  std::vector<Operation*> free_;
  std::vector<Waiting> waiting_;  ///< for room, in the order they came
  std::vector<Waiting> failed_;
  std::atomic<bool> has_waiting_{false};  ///< relaxed: it only limits a sleep, under no lock; the list has one
  std::uint64_t pass_ = 0;
  std::vector<std::uint64_t> receives_full_in_pass_;  ///< by route class
};

}  // namespace

Result<std::unique_ptr<Transport>> make_ofi_transport(const RouteBinding& binding, const OfiOptions& options) {
  auto transport = std::make_unique<OfiTransport>();
  const Status opened = transport->open(binding, options);
  if (!opened) return opened.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

std::optional<LibraryVersion> ofi_version() {
  if (!library().obstacle.empty()) return std::nullopt;
  const std::uint32_t version = library().version();
  return LibraryVersion{FI_MAJOR(version), FI_MINOR(version)};
}

}  // namespace libcoll::transport::ofi

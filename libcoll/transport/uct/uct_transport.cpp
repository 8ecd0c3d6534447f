#include "libcoll/transport/uct/uct_transport.h"

#include <poll.h>
#include <sys/random.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "libcoll/transport/uct/uct_api.h"
#include "libcoll/transport/uct/uct_inbox.h"
#include "libcoll/transport/uct/uct_interface.h"

namespace libcoll::transport::uct {

using namespace schedule;

namespace {

/// The active message that all fragments are.
constexpr std::uint8_t fragment_id = 0;

/// How long to sleep where nothing would wake us.
constexpr int unwoken_milliseconds = 1;

/// Tells processes apart that never heard of each other.
std::uint64_t random_identity() {
  std::uint64_t identity = 0;
  if (getrandom(&identity, sizeof identity, 0) == sizeof identity) return identity;
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Transport name, device address and interface address as one text: each with its length, in 16 bits, before it.
struct UctAddress {
  std::string transport;
  std::string device;
  std::string interface;
};

void append_part(std::string& text, const std::string& part) {
  const auto bytes = static_cast<std::uint16_t>(part.size());
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(part);
}

bool take_part(std::string_view& text, std::string& part) {
  std::uint16_t bytes = 0;
  if (text.size() < sizeof bytes) return false;
  std::memcpy(&bytes, text.data(), sizeof bytes);
  text.remove_prefix(sizeof bytes);
  if (text.size() < bytes) return false;
  part = text.substr(0, bytes);
  text.remove_prefix(bytes);
  return true;
}

bool read_address(std::string_view text, UctAddress& address) {
  return take_part(text, address.transport) && take_part(text, address.device) && take_part(text, address.interface) &&
         text.empty();
}

/// A message on its way out.
struct Outgoing {
  std::uint64_t tag = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  Completion* completion = nullptr;
  std::size_t offset = 0;  ///< what has left
};

/// One fragment on its way into a send buffer of UCT's.
struct Fragment {
  FragmentHeader header;
  const std::byte* payload = nullptr;
  std::size_t bytes = 0;
};

std::size_t pack(void* destination, void* argument) {
  const auto& fragment = *static_cast<const Fragment*>(argument);
  std::memcpy(destination, &fragment.header, sizeof fragment.header);
  auto* payload = static_cast<std::byte*>(destination) + sizeof fragment.header;
  if (fragment.bytes > 0) std::memcpy(payload, fragment.payload, fragment.bytes);
  return sizeof fragment.header + fragment.bytes;
}

class UctTransport final : public Transport {
 public:
  explicit UctTransport(const UctApi& api) : api_(api), interface_(api) {}
  ~UctTransport() override {
    for (const Endpoint& endpoint : endpoints_) api_.ep_destroy(endpoint.handle);
  }

  Status open(const RouteBinding& binding) {
    if (!binding.classes.empty()) classes_ = binding.classes;
    for (const RouteClassBinding& each : classes_) {
      if (Status sound = check_class(each); !sound) return sound;
    }
    Status opened = open_uct_interface(interface_, classes_.front().settings, {&UctTransport::endpoint_broke, this});
    if (!opened) return opened;
    if (Status able = check_abilities(); !able) return able;
    for (const RouteClassBinding& each : classes_) {
      if (Status there = check_path(each); !there) return there;
    }
    const ucs_status_t status =
        api_.iface_set_am_handler(interface_.handle, fragment_id, &UctTransport::arrived, this, 0);
    if (status != UCS_OK) return uct_error("taking active messages from " + interface_name(), status);
    api_.iface_progress_enable(interface_.handle, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    if (Status known = read_own_address(); !known) return known;
    return open_events();
  }

  std::string name() const override { return "uct " + interface_name(); }
  const std::string& address() const override { return address_; }
  std::int32_t route_classes() const override { return static_cast<std::int32_t>(classes_.size()); }

  Result<PeerId> connect(const std::string& address, std::int32_t route_class) override {
    const auto known = peers_.find({address, route_class});
    if (known != peers_.end()) return known->second;
    if (route_class < 0 || route_class >= route_classes()) {
      return Error{"UCT: found route class " + std::to_string(route_class) + ", expected 0 to " +
                   std::to_string(route_classes() - 1)};
    }
    UctAddress target;
    if (!read_address(address, target)) return Error{"UCT: found an address that is not one of this transport's"};
    if (target.transport != interface_.transport) {
      return Error{"UCT: found a peer on transport " + target.transport + ", expected " + interface_.transport +
                   " as here"};
    }
    const auto* device = reinterpret_cast<const uct_device_addr_t*>(target.device.data());
    const auto* interface = reinterpret_cast<const uct_iface_addr_t*>(target.interface.data());
    if (api_.iface_is_reachable(interface_.handle, device, interface) == 0) {
      return Error{"UCT: a peer cannot be reached from " + interface_name()};
    }
    uct_ep_params_t parameters{};
    parameters.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
    parameters.iface = interface_.handle;
    parameters.dev_addr = device;
    parameters.iface_addr = interface;
    if (const auto& path = classes_[static_cast<std::size_t>(route_class)].path_index; path.has_value()) {
      parameters.field_mask |= UCT_EP_PARAM_FIELD_PATH_INDEX;
      parameters.path_index = static_cast<unsigned>(*path);
    }
    uct_ep_h handle = nullptr;
    const ucs_status_t status = api_.ep_create(&parameters, &handle);
    if (status != UCS_OK) {
      return uct_error("creating an endpoint of route class " + std::to_string(route_class), status);
    }
    const auto peer = static_cast<PeerId>(endpoints_.size());
    endpoints_.push_back({handle, route_class, 0, false, {}});
    peers_.emplace(std::pair(address, route_class), peer);
    return peer;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    Endpoint& endpoint = endpoint_of(peer);
    if (endpoint.broken) return Posted::failed;
    Outgoing message{tag, static_cast<const std::byte*>(data), bytes, completion, 0};
    if (endpoint.held_back.empty()) {
      const Pushed pushed = push(endpoint, message);
      if (pushed == Pushed::whole) return Posted::done;
      if (pushed == Pushed::failed) return Posted::failed;
      blocked_.push_back(peer);
    }
    endpoint.held_back.push_back(message);
    return Posted::pending;
  }

  Posted receive(std::int32_t route_class, std::uint64_t tag, void* data, std::size_t bytes,
                 Completion* completion) noexcept override {
    return inbox_.receive(route_class, tag, data, bytes, completion);
  }

  bool progress() noexcept override {
    bool moved = api_.worker_progress(interface_.worker) != 0;
    moved = push_held_back() || moved;
    return finished_.deliver() || moved;
  }

  /// One flush by endpoint and caller: over tcp each asks the peer for an answer, so asking again would never end.
  bool flushed(Flush& flush, std::span<const PeerId> peers) noexcept override {
    if (!flush.started) {
      flush.started = true;
      for (const PeerId peer : peers) {
        if (peer >= 0) flush.requests.push_back(&add_flush(peer));
      }
    }
    std::erase_if(flush.requests, [&](void* request) {
      auto& each = *static_cast<EndpointFlush*>(request);
      if (each.state == EndpointFlush::State::waiting) start(each);
      if (each.state == EndpointFlush::State::started && endpoint_of(each.peer).broken) {
        each.state = EndpointFlush::State::abandoned;
        return true;
      }
      if (each.state != EndpointFlush::State::done) return false;
      forget(each);
      return true;
    });
    return flush.requests.empty();
  }

  /// What has started belongs to UCT until it is done.
  void abandon(Flush& flush) noexcept override {
    for (void* request : flush.requests) {
      auto& each = *static_cast<EndpointFlush*>(request);
      if (each.state == EndpointFlush::State::started) {
        each.state = EndpointFlush::State::abandoned;
      } else {
        forget(each);
      }
    }
    flush = {};
  }

  bool arm() noexcept override {
    if (!finished_.empty()) return false;
    const bool flush_waits = std::any_of(flushes_.begin(), flushes_.end(),
                                         [](const auto& each) { return each->state == EndpointFlush::State::waiting; });
    waits_for_room_.store(flush_waits || !blocked_.empty(), std::memory_order_relaxed);
    if (descriptor_ < 0) return true;
    const auto events =
        static_cast<unsigned>(interface_.attributes.cap.event_flags) & (UCT_EVENT_SEND_COMP | UCT_EVENT_RECV);
    return api_.iface_event_arm(interface_.handle, events) == UCS_OK;
  }

  /// Not every transport wakes a sender when there is room again.
  void block(int timeout_milliseconds) noexcept override {
    const bool nothing_wakes = descriptor_ < 0 || waits_for_room_.load(std::memory_order_relaxed);
    if (nothing_wakes) timeout_milliseconds = std::min(timeout_milliseconds, unwoken_milliseconds);
    pollfd event{descriptor_, POLLIN, 0};
    poll(&event, descriptor_ < 0 ? 0 : 1, timeout_milliseconds);
  }

 private:
  /// One peer by one route class.
  struct Endpoint {
    uct_ep_h handle = nullptr;
    std::int32_t route_class = 0;
    std::uint32_t sequence = 0;
    bool broken = false;
    std::deque<Outgoing> held_back;  ///< for want of room
  };
  /// The flush of one endpoint for one caller. UCT keeps its address while it is under way.
  struct EndpointFlush : uct_completion_t {
    enum class State : std::uint8_t { waiting, started, done, abandoned };
    UctTransport* transport = nullptr;
    PeerId peer = -1;
    State state = State::waiting;
  };
  enum class Pushed : std::uint8_t { whole, no_room, failed };

  static ucs_status_t arrived(void* self, void* data, std::size_t bytes, unsigned) {
    static_cast<UctTransport*>(self)->inbox_.arrived(data, bytes);
    return UCS_OK;
  }

  /// What the endpoint holds back is given up in push_held_back(). Receives stay: nobody knows whose tags they are.
  static ucs_status_t endpoint_broke(void* self, uct_ep_h handle, ucs_status_t) {
    for (Endpoint& each : static_cast<UctTransport*>(self)->endpoints_)
      each.broken = each.broken || each.handle == handle;
    return UCS_OK;
  }

  EndpointFlush& add_flush(PeerId peer) {
    EndpointFlush& flush = *flushes_.emplace_back(std::make_unique<EndpointFlush>());
    flush.func = &UctTransport::flush_done;
    flush.count = 1;
    flush.status = UCS_OK;
    flush.transport = this;
    flush.peer = peer;
    return flush;
  }

  /// A broken endpoint holds nothing back any more; a flush that fails is left out.
  void start(EndpointFlush& flush) {
    const Endpoint& endpoint = endpoint_of(flush.peer);
    if (!endpoint.held_back.empty()) return;
    const ucs_status_t status = endpoint.broken ? UCS_OK : api_.ep_flush(endpoint.handle, UCT_FLUSH_FLAG_LOCAL, &flush);
    if (status == UCS_ERR_NO_RESOURCE) return;
    flush.state = status == UCS_INPROGRESS ? EndpointFlush::State::started : EndpointFlush::State::done;
  }

  static void flush_done(uct_completion_t* self) {
    auto& flush = *static_cast<EndpointFlush*>(self);
    if (flush.state == EndpointFlush::State::abandoned) {
      flush.transport->forget(flush);
    } else {
      flush.state = EndpointFlush::State::done;
    }
  }

  void forget(const EndpointFlush& flush) {
    std::erase_if(flushes_, [&](const auto& each) { return each.get() == &flush; });
  }

  std::string interface_name() const { return interface_.transport + "/" + interface_.device; }
  Endpoint& endpoint_of(PeerId peer) { return endpoints_[static_cast<std::size_t>(peer)]; }

  /// What can be told without hardware.
  Status check_class(const RouteClassBinding& binding) const {
    if (binding.route_class == 0) return {};
    const std::string which = "route class " + std::to_string(binding.route_class);
    if (!binding.path_index.has_value()) return Error{"UCT: found no path_index in " + which + ", expected one"};
    if (binding.settings.empty()) return {};
    return Error{"UCT: found setting " + binding.settings.front().first + " in " + which +
                 ", expected settings in class 0 only, whose interface all classes share"};
  }

  Status check_abilities() const {
    const std::uint64_t flags = interface_.attributes.cap.flags;
    if ((flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) == 0) {
      return Error{"UCT: found " + interface_name() +
                   ", whose queue pairs must learn each other's addresses, which the start-up exchange of one address "
                   "per process cannot do; expected a transport that connects by interface address (TLS = \"dc\", "
                   "\"ud\" or \"tcp\")"};
    }
    const bool buffered = (flags & UCT_IFACE_FLAG_AM_BCOPY) != 0;
    if (buffered && (flags & UCT_IFACE_FLAG_CB_SYNC) != 0 &&
        interface_.attributes.cap.am.max_bcopy > sizeof(FragmentHeader)) {
      return {};
    }
    return Error{"UCT: found " + interface_name() + ", expected a transport with buffered active messages"};
  }

  Status check_path(const RouteClassBinding& binding) const {
    const unsigned paths = interface_.attributes.dev_num_paths;
    const std::int64_t index = binding.path_index.value_or(0);
    if (index >= 0 && index < paths) return {};
    return Error{"UCT: found path_index " + std::to_string(index) + " in route class " +
                 std::to_string(binding.route_class) + ", expected 0 to " + std::to_string(std::int64_t{paths} - 1) +
                 ": " + interface_name() + " has " + std::to_string(paths) + (paths == 1 ? " path" : " paths")};
  }

  Status read_own_address() {
    const uct_iface_attr_t& attributes = interface_.attributes;
    UctAddress own{interface_.transport, std::string(attributes.device_addr_len, '\0'),
                   std::string(attributes.iface_addr_len, '\0')};
    ucs_status_t status =
        api_.iface_get_device_address(interface_.handle, reinterpret_cast<uct_device_addr_t*>(own.device.data()));
    if (status == UCS_OK) {
      status = api_.iface_get_address(interface_.handle, reinterpret_cast<uct_iface_addr_t*>(own.interface.data()));
    }
    if (status != UCS_OK) return uct_error("reading the address of " + interface_name(), status);
    append_part(address_, own.transport);
    append_part(address_, own.device);
    append_part(address_, own.interface);
    if (address_.size() <= max_address_bytes) return {};
    return Error{"UCT: found an address of " + std::to_string(address_.size()) + " bytes, expected at most " +
                 std::to_string(max_address_bytes)};
  }

  Status open_events() {
    const std::uint64_t flags = interface_.attributes.cap.event_flags;
    if ((flags & UCT_IFACE_FLAG_EVENT_FD) == 0 || (flags & UCT_IFACE_FLAG_EVENT_RECV) == 0) return {};
    const ucs_status_t status = api_.iface_event_fd_get(interface_.handle, &descriptor_);
    return status == UCS_OK ? Status() : uct_error("getting an event descriptor", status);
  }

  /// Sends what fits of the message. After a failure the endpoint takes no more: its peer could not tell what is
  /// missing.
  Pushed push(Endpoint& endpoint, Outgoing& message) {
    const std::size_t room = interface_.attributes.cap.am.max_bcopy - sizeof(FragmentHeader);
    do {
      const std::size_t bytes = std::min(room, message.bytes - message.offset);
      Fragment fragment{{identity_, message.tag, message.bytes, message.offset, endpoint.sequence,
                         static_cast<std::uint32_t>(endpoint.route_class)},
                        bytes > 0 ? message.data + message.offset : nullptr,
                        bytes};
      const ssize_t packed = api_.ep_am_bcopy(endpoint.handle, fragment_id, &pack, &fragment, 0);
      if (packed == UCS_ERR_NO_RESOURCE) return Pushed::no_room;
      if (packed < 0) {
        endpoint.broken = true;
        return Pushed::failed;
      }
      ++endpoint.sequence;
      message.offset += bytes;
    } while (message.offset < message.bytes);
    return Pushed::whole;
  }

  /// Returns whether something left, or was given up.
  bool push_held_back() {
    bool moved = false;
    std::erase_if(blocked_, [&](PeerId peer) {
      Endpoint& endpoint = endpoint_of(peer);
      while (!endpoint.held_back.empty()) {
        Outgoing& message = endpoint.held_back.front();
        const std::size_t before = message.offset;
        const Pushed pushed = endpoint.broken ? Pushed::failed : push(endpoint, message);
        moved = moved || pushed != Pushed::no_room || message.offset != before;
        if (pushed == Pushed::no_room) return false;
        finished_.add(message.completion, pushed == Pushed::whole);
        endpoint.held_back.pop_front();
      }
      return true;
    });
    return moved;
  }

  const UctApi& api_;
  std::vector<std::unique_ptr<EndpointFlush>> flushes_;  ///< before the interface, which may still look at them
  UctInterface interface_;
  std::vector<RouteClassBinding> classes_ = std::vector<RouteClassBinding>(1);
  const std::uint64_t identity_ = random_identity();
  std::string address_;
  int descriptor_ = -1;  ///< -1: nothing wakes us
  /// From arm() to block(), which holds no lock. Relaxed: it only limits a sleep; what it tells of has the lock.
  std::atomic<bool> waits_for_room_{false};
  std::vector<Endpoint> endpoints_;  ///< by PeerId
  std::vector<PeerId> blocked_;      ///< endpoints that hold something back
  std::map<std::pair<std::string, std::int32_t>, PeerId> peers_;
  FinishedMessages finished_;
  UctInbox inbox_{finished_};
};

}  // namespace

Result<std::unique_ptr<Transport>> make_uct_transport(const RouteBinding& binding, const UctApi& api) {
  auto transport = std::make_unique<UctTransport>(api);
  const Status opened = transport->open(binding);
  if (!opened) return opened.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

Result<std::unique_ptr<Transport>> make_uct_transport(const RouteBinding& binding) {
  // UCX promises that structures keep their layout for UCP and not for UCT, where a query fills ones of ours.
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  ucp_get_version(&major, &minor, &patch);
  if (major != UCP_API_MAJOR || minor != UCP_API_MINOR) {
    return Error{"UCT: found UCX " + std::to_string(major) + "." + std::to_string(minor) + ", expected " +
                 std::to_string(UCP_API_MAJOR) + "." + std::to_string(UCP_API_MINOR) +
                 ", which libcoll was built with; path_index is not to be had"};
  }
  return make_uct_transport(binding, real_uct_api());
}

}  // namespace libcoll::transport::uct

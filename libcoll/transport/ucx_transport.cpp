#include "libcoll/transport/ucx_transport.h"

#include <dlfcn.h>
#include <poll.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/debug.h>

#include <csignal>
#include <map>
#include <string_view>
#include <vector>

namespace libcoll {
namespace {

Error ucx_error(const char* what, ucs_status_t status) {
  return Error{std::string("UCX: ") + what + ": " + ucs_status_string(status)};
}

/// The 64 bits of a tag are matched whole.
constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

class UcxTransport final : public Transport {
 public:
  UcxTransport() = default;
  ~UcxTransport() override {
    if (worker_ != nullptr) {
      for (ucp_ep_h endpoint : endpoints_) close(endpoint);
      ucp_worker_destroy(worker_);
    }
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  Status open() {
    ucp_config_t* config = nullptr;
    ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
    if (status != UCS_OK) return ucx_error("reading its configuration", status);
    ucp_params_t parameters{};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    parameters.name = "libcoll";
    status = ucp_init(&parameters, config, &context_);
    ucp_config_release(config);
    if (status != UCS_OK) return ucx_error("opening a context", status);

    ucp_worker_params_t worker_parameters{};
    worker_parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    status = ucp_worker_create(context_, &worker_parameters, &worker_);
    if (status != UCS_OK) return ucx_error("creating a worker", status);
    status = ucp_worker_get_efd(worker_, &event_descriptor_);
    if (status != UCS_OK) return ucx_error("getting an event descriptor", status);
    return read_address();
  }

  std::string name() const override { return "ucx"; }
  const std::string& address() const override { return address_; }

  Result<PeerId> connect(const std::string& address) override {
    const auto known = peers_.find(address);
    if (known != peers_.end()) return known->second;
    ucp_ep_params_t parameters{};
    parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
    ucp_ep_h endpoint = nullptr;
    const ucs_status_t status = ucp_ep_create(worker_, &parameters, &endpoint);
    if (status != UCS_OK) return ucx_error("creating an endpoint", status);
    const auto peer = static_cast<PeerId>(endpoints_.size());
    endpoints_.push_back(endpoint);
    peers_.emplace(address, peer);
    return peer;
  }

  Posted send(PeerId peer, std::uint64_t tag, const void* data, std::size_t bytes,
              Completion* completion) noexcept override {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    parameters.cb.send = &UcxTransport::sent;
    parameters.user_data = completion;
    return posted(ucp_tag_send_nbx(endpoints_[static_cast<std::size_t>(peer)], data, bytes, tag, &parameters));
  }

  Posted receive(std::uint64_t tag, void* data, std::size_t bytes, Completion* completion) noexcept override {
    // Even a receive that completes at once goes through the callback (which may come before this returns): only
    // there does UCX 1.13 tell the length received.
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    parameters.cb.recv = &UcxTransport::received;
    completion->bytes = bytes;
    parameters.user_data = completion;
    return posted(ucp_tag_recv_nbx(worker_, data, bytes, tag, whole_tag, &parameters));
  }

  bool progress() noexcept override { return ucp_worker_progress(worker_) != 0; }

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

  bool arm() noexcept override { return ucp_worker_arm(worker_) == UCS_OK; }

  void block(int timeout_milliseconds) noexcept override {
    pollfd descriptor{event_descriptor_, POLLIN, 0};
    poll(&descriptor, 1, timeout_milliseconds);
  }

 private:
  static Posted posted(ucs_status_ptr_t request) {
    if (request == nullptr) return Posted::done;
    return UCS_PTR_IS_ERR(request) ? Posted::failed : Posted::pending;
  }

  static void sent(void* request, ucs_status_t status, void* user_data) {
    ucp_request_free(request);
    const auto* completion = static_cast<Completion*>(user_data);
    completion->waiter->completed(completion->index, status == UCS_OK);
  }

  static void received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* user_data) {
    ucp_request_free(request);
    const auto* completion = static_cast<Completion*>(user_data);
    completion->waiter->completed(completion->index, status == UCS_OK && info->length == completion->bytes);
  }

  /// A flush that fails is left out: the operations concerned report their failure themselves.
  void start_flush(Flush& flush, PeerId peer) {
    if (peer < 0) return;
    const ucp_request_param_t parameters{};
    void* request = ucp_ep_flush_nbx(endpoints_[static_cast<std::size_t>(peer)], &parameters);
    if (request != nullptr && !UCS_PTR_IS_ERR(request)) flush.requests.push_back(request);
  }

  Status read_address() {
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    const ucs_status_t status = ucp_worker_get_address(worker_, &address, &bytes);
    if (status != UCS_OK) return ucx_error("reading the worker's address", status);
    address_.assign(reinterpret_cast<const char*>(address), bytes);
    ucp_worker_release_address(worker_, address);
    if (bytes > max_address_bytes) {
      return Error{"UCX: worker address of " + std::to_string(bytes) + " bytes, expected at most " +
                   std::to_string(max_address_bytes)};
    }
    return {};
  }

  void close(ucp_ep_h endpoint) {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* request = ucp_ep_close_nbx(endpoint, &parameters);
    if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(request);
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_descriptor_ = -1;
  std::string address_;
  std::vector<ucp_ep_h> endpoints_;
  std::map<std::string, PeerId> peers_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_ucx_transport() {
  auto transport = std::make_unique<UcxTransport>();
  const Status opened = transport->open();
  if (!opened) return opened.error();
  return std::unique_ptr<Transport>(std::move(transport));
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

}  // namespace libcoll

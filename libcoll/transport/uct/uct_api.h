// The UCT calls that libcoll makes, as a table: a test puts a recording stub in their place.
#pragma once

#include <sys/types.h>
#include <uct/api/uct.h>

#include <cstdint>

namespace libcoll::transport::uct {

/// Each member is the UCT function (UCX 1.13, uct/api/uct.h) of the same name with its prefix left out. A table holds
/// no state and must outlive the transports made with it.
struct UctApi {
  // Finding an interface.
  ucs_status_t (*query_components)(uct_component_h** components, unsigned* count);
  void (*release_component_list)(uct_component_h* components);
  ucs_status_t (*component_query)(uct_component_h component, uct_component_attr_t* attributes);
  ucs_status_t (*md_config_read)(uct_component_h component, const char* env_prefix, const char* file,
                                 uct_md_config_t** config);
  void (*config_release)(void* config);
  ucs_status_t (*md_open)(uct_component_h component, const char* name, const uct_md_config_t* config, uct_md_h* md);
  void (*md_close)(uct_md_h md);
  ucs_status_t (*md_query_tl_resources)(uct_md_h md, uct_tl_resource_desc_t** resources, unsigned* count);
  void (*release_tl_resource_list)(uct_tl_resource_desc_t* resources);

  // Opening it.
  ucs_status_t (*async_context_create)(ucs_async_mode_t mode, ucs_async_context_t** context);
  void (*async_context_destroy)(ucs_async_context_t* context);
  ucs_status_t (*worker_create)(ucs_async_context_t* context, ucs_thread_mode_t mode, uct_worker_h* worker);
  void (*worker_destroy)(uct_worker_h worker);
  ucs_status_t (*md_iface_config_read)(uct_md_h md, const char* transport, const char* env_prefix, const char* file,
                                       uct_iface_config_t** config);
  ucs_status_t (*config_modify)(void* config, const char* name, const char* value);
  ucs_status_t (*iface_open)(uct_md_h md, uct_worker_h worker, const uct_iface_params_t* parameters,
                             const uct_iface_config_t* config, uct_iface_h* interface);
  void (*iface_close)(uct_iface_h interface);
  ucs_status_t (*iface_query)(uct_iface_h interface, uct_iface_attr_t* attributes);
  ucs_status_t (*iface_get_device_address)(uct_iface_h interface, uct_device_addr_t* address);
  ucs_status_t (*iface_get_address)(uct_iface_h interface, uct_iface_addr_t* address);
  ucs_status_t (*iface_set_am_handler)(uct_iface_h interface, std::uint8_t id, uct_am_callback_t handler,
                                       void* argument, std::uint32_t flags);
  void (*iface_progress_enable)(uct_iface_h interface, unsigned flags);
  ucs_status_t (*iface_event_fd_get)(uct_iface_h interface, int* descriptor);

  // Using it.
  int (*iface_is_reachable)(uct_iface_h interface, const uct_device_addr_t* device, const uct_iface_addr_t* address);
  ucs_status_t (*ep_create)(const uct_ep_params_t* parameters, uct_ep_h* endpoint);
  void (*ep_destroy)(uct_ep_h endpoint);
  ssize_t (*ep_am_bcopy)(uct_ep_h endpoint, std::uint8_t id, uct_pack_callback_t pack, void* argument, unsigned flags);
  ucs_status_t (*ep_flush)(uct_ep_h endpoint, unsigned flags, uct_completion_t* completion);
  unsigned (*worker_progress)(uct_worker_h worker);
  ucs_status_t (*iface_event_arm)(uct_iface_h interface, unsigned events);
};

/// UCX's own functions.
const UctApi& real_uct_api() noexcept;

}  // namespace libcoll::transport::uct

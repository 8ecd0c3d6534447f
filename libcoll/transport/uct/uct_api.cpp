#include "libcoll/transport/uct/uct_api.h"

namespace libcoll::transport::uct {

const UctApi& real_uct_api() noexcept {
  static const UctApi api = {
      .query_components = uct_query_components,
      .release_component_list = uct_release_component_list,
      .component_query = uct_component_query,
      .md_config_read = uct_md_config_read,
      .config_release = uct_config_release,
      .md_open = uct_md_open,
      .md_close = uct_md_close,
      .md_query_tl_resources = uct_md_query_tl_resources,
      .release_tl_resource_list = uct_release_tl_resource_list,
      .async_context_create = ucs_async_context_create,
      .async_context_destroy = ucs_async_context_destroy,
      .worker_create = uct_worker_create,
      .worker_destroy = uct_worker_destroy,
      .md_iface_config_read = uct_md_iface_config_read,
      .config_modify = uct_config_modify,
      .iface_open = uct_iface_open,
      .iface_close = uct_iface_close,
      .iface_query = uct_iface_query,
      .iface_get_device_address = uct_iface_get_device_address,
      .iface_get_address = uct_iface_get_address,
      .iface_set_am_handler = uct_iface_set_am_handler,
      .iface_progress_enable = uct_iface_progress_enable,
      .iface_event_fd_get = uct_iface_event_fd_get,
      .iface_is_reachable = uct_iface_is_reachable,
      .ep_create = uct_ep_create,
      .ep_destroy = uct_ep_destroy,
      .ep_am_bcopy = uct_ep_am_bcopy,
      .ep_flush = uct_ep_flush,
      .worker_progress = uct_worker_progress,
      .iface_event_arm = uct_iface_event_arm,
  };
  return api;
}

}  // namespace libcoll::transport::uct

// Finds and opens the one UCT interface that a UCT transport works over.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libcoll/transport/uct/uct_api.h"
#include "planner/base/result.h"

namespace libcoll::transport::uct {

Error uct_error(const std::string& what, ucs_status_t status);

/// An open interface with what it stands on. Closes everything; endpoints on it must be gone by then.
struct UctInterface {
  const UctApi* api = nullptr;
  std::string transport;  ///< as "dc_mlx5"
  std::string device;     ///< as "mlx5_0:1"
  ucs_async_context_t* async = nullptr;
  uct_worker_h worker = nullptr;
  uct_md_h memory_domain = nullptr;
  uct_iface_h handle = nullptr;
  uct_iface_attr_t attributes{};

  explicit UctInterface(const UctApi& calls) : api(&calls) {}
  UctInterface(const UctInterface&) = delete;
  UctInterface& operator=(const UctInterface&) = delete;
  ~UctInterface();
};

/// Whom UCT tells that an endpoint broke, from within worker_progress().
struct UctErrorHandler {
  uct_error_handler_t call = nullptr;
  void* argument = nullptr;
};

/// Opens the interface that the settings name: the first name in "TLS" (UCX's short forms "dc", "ud", "rc", "ud_x", …
/// too) on the first in "NET_DEVICES"; without them the first of dc_mlx5, ud_mlx5, ud_verbs and tcp that is there, on
/// its first device. All other settings go to the interface's configuration, over those of UCX's environment and under
/// the names they have there without "UCX_". Errors say which interfaces there are, or which setting UCX did not take.
Status open_uct_interface(UctInterface& interface, const std::vector<std::pair<std::string, std::string>>& settings,
                          const UctErrorHandler& on_error);

}  // namespace libcoll::transport::uct

#include "libcoll/transport/uct/uct_interface.h"

#include <algorithm>
#include <string_view>

namespace libcoll::transport::uct {
namespace {

/// An interface that could be opened.
struct Resource {
  uct_component_h component = nullptr;
  std::string memory_domain;
  std::string transport;
  std::string device;
};

struct Components {
  const UctApi& api;
  uct_component_h* list = nullptr;
  unsigned count = 0;

  explicit Components(const UctApi& calls) : api(calls) {}
  Components(const Components&) = delete;
  Components& operator=(const Components&) = delete;
  ~Components() {
    if (list != nullptr) api.release_component_list(list);
  }
};

/// What the settings ask for; empty: anything.
struct Wanted {
  std::vector<std::string> transports;  ///< best first
  std::string device;
};

/// The first of a comma separated list.
std::string first_name(std::string_view list) { return std::string(list.substr(0, list.find(','))); }

/// UCX's short forms, as far as they stand for transports with active messages.
std::vector<std::string> expand(const std::string& name) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> short_forms = {
      {"dc", {"dc_mlx5"}},
      {"dc_x", {"dc_mlx5"}},
      {"ud", {"ud_mlx5", "ud_verbs"}},
      {"ud_x", {"ud_mlx5"}},
      {"ud_v", {"ud_verbs"}},
      {"rc", {"rc_mlx5", "rc_verbs"}},
      {"rc_x", {"rc_mlx5"}},
      {"rc_v", {"rc_verbs"}},
      {"ib", {"dc_mlx5", "ud_mlx5", "ud_verbs"}},
      {"all", {"dc_mlx5", "ud_mlx5", "ud_verbs", "tcp"}},
  };
  for (const auto& [form, names] : short_forms) {
    if (form == name) return names;
  }
  return {name};
}

Wanted read_wanted(const std::vector<std::pair<std::string, std::string>>& settings) {
  Wanted wanted{expand("all"), {}};
  for (const auto& [name, value] : settings) {
    if (name == "TLS") wanted.transports = expand(first_name(value));
    if (name == "NET_DEVICES") wanted.device = first_name(value);
  }
  if (wanted.device == "all") wanted.device.clear();
  return wanted;
}

/// A memory domain that does not open has nothing to offer, as on a machine without its hardware.
uct_md_h open_memory_domain(const UctApi& api, uct_component_h component, const char* name) {
  uct_md_config_t* config = nullptr;
  if (api.md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return nullptr;
  uct_md_h memory_domain = nullptr;
  const ucs_status_t status = api.md_open(component, name, config, &memory_domain);
  api.config_release(config);
  return status == UCS_OK ? memory_domain : nullptr;
}

std::vector<std::string> memory_domains(const UctApi& api, uct_component_h component) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (api.component_query(component, &attributes) != UCS_OK) return {};
  std::vector<uct_md_resource_desc_t> found(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = found.data();
  if (found.empty() || api.component_query(component, &attributes) != UCS_OK) return {};
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const uct_md_resource_desc_t& each : found) names.emplace_back(each.md_name);
  return names;
}

void add_resources(const UctApi& api, uct_component_h component, const std::string& name,
                   std::vector<Resource>& resources) {
  uct_md_h memory_domain = open_memory_domain(api, component, name.c_str());
  if (memory_domain == nullptr) return;
  uct_tl_resource_desc_t* list = nullptr;
  unsigned count = 0;
  if (api.md_query_tl_resources(memory_domain, &list, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i) resources.push_back({component, name, list[i].tl_name, list[i].dev_name});
    api.release_tl_resource_list(list);
  }
  api.md_close(memory_domain);
}

std::vector<Resource> find_resources(const UctApi& api, const Components& components) {
  std::vector<Resource> resources;
  for (unsigned i = 0; i < components.count; ++i) {
    for (const std::string& name : memory_domains(api, components.list[i])) {
      add_resources(api, components.list[i], name, resources);
    }
  }
  return resources;
}

Result<Resource> choose(const std::vector<Resource>& resources, const Wanted& wanted) {
  for (const std::string& transport : wanted.transports) {
    const auto found = std::find_if(resources.begin(), resources.end(), [&](const Resource& each) {
      return each.transport == transport && (wanted.device.empty() || each.device == wanted.device);
    });
    if (found != resources.end()) return *found;
  }
  std::string expected;
  for (const std::string& each : wanted.transports) expected.append(expected.empty() ? "" : " or ").append(each);
  std::string found;
  for (const Resource& each : resources) {
    found.append(found.empty() ? "" : ", ").append(each.transport).append("/").append(each.device);
  }
  return Error{"UCT: found no interface " + expected + (wanted.device.empty() ? "" : " on device " + wanted.device) +
               ", expected one of: " + (found.empty() ? "(none)" : found)};
}

/// UCT (1.13) knows a transport's own settings without the transport's name before them, which they have in the
/// environment: "TX_SEG_SIZE" of tcp is UCX_TCP_TX_SEG_SIZE there. Those of its family ("IB_NUM_PATHS") keep theirs.
ucs_status_t modify(const UctInterface& interface, uct_iface_config_t* config, std::string_view name,
                    const std::string& value) {
  std::string known(name);
  const ucs_status_t status = interface.api->config_modify(config, known.c_str(), value.c_str());
  if (status != UCS_ERR_NO_ELEM) return status;
  std::string prefix = interface.transport + "_";
  for (char& each : prefix) each = each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
  if (name.substr(0, prefix.size()) != prefix) return status;
  known.erase(0, prefix.size());
  return interface.api->config_modify(config, known.c_str(), value.c_str());
}

Status apply_settings(const UctInterface& interface, uct_iface_config_t* config,
                      const std::vector<std::pair<std::string, std::string>>& settings) {
  for (const auto& [name, value] : settings) {
    if (name == "TLS" || name == "NET_DEVICES") continue;
    const ucs_status_t status = modify(interface, config, name, value);
    if (status == UCS_OK) continue;
    std::string what = "setting " + name;
    what.append(" = \"").append(value).append("\" of route class 0, for transport ").append(interface.transport);
    return uct_error(what, status);
  }
  return {};
}

Status open_on(UctInterface& interface, const std::vector<std::pair<std::string, std::string>>& settings,
               const UctErrorHandler& on_error) {
  const UctApi& api = *interface.api;
  uct_iface_config_t* config = nullptr;
  ucs_status_t status =
      api.md_iface_config_read(interface.memory_domain, interface.transport.c_str(), nullptr, nullptr, &config);
  if (status != UCS_OK) return uct_error("reading the configuration of " + interface.transport, status);
  Status applied = apply_settings(interface, config, settings);
  if (applied.ok()) {
    uct_iface_params_t parameters{};
    parameters.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                            UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                            UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS | UCT_IFACE_PARAM_FIELD_FEATURES;
    parameters.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    parameters.mode.device.tl_name = interface.transport.c_str();
    parameters.mode.device.dev_name = interface.device.c_str();
    parameters.err_handler = on_error.call;
    parameters.err_handler_arg = on_error.argument;
    parameters.features = UCT_IFACE_FEATURE_AM;
    status = api.iface_open(interface.memory_domain, interface.worker, &parameters, config, &interface.handle);
  }
  api.config_release(config);
  if (!applied) return applied;
  if (status == UCS_OK) status = api.iface_query(interface.handle, &interface.attributes);
  return status == UCS_OK ? Status() : uct_error("opening " + interface.transport + "/" + interface.device, status);
}

}  // namespace

Error uct_error(const std::string& what, ucs_status_t status) {
  return Error{"UCT: " + what + ": " + ucs_status_string(status)};
}

UctInterface::~UctInterface() {
  if (handle != nullptr) api->iface_close(handle);
  if (memory_domain != nullptr) api->md_close(memory_domain);
  if (worker != nullptr) api->worker_destroy(worker);
  if (async != nullptr) api->async_context_destroy(async);
}

Status open_uct_interface(UctInterface& interface, const std::vector<std::pair<std::string, std::string>>& settings,
                          const UctErrorHandler& on_error) {
  const UctApi& api = *interface.api;
  Components components(api);
  ucs_status_t status = api.query_components(&components.list, &components.count);
  if (status != UCS_OK) return uct_error("listing its components", status);
  const Result<Resource> chosen = choose(find_resources(api, components), read_wanted(settings));
  if (!chosen) return chosen.error();
  interface.transport = chosen->transport;
  interface.device = chosen->device;

  // A thread of UCX's own answers connection requests and sends again what was lost while nobody calls progress().
  status = api.async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &interface.async);
  if (status != UCS_OK) return uct_error("starting its event thread", status);
  status = api.worker_create(interface.async, UCS_THREAD_MODE_SERIALIZED, &interface.worker);
  if (status != UCS_OK) return uct_error("creating a worker", status);
  interface.memory_domain = open_memory_domain(api, chosen->component, chosen->memory_domain.c_str());
  if (interface.memory_domain == nullptr) {
    return Error{"UCT: memory domain " + chosen->memory_domain + " did not open a second time"};
  }
  return open_on(interface, settings, on_error);
}

}  // namespace libcoll::transport::uct

#include "libcoll/fabric/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "libcoll/base/system_error.h"

namespace libcoll::fabric {

using namespace schedule;
using namespace topology;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json process_json(const ProcessId& process) { return Json::array({process.pid, process.start}); }

Json route_json(const Route& route) {
  return {{"source", route.source},
          {"destination", route.destination},
          {"class", route.route_class},
          {"layer", route.layer},
          {"links", route.links}};
}

Json topology_json(const Topology& topology) {
  Json nodes = Json::array();
  for (const Node& node : topology.nodes()) {
    nodes.push_back({{"name", node.name}, {"host", node.host}, {"switch", node.is_switch}});
  }
  Json links = Json::array();
  for (const Link& link : topology.links()) {
    links.push_back({{"from", link.from},
                     {"to", link.to},
                     {"bandwidth", link.bandwidth_bytes_per_second},
                     {"latency", link.latency_seconds}});
  }
  return {{"name", topology.name()},
          {"nics_forward", topology.nics_forward()},
          {"injection", topology.injection_bytes_per_second()},
          {"nodes", nodes},
          {"links", links}};
}

/// Reads fields without exceptions; the first that is missing or of another type is remembered.
class Fields {
 public:
  template <class T>
  T get(const Json& object, const char* name) {
    if (object.is_object() && object.contains(name)) return value<T>(object[name], name);
    missing(name);
    return T();
  }

  const Json& child(const Json& object, const char* name) {
    static const Json none;
    if (object.is_object() && object.contains(name)) return object[name];
    missing(name);
    return none;
  }

  template <class T>
  T value(const Json& json, const char* name) {
    bool fits = false;
    if constexpr (std::is_same_v<T, bool>) {
      fits = json.is_boolean();
    } else if constexpr (std::is_integral_v<T>) {
      fits = json.is_number_integer();
    } else if constexpr (std::is_floating_point_v<T>) {
      fits = json.is_number();
    } else {
      fits = json.is_string();
    }
    if (fits) return json.get<T>();
    missing(name);
    return T();
  }

  [[nodiscard]] Status status() const { return status_; }

 private:
  void missing(const char* name) {
    if (status_.ok()) status_ = Error{std::string("state.json has no good '") + name + "'"};
  }

  Status status_;
};

ProcessId process_from(Fields& fields, const Json& json) {
  if (!json.is_array() || json.size() != 2) return {fields.value<pid_t>(Json(), "process"), 0};
  return {fields.value<pid_t>(json[0], "pid"), fields.value<std::uint64_t>(json[1], "start")};
}

Route route_from(Fields& fields, const Json& json) {
  Route route;
  route.source = fields.get<NodeId>(json, "source");
  route.destination = fields.get<NodeId>(json, "destination");
  route.route_class = fields.get<std::int32_t>(json, "class");
  route.layer = fields.get<std::int32_t>(json, "layer");
  for (const Json& link : fields.child(json, "links")) route.links.push_back(fields.value<LinkId>(link, "links"));
  return route;
}

Result<Topology> topology_from(Fields& fields, const Json& json) {
  std::vector<Node> nodes;
  for (const Json& node : fields.child(json, "nodes")) {
    nodes.push_back({fields.get<std::string>(node, "name"), fields.get<std::string>(node, "host"),
                     fields.get<bool>(node, "switch")});
  }
  std::vector<Link> links;
  for (const Json& link : fields.child(json, "links")) {
    links.push_back({fields.get<NodeId>(link, "from"), fields.get<NodeId>(link, "to"),
                     fields.get<std::int64_t>(link, "bandwidth"), fields.get<double>(link, "latency")});
  }
  Result<Topology> topology = Topology::make(fields.get<std::string>(json, "name"), std::move(nodes), std::move(links));
  if (!topology) return topology;
  topology->set_nics_forward(fields.get<bool>(json, "nics_forward"));
  topology->set_injection_bytes_per_second(fields.get<std::int64_t>(json, "injection"));
  return topology;
}

/// Only this user can have put anything there.
Status check_private(const std::string& path, const FileDescriptor& directory) {
  struct stat facts {};
  if (!directory || fstat(directory.get(), &facts) != 0) return Error{path + ": " + reason()};
  if (facts.st_uid != geteuid()) return Error{path + " belongs to another user"};
  if ((facts.st_mode & 077U) != 0) return Error{path + " may be used by others; chmod go= would mend it"};
  return {};
}

/// Whether the directory is this user's, can be written to, and none of these mode bits is set.
bool is_safe_parent(const std::string& path, mode_t forbidden) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & forbidden) == 0 && access(path.c_str(), W_OK | X_OK) == 0;
}

FileDescriptor open_directory(int parent, const std::string& name) {
  return FileDescriptor(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

Status check_fabric_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (!name.empty() && name.size() <= longest && name.front() != '.' && name.front() != '-' &&
      name.find_first_not_of(letters) == std::string::npos) {
    return {};
  }
  return Error{"found the fabric name '" + name + "', expected up to 64 letters, digits, '.', '_' or '-'"};
}

std::string fabrics_directory() {
  const char* inside = std::getenv(fabric_variable);
  if (inside != nullptr && *inside == '/') return fs::path(inside).parent_path().string();
  if (geteuid() == 0 && is_safe_parent("/run", 022)) return "/run/libcoll";
  const char* of_session = std::getenv("XDG_RUNTIME_DIR");
  const std::string of_user = "/run/user/" + std::to_string(geteuid());
  for (const std::string& directory : {std::string(of_session != nullptr ? of_session : ""), of_user}) {
    if (directory.starts_with('/') && is_safe_parent(directory, 077)) return directory + "/libcoll";
  }
  return "/tmp/libcoll-fabric-" + std::to_string(geteuid());
}

std::string state_directory(const std::string& fabric) { return fabrics_directory() + "/" + fabric; }

std::vector<std::string> recorded_fabrics() {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fabrics_directory(), error)) {
    const std::string name = entry.path().filename().string();
    if (check_fabric_name(name).ok()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string write_state(const FabricState& state) {
  Json holders = Json::array();
  for (const ProcessId& holder : state.holders) holders.push_back(process_json(holder));
  Json cut = Json::array();
  for (std::size_t i = 0; i < state.cut.size(); ++i) {
    if (state.cut[i]) cut.push_back(i);
  }
  Json planned = Json::array();
  for (const Route& route : state.planned) planned.push_back(route_json(route));
  const Json json = {{"format", 1},
                     {"name", state.name},
                     {"control", process_json(state.control)},
                     {"holders", holders},
                     {"classes", state.classes},
                     {"ranks_per_node", state.ranks_per_node},
                     {"default_routes", state.default_routes},
                     {"up_since", state.up_since},
                     {"cut", cut},
                     {"topology", topology_json(state.topology)},
                     {"planned", planned}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<FabricState> read_state(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Error{"state.json is not JSON"};
  Fields fields;
  if (fields.get<int>(json, "format") != 1) return Error{"state.json is of another version"};
  FabricState state;
  state.name = fields.get<std::string>(json, "name");
  state.control = process_from(fields, fields.child(json, "control"));
  for (const Json& holder : fields.child(json, "holders")) state.holders.push_back(process_from(fields, holder));
  state.classes = fields.get<std::int32_t>(json, "classes");
  state.ranks_per_node = fields.get<std::int32_t>(json, "ranks_per_node");
  state.default_routes = fields.get<std::string>(json, "default_routes");
  state.up_since = fields.get<double>(json, "up_since");
  Result<Topology> topology = topology_from(fields, fields.child(json, "topology"));
  if (!topology) return topology.error();
  state.topology = std::move(topology).value();
  state.cut.assign(static_cast<std::size_t>(state.topology.link_count()), false);
  for (const Json& link : fields.child(json, "cut")) {
    const auto id = fields.value<std::size_t>(link, "cut");
    if (id < state.cut.size()) state.cut[id] = true;
  }
  for (const Json& route : fields.child(json, "planned")) state.planned.push_back(route_from(fields, route));
  if (const Status good = fields.status(); !good) return good.error();
  if (state.holders.size() != state.topology.nodes().size()) return Error{"state.json has not one holder per node"};
  return state;
}

Topology current_topology(const FabricState& state) {
  const bool whole = std::none_of(state.cut.begin(), state.cut.end(), [](bool cut) { return cut; });
  if (whole) return state.topology;
  std::vector<Link> links;
  for (std::size_t i = 0; i < state.cut.size(); ++i) {
    if (!state.cut[i]) links.push_back(state.topology.links()[i]);
  }
  const auto nodes = state.topology.nodes();
  // Fewer links of a good topology are a good topology.
  Topology topology =
      Topology::make(state.topology.name() + " with removals", {nodes.begin(), nodes.end()}, links).value();
  topology.set_nics_forward(state.topology.nics_forward());
  topology.set_injection_bytes_per_second(state.topology.injection_bytes_per_second());
  return topology;
}

Result<StateDirectory> StateDirectory::create(const std::string& fabric) {
  if (Status good = check_fabric_name(fabric); !good) return good.error();
  const std::string above = fabrics_directory();
  if (mkdir(above.c_str(), 0700) != 0 && errno != EEXIST) return Error{above + ": " + reason()};
  const FileDescriptor parent = open_directory(AT_FDCWD, above);
  if (Status good = check_private(above, parent); !good) return good.error();
  if (mkdirat(parent.get(), fabric.c_str(), 0700) != 0 && errno != EEXIST) return Error{above + ": " + reason()};
  FileDescriptor directory = open_directory(parent.get(), fabric);
  if (Status good = check_private(state_directory(fabric), directory); !good) return good.error();
  return StateDirectory(state_directory(fabric), std::move(directory));
}

Result<std::optional<StateDirectory>> StateDirectory::open(const std::string& fabric) {
  if (Status good = check_fabric_name(fabric); !good) return good.error();
  return open_path(state_directory(fabric));
}

Result<std::optional<StateDirectory>> StateDirectory::open_path(const std::string& path) {
  const std::string above = fs::path(path).parent_path().string();
  const FileDescriptor parent = open_directory(AT_FDCWD, above);
  if (!parent && errno == ENOENT) return std::optional<StateDirectory>();
  if (Status good = check_private(above, parent); !good) return good.error();
  FileDescriptor directory = open_directory(parent.get(), fs::path(path).filename().string());
  if (!directory && errno == ENOENT) return std::optional<StateDirectory>();
  if (Status good = check_private(path, directory); !good) return good.error();
  return std::optional<StateDirectory>(StateDirectory(path, std::move(directory)));
}

Result<std::optional<std::string>> StateDirectory::read(const std::string& file) const {
  FileTrust trust;
  trust.max_bytes = std::size_t{1} << 28U;
  Result<std::optional<std::string>> text = read_trusted_file(directory_.get(), file, trust);
  if (!text) return Error{path(file) + " " + text.error().message};
  return text;
}

Status StateDirectory::write(const std::string& file, const std::string& text) const {
  const Status written = replace_file(directory_.get(), file, text);
  if (!written) return Error{path(file) + " " + written.error().message};
  return {};
}

Status StateDirectory::make_directory(const std::string& name) const {
  if (mkdirat(directory_.get(), name.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return Error{path(name) + ": " + reason()};
}

Status StateDirectory::lock() {
  lock_ = FileDescriptor(openat(directory_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock_ || flock(lock_.get(), LOCK_EX) != 0) return Error{path("lock") + ": " + reason()};
  struct stat facts {};
  if (fstat(lock_.get(), &facts) == 0 && facts.st_nlink > 0) return {};
  return Error{path_ + " was removed by another command; try again"};
}

void remove_state(const std::string& fabric) {
  const Result<std::optional<StateDirectory>> directory = StateDirectory::open(fabric);
  if (!directory || !directory->has_value()) return;
  std::error_code ignored;
  fs::remove_all((*directory)->path(), ignored);
  rmdir(fabrics_directory().c_str());  // refused while other fabrics are there
}

}  // namespace libcoll::fabric

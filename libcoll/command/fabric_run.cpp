// libcoll fabric exec and run: commands inside an emulated fabric.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "libcoll/command/fabric.h"
#include "libcoll/command/launch.h"
#include "libcoll/fabric/addressing.h"
#include "libcoll/fabric/fabric.h"
#include "libcoll/fabric/namespaces.h"

namespace libcoll::command {

using namespace fabric;
using namespace topology;

namespace {

int become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  std::fprintf(stderr, "libcoll: cannot run %s: %s\n", arguments.front(), std::strerror(errno));
  return cannot_start;
}

/// Open MPI, MPICH's hydra and UCX on a fabric: the launcher talks over the management network, data goes over the
/// links; nobody spins while waiting, because the nodes share this machine's processors.
std::vector<std::pair<std::string, std::string>> launch_environment(const std::string& directory) {
  const std::string data(default_class_network);
  const std::string management(management_network);
  return {
      {"OMPI_MCA_orte_default_hostfile", directory + "/hostfile"},
      // Not below /tmp, where the names are those of hosts and users, and both are the same in other fabrics.
      {"OMPI_MCA_orte_tmpdir_base", directory + "/session"},
      {"OMPI_MCA_plm_rsh_agent", "/bin/sh " + directory + "/agent"},
      {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
      {"OMPI_MCA_plm_rsh_num_concurrent", "128"},
      {"OMPI_MCA_oob_tcp_if_include", management},
      {"OMPI_MCA_rmaps_base_mapping_policy", "node"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"OMPI_MCA_mpi_yield_when_idle", "1"},
      {"OMPI_MCA_pml", "ob1"},
      {"OMPI_MCA_btl", "tcp,vader,self"},
      {"OMPI_MCA_btl_tcp_if_include", data},
      {"OMPI_MCA_pml_ucx_tls", "any"},
      {"OMPI_MCA_pml_ucx_devices", "any"},
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      // As rsh: to ssh it gives options of its own, which the shell would take for itself.
      {"HYDRA_LAUNCHER", "rsh"},
      {"HYDRA_LAUNCHER_EXEC", "/bin/sh"},
      {"HYDRA_LAUNCHER_EXTRA_ARGS", directory + "/agent"},
      {"HYDRA_HOST_FILE", directory + "/hydra_hosts"},
      {"HYDRA_IFACE", std::string(management_bridge)},
      {"UCX_TLS", "tcp,sm,self"},
      {"UCX_MODULES", "^ib,rdmacm"},  // loading them takes as long as opening a context
      {"UCX_NET_DEVICES", class_device(0)},
      {"UCX_RNDV_THRESH", "inf"},
      {"LIBCOLL_PACING", "yes"},         // the topology file has the exact rates
      {"LIBCOLL_SEGMENT_BYTES", "32K"},  // at these rates a segment takes milliseconds for every hop
      {"LIBCOLL_TOPOLOGY", directory + "/topology.toml"},
      {"LIBCOLL_ROUTE_BINDING", directory + "/binding.toml"},
  };
}

}  // namespace

int fabric_exec(const std::string& fabric, const std::string& node, const std::vector<std::string>& command) {
  if (command.empty()) return fail("no command. Usage: libcoll fabric exec NODE -- COMMAND [ARGUMENTS]");
  const Result<FabricState> state = load_fabric(fabric);
  if (!state) return fail(state.error().message);
  const NodeId id = find_node(state->topology, node);
  if (id < 0) return fail("found node '" + node + "', expected the name, host name or number of a node");
  const std::string directory = state_directory(fabric);  // before this user may become another inside
  if (const Status joined = join_namespaces(state->holders[static_cast<std::size_t>(id)]); !joined) {
    return fail(joined.error().message);
  }
  setenv(fabric_variable, directory.c_str(), 1);
  return become(command);
}

int fabric_run(const std::string& fabric, const std::vector<std::string>& command) {
  if (command.empty()) return fail("no command. Usage: libcoll fabric run -- COMMAND [ARGUMENTS]");
  const Result<FabricState> state = load_fabric(fabric);
  if (!state) return fail(state.error().message);
  const std::string directory = state_directory(fabric);
  if (const Status joined = join_namespaces(state->control); !joined) return fail(joined.error().message);
  setenv(fabric_variable, directory.c_str(), 1);
  for (const auto& [name, value] : launch_environment(directory)) setenv(name.c_str(), value.c_str(), 0);
  return become(command);
}

int fabric_agent(const std::vector<std::string>& arguments) {
  std::size_t next = 1;
  while (next < arguments.size() && arguments[next].starts_with('-')) ++next;
  if (next + 1 >= arguments.size()) return fail("fabric-agent: expected DIRECTORY HOST COMMAND");
  const Result<FabricState> state = load_fabric_at(arguments.front());
  if (!state) return fail(state.error().message);
  const NodeId id = find_node(state->topology, arguments[next]);
  if (id < 0) return fail("fabric-agent: '" + arguments[next] + "' is no host of this fabric");
  const std::vector<std::string> words(arguments.begin() + static_cast<std::ptrdiff_t>(next) + 1, arguments.end());
  if (const Status joined = join_namespaces(state->holders[static_cast<std::size_t>(id)]); !joined) {
    return fail(joined.error().message);
  }
  return become({"/bin/sh", "-c", join(words, " ")});
}

}  // namespace libcoll::command

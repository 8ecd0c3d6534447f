#include "libcoll/transport/transport.h"

#include "libcoll/transport/ofi/ofi_transport.h"
#include "libcoll/transport/uct/uct_transport.h"
#include "libcoll/transport/ucx/ucx_transport.h"
#include "tests/unit/support/memory_transport.h"
#include "tests/unit/transport_conformance.h"

namespace libcoll::transport_test {

using namespace schedule;
using namespace test;
using namespace transport::ofi;
using namespace transport::uct;
using namespace transport::ucx;

namespace {

TransportPair memory_pair() {
  auto both = make_memory_transports(2, 2);
  return {std::move(both[0]), std::move(both[1]), {}};
}

/// Two classes of UCX's default choice of networks.
RouteBinding two_ucp_classes() {
  RouteBinding binding;
  binding.classes = {{0, {}, {}}, {1, {}, {}}};
  return binding;
}

TransportPair ucp_pair() {
  return {taken(make_ucx_transport(two_ucp_classes())), taken(make_ucx_transport(two_ucp_classes())), {}};
}

TransportPair ucp_tcp_pair() {
  RouteBinding binding = two_ucp_classes();
  for (RouteClassBinding& each : binding.classes) each.settings = {{"TLS", "tcp"}, {"NET_DEVICES", "lo"}};
  return {taken(make_ucx_transport(binding)), taken(make_ucx_transport(binding)), {}};
}

/// The transports of a machine without a fabric have one path each, so both classes take it.
RouteBinding two_uct_classes(std::vector<std::pair<std::string, std::string>> settings) {
  RouteBinding binding;
  binding.backend = SteeringBackend::uct;
  binding.classes = {{0, std::move(settings), 0}, {1, {}, 0}};
  return binding;
}

TransportPair uct_pair(const RouteBinding& binding) {
  return {taken(make_uct_transport(binding)), taken(make_uct_transport(binding)), {}};
}

TransportPair uct_tcp_pair() { return uct_pair(two_uct_classes({{"TLS", "tcp"}, {"NET_DEVICES", "lo"}})); }

TransportPair uct_posix_pair() { return uct_pair(two_uct_classes({{"TLS", "posix"}})); }

// libfabric 1.17 does not survive a message that is longer than its receive: ofi_rxm reports it, but a later message in
// segments never ends; shm never returns. Both ends of a schedule's message have the same length, by construction.
TransportPair ofi_pair(const OfiOptions& options) {
  return {
      taken(make_ofi_transport(two_ucp_classes(), options)), taken(make_ofi_transport(two_ucp_classes(), options)), {}};
}

/// The two classes are two endpoints of one device, or two devices.
TransportPair ofi_tcp_pair() { return ofi_pair({"tcp;ofi_rxm", 1, false}); }

TransportPair ofi_tcp_devices_pair() {
  RouteBinding binding = two_ucp_classes();
  for (RouteClassBinding& each : binding.classes) each.settings = {{"NET_DEVICES", "lo:1"}};
  const OfiOptions options{"tcp;ofi_rxm", 1, false};
  return {taken(make_ofi_transport(binding, options)), taken(make_ofi_transport(binding, options)), {}};
}

TransportPair ofi_registered_pair() { return ofi_pair({"tcp;ofi_rxm", 1, true}); }

TransportPair ofi_shm_pair() { return ofi_pair({"shm", 1, false}); }

INSTANTIATE_TEST_SUITE_P(All, TransportConformance,
                         testing::Values(TransportKind{"memory", memory_pair}, TransportKind{"ucp", ucp_pair},
                                         TransportKind{"ofi_tcp", ofi_tcp_pair, false},
                                         TransportKind{"ofi_tcp_devices", ofi_tcp_devices_pair, false},
                                         TransportKind{"ofi_registered", ofi_registered_pair, false},
                                         TransportKind{"ofi_shm", ofi_shm_pair, false},
                                         TransportKind{"ucp_tcp", ucp_tcp_pair}, TransportKind{"uct_tcp", uct_tcp_pair},
                                         TransportKind{"uct_posix", uct_posix_pair}),
                         kind_name);

}  // namespace
}  // namespace libcoll::transport_test

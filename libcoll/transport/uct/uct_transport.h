// Steering by queue pair: one UCT interface, the endpoints of each route class on that class's path index.
#pragma once

#include <memory>

#include "libcoll/transport/transport.h"
#include "planner/schedule/route_binding.h"

namespace libcoll::transport::uct {

struct UctApi;

/// A transport over the UCT interface that the settings of class 0 name (see open_uct_interface()). Endpoints of class
/// k are made with the path index of the binding's class k; on RoCE and InfiniBand that chooses UDP source port, flow
/// label or path bits, and so the route. Both ends use the same binding, hence the same index per class. A binding
/// without classes gives one class, 0, without a path index.
/// The interface must take connections by interface address (dc, ud, tcp, shared memory): the queue pairs of rc want
/// each other's addresses, which an allgather of one address per process does not carry.
/// `api` must outlive the transport. Errors name the setting, class or interface and what was expected.
Result<std::unique_ptr<Transport>> make_uct_transport(const schedule::RouteBinding& binding, const UctApi& api);
/// The same with UCX's own functions.
Result<std::unique_ptr<Transport>> make_uct_transport(const schedule::RouteBinding& binding);

}  // namespace libcoll::transport::uct

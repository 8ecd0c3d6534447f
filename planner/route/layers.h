// Virtual lanes by whichever method needs the fewest.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "planner/base/deadline.h"
#include "planner/base/result.h"
#include "planner/route/lash.h"
#include "planner/schedule/schedule.h"
#include "planner/topology/topology.h"

namespace libcoll::route {

/// The fewest layers an order of LASH-sequential or DF-SSSP needs for the routes: which is least has no rule, and the
/// minimum itself is NP-hard (paper 003 §5.5).
enum class LayerMethod : std::uint8_t {
  automatic,         ///< the best of all the others; LASH by destination alone for very large route sets
  lash,              ///< assign_layers in the order given
  lash_longest,      ///< assign_layers, routes of most hops first
  lash_shortest,     ///< assign_layers, routes of fewest hops first
  lash_destination,  ///< assign_layers, destination by destination
  dfsssp,            ///< break_cycles
};

/// "auto", "lash", "lash-longest", "lash-shortest", "lash-destination", "dfsssp".
std::string_view to_string(LayerMethod method);
Result<LayerMethod> parse_layer_method(std::string_view text);

/// `method` is the one the layers come from: never automatic.
struct Layers {
  std::int32_t count = 0;
  LayerMethod method = LayerMethod::lash;
};

/// Gives every route its layer, so that channel_dependencies_acyclic holds. Preconditions as assign_layers. Where
/// `automatic` has one method only for the routes, and that takes more than `most` layers, it may end early as
/// assign_layers does; otherwise `most` is of no effect. `automatic` tries no other method once the
/// deadline has passed, or would before the next ends.
Layers assign_layers_by(LayerMethod method, const topology::Topology& topology, std::span<schedule::Route> routes,
                        std::int32_t most = any_layers, const Deadline& deadline = Deadline(0));

}  // namespace libcoll::route

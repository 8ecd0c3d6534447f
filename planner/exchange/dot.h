// A topology as a picture: Graphviz.
#pragma once

#include <string>

#include "planner/topology/topology.h"

namespace libcoll::exchange {

/// A digraph in Graphviz's language: hosts are ellipses, switches boxes, a cable (two links of equal bandwidth) is one
/// edge with two heads. Labels of edges are Gbps where bandwidths differ.
std::string write_dot(const topology::Topology& topology);

}  // namespace libcoll::exchange

// Translation of a cluster into SimGrid's files.
#pragma once

#include <string>

#include "trireme/plan/cluster.hpp"

namespace trireme::tools {

// Returns the platform file. It has one host per device, with the speed of its f32 arithmetic, or of another
// type if f32 is unknown. A device with clocks gets one speed and one power per clock; the property "mhz" lists
// the clocks. One node, or nodes of one device, become a single <cluster>. Otherwise each node is a <cluster>,
// or a <zone> if each device has an adapter of its own. One switch joins the nodes, or two levels of switches:
//
//   node-0-device-0 --+                       +-- node-1-device-0
//                     node-0 -- switch -- node-1
//   node-0-device-1 --+                       +-- node-1-device-1
//
// A message passes two links inside of a node, two more between nodes, and two more between leaves. Latencies
// in the cluster file are those of whole routes. SimGrid computes a route when it is first used, because a run
// on a thousand nodes uses few of all routes.
std::string platform_text(const plan::Cluster& cluster);

// Returns true if a device of the cluster has clocks with watts.
bool is_metered(const plan::Cluster& cluster);

// Returns the host file: one device per rank, node by node. Throws ConfigError if there are
// more ranks than devices.
std::string hosts_text(const plan::Cluster& cluster, int ranks);

}  // namespace trireme::tools

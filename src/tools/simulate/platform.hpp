// Describes a cluster in SimGrid's file formats.
#pragma once

#include <string>

#include "trireme/plan/cluster.hpp"

namespace trireme::tools {

// Returns the content of the platform file. It has one host per device, whose speed is the device's f32 FLOP/s,
// or that of another type if f32 is unknown. A device with clocks gets one speed and one power per clock; the
// property "mhz" lists the clocks. A single node, or nodes with one device each, become a single <cluster>.
// Otherwise each node is a <cluster>, or a <zone> if each device has a network adapter of its own. The nodes
// are connected by one switch, or by two levels of switches. In this figure of one switch, node-0 and node-1
// are the switches inside of the nodes, and the lines are links:
//
//   node-0-device-0 --+                       +-- node-1-device-0
//                     node-0 -- switch -- node-1
//   node-0-device-1 --+                       +-- node-1-device-1
//
// A message inside of a node passes two links, a message between nodes two more, and a message between leaf
// switches another two. A latency in the cluster file is that of a whole route. SimGrid computes a route when
// it is first used, because a run on a thousand nodes uses only a few of all routes.
std::string make_platform_file(const plan::Cluster& cluster);

// Returns true if some device of the cluster has clocks. A clock states the watts that the device takes.
bool has_clocks(const plan::Cluster& cluster);

// Returns the content of the host file, which assigns one device to each rank, node by node. Throws ConfigError
// if there are more ranks than devices.
std::string make_host_file(const plan::Cluster& cluster, int ranks);

}  // namespace trireme::tools

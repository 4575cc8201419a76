// Describes a cluster in SimGrid's file formats.
#pragma once

#include <string>

#include "trireme/plan/cluster.hpp"

namespace trireme::tools {

// Returns the content of the platform file. The file has one host per device. The speed of a host is the f32
// FLOP/s of the device, or the FLOP/s of another type if the cluster file has no "f32". A device with clocks
// gets one speed, one idle power and one busy power per clock; the property "mhz" lists the clocks.
//
// A single node is a <cluster>. Equal nodes with one device each form one <cluster> if a single switch joins
// them and they have one rail. Otherwise each node is a <cluster>, or a <zone> if each device has a network
// adapter (rail) of its own. One switch joins the nodes, or a fat tree with two levels of switches. In this
// figure of one switch, node-0 and node-1 are the switches inside the nodes, and the lines are links:
//
//   node-0-device-0 --+                       +-- node-1-device-0
//                     node-0 -- switch -- node-1
//   node-0-device-1 --+                       +-- node-1-device-1
//
// Without rails, a message inside a node passes two links. A message between nodes passes four links, and six
// links if the nodes have different leaf switches. A latency in the cluster file is that of a whole route, so
// each link gets a fraction of it. SimGrid computes a route at its first use, because a run on a thousand nodes
// uses only a few of all routes.
std::string make_platform_file(const plan::Cluster& cluster);

// Returns true if a device of the cluster has clocks. Each clock has the watts of the idle and the busy device.
bool has_clocks(const plan::Cluster& cluster);

// Returns the content of the host file: line r names the device of rank r, counted from 0. Ranks are numbered
// node by node. Throws ConfigError if there are more ranks than devices.
std::string make_host_file(const plan::Cluster& cluster, int ranks);

}  // namespace trireme::tools

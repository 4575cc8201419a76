// Describes a cluster in SimGrid's file formats.
#pragma once

#include <string>

#include "trireme/plan/cluster.hpp"

namespace trireme::tools {

// Returns the content of the platform file. The file has one host per device. The speed of a host is the f32
// FLOP/s of the device. If the cluster file has no "f32", the alphabetically first data type replaces f32. If
// the cluster file lists clock frequencies for a device, its host gets one speed, one idle power and one busy
// power per frequency; the property "mhz" lists the frequencies.
//
// A rail is a network adapter that serves only one device. If all nodes are equal, have one device and one
// adapter, and a single switch joins them, they form one <cluster> together. Otherwise each node is a
// <cluster>, or a <zone> if its devices have rails. The nodes are joined by one switch, or by a fat tree with
// two levels of switches. In this figure, one switch joins two nodes. node-0 and node-1 are the switches inside
// the nodes, and the lines are links:
//
//   node-0-device-0 --+                       +-- node-1-device-0
//                     node-0 -- switch -- node-1
//   node-0-device-1 --+                       +-- node-1-device-1
//
// If each node is a <cluster>, a message inside a node passes two links. A message between nodes passes four
// links, or six if a fat tree joins the nodes and they have different leaf switches. If a node has several
// adapters, one more link limits each message to the bandwidth of one adapter. A latency in the cluster
// file is that of a whole route, so each link gets a fraction of it. The file lets SimGrid compute each route
// at its first use, because a run on a thousand nodes uses only a few of all routes.
std::string make_platform_file(const plan::Cluster& cluster);

// Returns true if the cluster file lists clock frequencies for any device. Each frequency has the power of the
// idle device and of the busy device.
bool has_clocks(const plan::Cluster& cluster);

// Returns the content of the host file: line r names the device of rank r, counted from 0. Ranks are numbered
// node by node. Throws ConfigError if there are more ranks than devices.
std::string make_host_file(const plan::Cluster& cluster, int ranks);

}  // namespace trireme::tools

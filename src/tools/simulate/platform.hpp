// A cluster in the words of SimGrid.
#pragma once

#include <string>

#include "trireme/plan/cluster.hpp"

namespace trireme::tools {

// The platform file: a host for each device, at the speed of its f32 arithmetic, or of another kind if it has
// none; with clocks, at one speed and power for each, and with "mhz", which says what they are. One node, or
// nodes of one device, are a single <cluster>; otherwise each node is one, and a switch joins them, or switches
// in two rows:
//
//   node-0-device-0 --+                       +-- node-1-device-0
//                     node-0 -- switch -- node-1
//   node-0-device-1 --+                       +-- node-1-device-1
//
// A message passes two links inside of a node, two more between nodes, and two more between leaves; latencies
// of the cluster are whole ways. Routes are looked for when they are first asked for: of a thousand nodes not
// all are.
std::string platform_text(const plan::Cluster& cluster);

// Whether some of its devices have clocks, with watts.
bool is_metered(const plan::Cluster& cluster);

// The host file: where rank 0 is, and so on, node by node. Throws ConfigError for more ranks than devices.
std::string hosts_text(const plan::Cluster& cluster, int ranks);

}  // namespace trireme::tools

// A cluster as its JSON file describes it: devices, nodes and links.
//
//   {"schema": 1, "name": "a100-2x8", "source": "where this cluster stands",
//    "device": {"name": "A100", "flops": {"f32": 19.5e12, "f64": 9.7e12}, "bandwidth": 1.555e12,
//               "memory": 40000000000, "launch": 4e-6,
//               "clocks": [{"mhz": 1410, "speed": 1, "watts": {"idle": 55, "busy": 400}}]},
//    "devices_per_node": 8, "nodes": 2,
//    "inside": {"latency": 3e-6, "bandwidth": 300e9}, "between": {"latency": 5e-6, "bandwidth": 25e9},
//    "sources": {"device.bandwidth": {"from": "the data sheet"}, "inside": {"from": "...", "derived": true}}}
//
// "flops" is in FLOP/s, "bandwidth" in bytes per second, "memory" in bytes, "launch" and "latency" in seconds.
// "clocks" and "sources" are optional. "inside" (a node) is optional if a node has one device, and "between"
// (nodes) if there is one node. If nodes differ, "groups" is a list of objects, each with its own "device",
// "devices_per_node", "nodes", "inside" and "sources", and the top-level object has none of these keys except
// "sources". Three more optional keys describe the links:
//
//   "carrier": "cores"           in "inside": the rank that receives a message copies it and computes nothing
//                                meanwhile, as ranks that share memory do. The default is "adapters": messages
//                                do not disturb computation
//   "rails": 8                   in "between": a node has 8 network adapters, which share the bandwidth of
//                                "between" evenly. A message uses one of them
//   "fat_tree": {"leaf_nodes": 32, "spines": 32, "latency": 1e-6, "bandwidth": 50e9}
//                                Each leaf switch joins 32 nodes by the links of "between". A link of this
//                                bandwidth leads from each leaf to each spine. Messages to another leaf spread
//                                over the spines, and each takes longer by this latency
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/links.hpp"

namespace trireme::plan {

struct DeviceClock {
    double mhz = 0;
    double speed = 1;  // FLOP rate as a fraction of that at the highest clock
    double idle_watts = 0;
    double busy_watts = 0;

    friend bool operator==(const DeviceClock&, const DeviceClock&) = default;
};

struct ClusterDevice {
    std::string name;
    std::map<std::string, double> flops;   // per second, by number type: "f32"
    double bandwidth = 0;                  // of its memory, bytes per second
    std::size_t memory = 0;                // bytes
    double launch = 0;                     // seconds per kernel, in addition to its work
    std::vector<DeviceClock> clocks = {};  // highest first
};

// The source of a value of the cluster file.
struct FigureSource {
    std::string figure;       // path of the value: "device.bandwidth"
    std::string citation;     // e.g. "the data sheet"
    bool is_derived = false;  // the value is derived from the source, which does not state it
};

// Nodes with equal devices and links.
struct NodeGroup {
    ClusterDevice device;
    std::size_t devices_per_node = 1;
    std::size_t nodes = 1;
    // Between devices. Each device has this bandwidth in each direction.
    std::optional<layout::Link> inside = {};
    bool receivers_copy_messages = false;  // "carrier" of `inside` is "cores"

    std::size_t count_devices() const { return devices_per_node * nodes; }
};

struct FatTree {
    std::size_t leaf_nodes = 1;  // nodes per leaf switch
    std::size_t spines = 1;      // number of spine switches
    layout::Link up = {};        // from a leaf to a spine; its latency includes the hop down to the other leaf
};

struct Cluster {
    std::string name;
    std::string source;                        // where the cluster stands, or is described
    std::vector<NodeGroup> groups;             // ranks are assigned in this order, node by node
    std::optional<layout::Link> between = {};  // between nodes; the devices of a node share its bandwidth
    std::size_t rails = 1;                     // network adapters per node
    std::optional<FatTree> fat_tree = {};
    std::vector<FigureSource> sources = {};  // values in groups have paths such as "groups[0].nodes"

    std::size_t count_devices() const;
    std::size_t count_nodes() const;
    // Returns the group whose device has rank `rank`. Throws BugError if the rank is not below count_devices().
    const NodeGroup& find_group(std::size_t rank) const;
};

// Returns the cluster with links that take no time.
Cluster remove_network_cost(Cluster cluster);

// Parses the text of the cluster file `file_name`. Throws ConfigError, naming the JSON key, if it is not valid.
Cluster parse_cluster(std::string_view text, const std::string& file_name);

}  // namespace trireme::plan

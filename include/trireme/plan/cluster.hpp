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
// Rates are flops and bytes per second. "clocks" and "sources" are optional. "inside" is optional if a node has
// one device, and "between" if there is one node. If nodes are not alike, "groups" is a list of objects with
// "device", "devices_per_node", "nodes", "inside" and "sources" of their own, and the whole omits these keys,
// except "sources". Three more optional keys describe the links:
//
//   "carrier": "cores"           in "inside": the receiver of a message copies it and computes nothing
//                                meanwhile, as ranks that share memory do; the default is "adapters"
//   "rails": 8                   in "between": a node has 8 adapters, which together have its bandwidth; a
//                                message uses one of them
//   "fat_tree": {"leaf_nodes": 32, "spines": 32, "latency": 1e-6, "bandwidth": 50e9}
//                                32 nodes share a switch, a leaf; "between" joins nodes of the same leaf. A
//                                link of this bandwidth leads from each leaf to each spine. Messages to another
//                                leaf spread over the spines and take this much longer
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
    double speed = 1;  // as a fraction of the highest clock's
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

// The source of a figure.
struct FigureSource {
    std::string figure;  // "device.bandwidth"
    std::string from;
    bool is_derived = false;  // derived from the source, which does not state it
};

// Nodes that are all alike.
struct NodeGroup {
    ClusterDevice device;
    std::size_t devices_per_node = 1;
    std::size_t nodes = 1;
    std::optional<layout::Link> inside = {};  // between devices; each has this bandwidth in each direction
    bool do_cores_carry = false;              // inside the node, receivers copy messages themselves

    std::size_t devices() const { return devices_per_node * nodes; }
};

struct FatTree {
    std::size_t leaf_nodes = 1;
    std::size_t spines = 1;
    layout::Link up = {};  // from a leaf to a spine; the latency is that of both hops, up and down
};

struct Cluster {
    std::string name;
    std::string source;
    std::vector<NodeGroup> groups;             // ranks are assigned in this order, node by node
    std::optional<layout::Link> between = {};  // between nodes; the devices of a node share its bandwidth
    std::size_t rails = 1;
    std::optional<FatTree> fat_tree = {};
    std::vector<FigureSource> sources = {};  // figures of groups are named "groups[0].nodes"

    std::size_t devices() const;
    std::size_t nodes() const;
    // Returns the group whose device has rank `rank`. Throws BugError if the rank is not below devices().
    const NodeGroup& group_of(std::size_t rank) const;
};

// Returns the same devices, joined by links that take no time.
Cluster with_free_network(Cluster cluster);

// Throws ConfigError, naming the JSON key, if the text describes no cluster. `place` is the name of the file.
Cluster cluster_from_json(std::string_view text, const std::string& place);

}  // namespace trireme::plan

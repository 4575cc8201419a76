// A cluster as somebody described it: devices, how they stand in nodes, and what joins them.
//
//   {"schema": 1, "name": "a100-2x8", "source": "where this cluster stands",
//    "device": {"name": "A100", "flops": {"f32": 19.5e12, "f64": 9.7e12}, "bandwidth": 1.555e12,
//               "memory": 40000000000, "launch": 4e-6,
//               "clocks": [{"mhz": 1410, "speed": 1, "watts": {"idle": 55, "busy": 400}}]},
//    "devices_per_node": 8, "nodes": 2,
//    "inside": {"latency": 3e-6, "bandwidth": 300e9}, "between": {"latency": 5e-6, "bandwidth": 25e9},
//    "sources": {"device.bandwidth": {"from": "the data sheet"}, "inside": {"from": "...", "derived": true}}}
//
// Rates are flops and bytes a second. "clocks" and "sources" may be left out, and so may "inside" where a node
// has one device, and "between" where there is one node. Of nodes that are not alike, "groups" is a list of
// objects with "device", "devices_per_node", "nodes", "inside" and "sources" of their own, which the whole then
// has not. Three more things may be said of what joins devices and nodes:
//
//   "carrier": "cores"           of "inside": who receives a message copies it, as ranks do that share memory,
//                                and computes nothing meanwhile; "adapters" if not given
//   "rails": 8                   of "between": a node's bandwidth is that of so many adapters, and a message
//                                passes one of them
//   "fat_tree": {"leaf_nodes": 32, "spines": 32, "latency": 1e-6, "bandwidth": 50e9}
//                                each 32 nodes have a switch, a leaf; "between" is what joins nodes of one.
//                                From each leaf a link of this bandwidth leads to each spine; messages to
//                                another leaf spread over them, and take this latency longer
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
    double speed = 1;  // of the highest clock's
    double idle_watts = 0;
    double busy_watts = 0;

    friend bool operator==(const DeviceClock&, const DeviceClock&) = default;
};

struct ClusterDevice {
    std::string name;
    std::map<std::string, double> flops;   // a second, of each kind of number: "f32"
    double bandwidth = 0;                  // of its memory
    std::size_t memory = 0;                // bytes
    double launch = 0;                     // seconds that a kernel costs beside its work
    std::vector<DeviceClock> clocks = {};  // the highest first
};

// Where a figure comes from.
struct FigureSource {
    std::string figure;  // "device.bandwidth"
    std::string from;
    bool is_derived = false;  // not said there, but worked out from it
};

// Nodes that are alike.
struct NodeGroup {
    ClusterDevice device;
    std::size_t devices_per_node = 1;
    std::size_t nodes = 1;
    std::optional<layout::Link> inside = {};  // from device to device; each has its bandwidth, each way
    bool do_cores_carry = false;              // its messages, by copying what they receive

    std::size_t devices() const { return devices_per_node * nodes; }
};

struct FatTree {
    std::size_t leaf_nodes = 1;
    std::size_t spines = 1;
    layout::Link up = {};  // from a leaf to a spine; the latency is that of the way up and down
};

struct Cluster {
    std::string name;
    std::string source;
    std::vector<NodeGroup> groups;  // in the order in which ranks go over them, node by node
    std::optional<layout::Link> between =
        {};  // from device to device; all devices of a node share its bandwidth
    std::size_t rails = 1;
    std::optional<FatTree> fat_tree = {};
    std::vector<FigureSource> sources = {};  // of groups: "groups[0].nodes"

    std::size_t devices() const;
    std::size_t nodes() const;
    // Whose device rank `rank` has, one of devices().
    const NodeGroup& group_of(std::size_t rank) const;
};

// The same devices, joined by links that take no time.
Cluster with_free_network(Cluster cluster);

// Throws ConfigError for a text that describes no cluster, naming the place in it; `place` is the file's name.
Cluster cluster_from_json(std::string_view text, const std::string& place);

}  // namespace trireme::plan

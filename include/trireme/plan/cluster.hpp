// A cluster as its JSON file describes it: devices, nodes and links.
//
//   {"schema": 1, "name": "a100-2x8", "source": "two DGX A100, joined by 200 Gb/s",
//    "device": {"name": "A100", "flops": {"f32": 19.5e12, "f64": 9.7e12}, "bandwidth": 1.555e12,
//               "memory": 40000000000, "launch": 4e-6,
//               "clocks": [{"mhz": 1410, "speed": 1, "watts": {"idle": 55, "busy": 400}}]},
//    "devices_per_node": 8, "nodes": 2,
//    "inside": {"latency": 3e-6, "bandwidth": 300e9}, "between": {"latency": 5e-6, "bandwidth": 25e9},
//    "sources": {"device.bandwidth": {"from": "the data sheet"}, "inside": {"from": "...", "derived": true}}}
//
// "flops" is in FLOP/s, "bandwidth" in bytes per second, "memory" in bytes, "launch" and "latency" in seconds.
// "inside" is the link between the devices of a node, and may be omitted if each node has one device. "between"
// is the link between nodes, and may be omitted if there is one node. "clocks" and "sources" are optional. If
// nodes differ, "groups" is a list of objects, each with its own "device", "devices_per_node", "nodes",
// "inside", "host" and "sources". The top-level object then has none of these keys except "sources". Four more
// optional keys describe the links, here with example values:
//
//   "host": {"latency": 1e-5, "bandwidth": 25e9}
//                                beside "inside": the link between each device and the memory of its host, in
//                                each direction. Optimizer state can be offloaded only over such a link, and the
//                                cache of frozen outputs (--cache) is read over it
//   "carrier": "cores"           in "inside": the receiving rank copies each message and computes nothing
//                                meanwhile. Ranks that share memory work in this way. With "adapters", the
//                                default, messages do not disturb computation
//   "rails": 8                   in "between": each node has 8 network adapters, which share the bandwidth of
//                                "between" evenly. A message uses one adapter. The default is 1
//   "fat_tree": {"leaf_nodes": 32, "spines": 16, "latency": 1e-6, "bandwidth": 50e9}
//                                in the top-level object: each leaf switch joins 32 nodes by the links of
//                                "between". Each leaf switch has a link of 50e9 bytes per second to each of 16
//                                spine switches. Messages between nodes of different leaf switches spread over
//                                the spine switches. Each of these messages takes 1e-6 seconds longer
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
    double speed = 1;  // FLOP rate, as a fraction of the rate at the highest clock
    double idle_watts = 0;
    double busy_watts = 0;

    friend bool operator==(const DeviceClock&, const DeviceClock&) = default;
};

struct ClusterDevice {
    std::string name;
    std::map<std::string, double> flops;   // FLOP/s, by number type, for example "f32"
    double bandwidth = 0;                  // of the device's memory, in bytes per second
    std::size_t memory = 0;                // bytes
    double launch = 0;                     // seconds per kernel, in addition to the time of its work
    std::vector<DeviceClock> clocks = {};  // highest first; empty if the file has none
};

// The source of a value of the cluster file.
struct FigureSource {
    std::string figure;       // path of the value, for example "device.bandwidth"
    std::string citation;     // for example "the data sheet"
    bool is_derived = false;  // the value is computed from other values that the source states
};

// Nodes with equal devices and links.
struct NodeGroup {
    ClusterDevice device;
    std::size_t devices_per_node = 1;
    std::size_t nodes = 1;
    // Link between two devices of a node; empty if the file has none. Each device has this bandwidth for
    // sending, and the same bandwidth for receiving.
    std::optional<layout::Link> inside = {};
    bool receivers_copy_messages = false;   // "carrier" is "cores"
    std::optional<layout::Link> host = {};  // link between a device and its host; empty if the file has none

    std::size_t count_devices() const { return devices_per_node * nodes; }
};

struct FatTree {
    std::size_t leaf_nodes = 1;  // nodes per leaf switch
    std::size_t spines = 1;      // number of spine switches
    // Link from a leaf switch to a spine switch. Its latency covers the whole way from one leaf switch over a
    // spine switch to another leaf switch.
    layout::Link up = {};
};

struct Cluster {
    std::string name;
    std::string source;             // e.g. "FlexTP's testbed: a node of 8 V100"
    std::vector<NodeGroup> groups;  // ranks are numbered in this order, node by node
    // Link between two nodes; empty if the file has none. The devices of a node share the link's bandwidth.
    std::optional<layout::Link> between = {};
    std::size_t rails = 1;                   // network adapters per node
    std::optional<FatTree> fat_tree = {};    // if empty, one switch joins all nodes
    std::vector<FigureSource> sources = {};  // with "groups", figures of group 0 begin with "groups[0]."

    std::size_t count_devices() const;
    std::size_t count_nodes() const;
    // Returns the group of the device with rank `rank`. Throws BugError if `rank` is not below count_devices().
    const NodeGroup& find_group(std::size_t rank) const;
    std::size_t find_node(std::size_t rank) const;  // nodes are numbered over all groups
    // Returns the link of a message between ranks `a` and `b`, at a time when `leaving_messages` messages leave
    // each node through the node's adapters.
    layout::Link find_link(std::size_t a, std::size_t b, std::size_t leaving_messages = 1) const;
};

// Returns `cluster` with messages that take no time: neither on links and switches, nor on receiving ranks.
Cluster remove_network_cost(Cluster cluster);

// Parses the text of the cluster file `file_name`. Throws ConfigError, naming the JSON key, if it is not valid.
Cluster parse_cluster(std::string_view text, const std::string& file_name);

}  // namespace trireme::plan

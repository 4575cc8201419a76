#include "tools/simulate/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools {
namespace {

constexpr const char* file_head =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n";

double find_flop_rate(const plan::ClusterDevice& device) {
    const auto f32 = device.flops.find("f32");
    return f32 == device.flops.end() ? device.flops.begin()->second : f32->second;
}

std::string format_property(const char* name, const std::string& value) {
    return fmt::format("<prop id=\"{}\" value=\"{}\"/>", name, value);
}

// Returns the properties "mhz" and "wattage_per_state"; nothing if the device has no clocks. "mhz" lists the
// clocks. "wattage_per_state" lists per clock the watts of an idle, a partly busy and a fully busy host. A
// device is never partly busy, so its busy watts are listed twice.
std::string format_power(const plan::ClusterDevice& device) {
    if (device.clocks.empty()) return {};
    std::string mhz;
    std::string watts;
    for (const plan::DeviceClock& clock : device.clocks) {
        const char* const comma = mhz.empty() ? "" : ",";
        mhz += fmt::format("{}{}", comma, clock.mhz);
        watts += fmt::format("{0}{1}:{2}:{2}", comma, clock.idle_watts, clock.busy_watts);
    }
    return format_property("mhz", mhz) + format_property("wattage_per_state", watts);
}

// Returns the property with the rate at which receiving ranks copy messages. Returns nothing if they do not
// copy messages.
std::string format_copy_rate(const plan::NodeGroup& group) {
    if (!group.receivers_copy_messages) return {};
    return format_property("copied_bytes_per_s", fmt::format("{}", group.inside->bandwidth));
}

std::string format_properties(const plan::NodeGroup& group) {
    return format_power(group.device) + format_copy_rate(group);
}

// Returns the FLOP/s of the device, or a list of its FLOP/s per clock.
std::string format_speeds(const plan::ClusterDevice& device) {
    if (device.clocks.empty()) return fmt::format("{}f", find_flop_rate(device));
    std::string text;
    for (const plan::DeviceClock& clock : device.clocks) {
        text += fmt::format("{}{}f", text.empty() ? "" : ",", clock.speed * find_flop_rate(device));
    }
    return text;
}

// Returns a <cluster> of `hosts` hosts, each with a link to one switch. A message between two hosts passes two
// links, so each link has half of the latency of `link`. The name of host 0 is `prefix`, "0" and `suffix`.
std::string format_cluster(const plan::NodeGroup& group, std::size_t hosts, const layout::Link& link,
                           const std::string& id, const std::string& prefix, const std::string& suffix) {
    const std::string properties = format_properties(group);
    return fmt::format(
        "<cluster id=\"{}\" prefix=\"{}\" suffix=\"{}\" radical=\"0-{}\" speed=\"{}\" bw=\"{}Bps\" "
        "lat=\"{:.12g}s\" loopback_bw=\"1e18Bps\" loopback_lat=\"0s\" router_id=\"{}-switch\"{}\n",
        id, prefix, suffix, hosts - 1, format_speeds(group.device), link.bandwidth, link.latency / 2, id,
        properties.empty() ? "/>" : ">" + properties + "</cluster>");
}

constexpr double unlimited_bandwidth = 1e18;  // bytes per second

// Returns the link inside a node. Its bandwidth is unlimited in two cases. First, the cluster file has no link
// inside nodes: each node then has one device, and only messages between nodes pass the returned link. Second,
// the receiving ranks copy messages: the simulation charges these ranks for the copies, and not the link.
layout::Link choose_inside_link(const plan::NodeGroup& group) {
    layout::Link link = group.inside.value_or(layout::Link{0, unlimited_bandwidth});
    if (group.receivers_copy_messages) link.bandwidth = unlimited_bandwidth;
    return link;
}

std::string format_node(const plan::NodeGroup& group, std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    return format_cluster(group, group.devices_per_node, choose_inside_link(group), name, name + "-device-",
                          "");
}

// Returns a host for one device, named `device`.
std::string format_host(const plan::NodeGroup& group, const std::string& device) {
    const std::string properties = format_properties(group);
    return fmt::format("<host id=\"{}\" speed=\"{}\"{}", device, format_speeds(group.device),
                       properties.empty() ? "/>" : ">" + properties + "</host>");
}

// Returns a link between a device and a switch. A route between two devices has two such links. `route` has the
// latency of both links together, so each link gets half of this latency.
std::string format_half_route_link(const std::string& name, const layout::Link& route) {
    return fmt::format(
        "<link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{:.12g}s\" sharing_policy=\"SPLITDUPLEX\"/>", name,
        route.bandwidth, route.latency / 2);
}

// Returns the route between two devices of a node.
std::string format_inside_route(const std::string& device, const std::string& other) {
    return fmt::format(
        "<route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"{0}-inside\" direction=\"UP\"/><link_ctn "
        "id=\"{1}-inside\" direction=\"DOWN\"/></route>",
        device, other);
}

// Returns the route from a device to the network outside of its node. The route passes the rail of the
// device, that is its network adapter.
std::string format_outside_route(const std::string& device, const std::string& node) {
    return fmt::format(
        "<route src=\"{0}\" dst=\"{1}-switch\"><link_ctn id=\"{0}-rail\" direction=\"UP\"/></route>", device,
        node);
}

// Returns a node in which each device has a rail of its own. A message between nodes passes the rail of the
// sending device and that of the receiving device.
std::string format_railed_node(const plan::Cluster& cluster, const plan::NodeGroup& group, std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    const layout::Link rail{.latency = cluster.between->latency,
                            .bandwidth = cluster.between->bandwidth / static_cast<double>(cluster.rails)};
    std::vector<std::string> previous_devices;
    std::string hosts, links, routes;
    for (std::size_t d = 0; d < group.devices_per_node; ++d) {
        const std::string device = fmt::format("{}-device-{}", name, d);
        hosts += format_host(group, device);
        links += format_half_route_link(device + "-inside", choose_inside_link(group)) +
                 format_half_route_link(device + "-rail", rail);
        for (const std::string& other : previous_devices) routes += format_inside_route(device, other);
        routes += format_outside_route(device, name);
        previous_devices.push_back(device);
    }
    return fmt::format("<zone id=\"{0}\" routing=\"Full\">{1}<router id=\"{0}-switch\"/>{2}{3}</zone>\n", name,
                       hosts, links, routes);
}

// Returns the link from the zone `lower` (a node or a leaf switch) to the switch above it.
std::string format_link(const std::string& lower, const layout::Link& link) {
    return fmt::format(
        "    <link id=\"{}-link\" bandwidth=\"{}Bps\" latency=\"{:.12g}s\" "
        "sharing_policy=\"SPLITDUPLEX\"/>\n",
        lower, link.bandwidth, link.latency);
}

// Returns a zone that consists of one switch, named `name`.
std::string format_switch_zone(const std::string& zone, const std::string& name) {
    return fmt::format("    <zone id=\"{}\" routing=\"Full\">\n      <router id=\"{}\"/>\n    </zone>\n", zone,
                       name);
}

// Returns the routes between the zone `lower` (a node or a leaf switch) and the zone `upper` of the switch
// above it. The routes up and down use the link of the lower zone. The route up also passes `extra_link`,
// unless `extra_link` is empty.
std::string format_zone_routes(const std::string& lower, const std::string& upper,
                               const std::string& upper_switch, const std::string& extra_link = "") {
    return fmt::format(
        "    <zoneRoute src=\"{0}\" dst=\"{1}\" gw_src=\"{0}-switch\" gw_dst=\"{2}\" "
        "symmetrical=\"NO\"><link_ctn id=\"{0}-link\" direction=\"UP\"/>{3}</zoneRoute>\n"
        "    <zoneRoute src=\"{1}\" dst=\"{0}\" gw_src=\"{2}\" gw_dst=\"{0}-switch\" "
        "symmetrical=\"NO\"><link_ctn id=\"{0}-link\" direction=\"DOWN\"/></zoneRoute>\n",
        lower, upper, upper_switch, extra_link);
}

// Sections of the platform file. They are collected separately, because SimGrid needs all links before the
// first route.
struct Network {
    std::string zones, switches, links, routes;
};

// Returns true if the uplinks of a leaf switch have at least the bandwidth of all its nodes together. Such
// uplinks add latency, but never limit bandwidth. Returns true without a fat tree: a single switch limits
// nothing.
bool is_non_blocking(const plan::Cluster& cluster) {
    if (!cluster.fat_tree) return true;
    const plan::FatTree& tree = *cluster.fat_tree;
    return tree.up.bandwidth * static_cast<double>(tree.spines) >=
           cluster.between->bandwidth * static_cast<double>(tree.leaf_nodes);
}

// Returns true if devices share no link: each device has an adapter of its own, and the switches never limit
// bandwidth. The simulator then computes the bandwidth of each adapter separately, which is fast.
bool has_rail_per_device(const plan::Cluster& cluster) {
    return cluster.rails > 1 && is_non_blocking(cluster) &&
           std::ranges::all_of(cluster.groups, [&](const plan::NodeGroup& group) {
               return group.devices_per_node == cluster.rails;
           });
}

// Adds the leaf switches. One simulated uplink of a leaf switch replaces its links to all spines and has their
// total bandwidth, because messages spread over these links. If `devices_have_rails`, leaf switches get no
// uplinks: each node has a link of its own to the spines, see add_railed_node().
void add_leaves(Network& network, const plan::Cluster& cluster, bool devices_have_rails) {
    const plan::FatTree& tree = *cluster.fat_tree;
    const std::size_t leaves = (cluster.count_nodes() + tree.leaf_nodes - 1) / tree.leaf_nodes;
    const layout::Link up{.latency = tree.up.latency / 2,
                          .bandwidth = tree.up.bandwidth * static_cast<double>(tree.spines)};
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        const std::string name = fmt::format("leaf-{}", leaf);
        network.switches += format_switch_zone(name, name + "-switch");
        if (devices_have_rails) continue;
        network.links += format_link(name, up);
        network.routes += format_zone_routes(name, "between", "switch");
    }
}

// If nodes have several network adapters, adds a link that limits each message from the node `node` to the
// bandwidth of one adapter. Another link limits the total bandwidth of the node's messages, see add_node(). A
// link per node that limits each message is cheaper to simulate than a single one for all nodes. Returns the
// XML element that refers to the added link; empty if nodes have one adapter.
std::string add_rail_limit(Network& network, const plan::Cluster& cluster, const std::string& node) {
    if (cluster.rails == 1) return {};
    network.links += fmt::format(
        "    <link id=\"{}-rail\" bandwidth=\"{}Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n", node,
        cluster.between->bandwidth / static_cast<double>(cluster.rails));
    return fmt::format("<link_ctn id=\"{}-rail\"/>", node);
}

// Returns a link that does not limit the bandwidth of messages.
std::string format_unlimited_link(const std::string& name, double latency) {
    return fmt::format(
        "    <link id=\"{}\" bandwidth=\"1e18Bps\" latency=\"{:.12g}s\" "
        "sharing_policy=\"FATPIPE\"/>\n",
        name, latency);
}

// Adds a node in which each device has a rail. With a fat tree, adds two routes from the node: one to its leaf
// switch, for messages to nodes of the same leaf switch, and one to the spines. Without a fat tree, adds one
// route to the switch that joins all nodes.
void add_railed_node(Network& network, const plan::Cluster& cluster, const plan::NodeGroup& group,
                     std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    network.zones += "    " + format_railed_node(cluster, group, node);
    const auto add_route = [&](const std::string& upper, const std::string& upper_switch,
                               const std::string& link, double latency) {
        network.links += format_unlimited_link(link, latency);
        network.routes += fmt::format(
            "    <zoneRoute src=\"{0}\" dst=\"{1}\" gw_src=\"{0}-switch\" gw_dst=\"{2}\"><link_ctn "
            "id=\"{3}\"/></zoneRoute>\n",
            name, upper, upper_switch, link);
    };
    const double up_latency = cluster.fat_tree ? cluster.fat_tree->up.latency / 2 : 0;
    if (cluster.fat_tree) {
        const std::string leaf = fmt::format("leaf-{}", node / cluster.fat_tree->leaf_nodes);
        add_route(leaf, leaf + "-switch", name + "-leaf", 0);
    }
    add_route("between", "switch", name + "-spine", up_latency);
}

// Adds a node whose devices share one link to the switch above the node. A message between two nodes passes, in
// the sending node and again in the receiving node, the link of a device and the link of the node. In each
// node, the latencies of these two links add up to half of the latency of "between" in the cluster file. Thus
// a route without uplinks of leaf switches has the latency of "between".
void add_node(Network& network, const plan::Cluster& cluster, const plan::NodeGroup& group, std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    const double inside_latency = group.inside ? group.inside->latency : 0;
    network.zones += "    " + format_node(group, node);
    network.links += format_link(name, {.latency = (cluster.between->latency - inside_latency) / 2,
                                        .bandwidth = cluster.between->bandwidth});
    const std::string rail_limit = add_rail_limit(network, cluster, name);
    if (!cluster.fat_tree) {
        network.routes += format_zone_routes(name, "between", "switch", rail_limit);
        return;
    }
    const std::string leaf = fmt::format("leaf-{}", node / cluster.fat_tree->leaf_nodes);
    network.routes += format_zone_routes(name, leaf, leaf + "-switch", rail_limit);
}

// Returns a <zone> with one zone per node, the switches that join the nodes, their links and their routes.
std::string format_joined_nodes(const plan::Cluster& cluster) {
    const bool devices_have_rails = has_rail_per_device(cluster);
    Network network;
    std::size_t node = 0;
    for (const plan::NodeGroup& group : cluster.groups) {
        for (std::size_t i = 0; i < group.nodes; ++i, ++node) {
            devices_have_rails ? add_railed_node(network, cluster, group, node)
                               : add_node(network, cluster, group, node);
        }
    }
    if (cluster.fat_tree) add_leaves(network, cluster, devices_have_rails);
    network.switches += format_switch_zone("between", "switch");
    return fmt::format("  <zone id=\"cluster\" routing=\"DijkstraCache\">\n{}{}{}{}  </zone>\n", network.zones,
                       network.switches, network.links, network.routes);
}

std::string format_zones(const plan::Cluster& cluster) {
    const plan::NodeGroup& first = cluster.groups.front();
    if (cluster.count_nodes() == 1) return "  " + format_node(first, 0);
    const bool has_equal_single_device_nodes = cluster.groups.size() == 1 && first.devices_per_node == 1;
    if (!has_equal_single_device_nodes || cluster.fat_tree || cluster.rails > 1)
        return format_joined_nodes(cluster);
    return "  " + format_cluster(first, first.nodes, *cluster.between, "cluster", "node-", "-device-0");
}

// Returns, for example, "2 nodes of 8 and 1 node of 4": the numbers of nodes and of devices per node.
std::string describe_nodes(const plan::Cluster& cluster) {
    std::string description;
    for (const plan::NodeGroup& group : cluster.groups) {
        description +=
            fmt::format("{}{} of {}", description.empty() ? "" : " and ",
                        format_count(static_cast<std::uint64_t>(group.nodes), "node"), group.devices_per_node);
    }
    return description;
}

}  // namespace

std::string make_platform_file(const plan::Cluster& cluster) {
    return fmt::format("{}{}</platform>\n", file_head, format_zones(cluster));
}

bool has_clocks(const plan::Cluster& cluster) {
    return std::ranges::any_of(cluster.groups,
                               [](const plan::NodeGroup& group) { return !group.device.clocks.empty(); });
}

std::string make_host_file(const plan::Cluster& cluster, int ranks) {
    const auto rank_count = static_cast<std::size_t>(ranks);
    if (rank_count > cluster.count_devices()) {
        throw ConfigError(fmt::format("--ranks {} needs {}, but {} has {} ({}); lower --ranks", ranks,
                                      format_count(rank_count, "device"), cluster.name, cluster.count_devices(),
                                      describe_nodes(cluster)));
    }
    std::string text;
    std::size_t node = 0;
    for (std::size_t rank = 0; rank < rank_count; ++node) {
        const std::size_t devices = cluster.find_group(rank).devices_per_node;
        for (std::size_t device = 0; device < devices && rank < rank_count; ++device, ++rank) {
            text += fmt::format("node-{}-device-{}\n", node, device);
        }
    }
    return text;
}

}  // namespace trireme::tools

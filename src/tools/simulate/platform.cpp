#include "tools/simulate/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools {
namespace {

constexpr const char* head =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n";

double rate_of(const plan::ClusterDevice& device) {
    const auto f32 = device.flops.find("f32");
    return f32 == device.flops.end() ? device.flops.begin()->second : f32->second;
}

std::string property(const char* name, const std::string& value) {
    return fmt::format("<prop id=\"{}\" value=\"{}\"/>", name, value);
}

// Lists, per clock, the power of an idle device, of a partly busy one and of a fully busy one.
std::string power_of(const plan::ClusterDevice& device) {
    if (device.clocks.empty()) return {};
    std::string mhz;
    std::string watts;
    for (const plan::DeviceClock& clock : device.clocks) {
        const char* const comma = mhz.empty() ? "" : ",";
        mhz += fmt::format("{}{}", comma, clock.mhz);
        watts += fmt::format("{0}{1}:{2}:{2}", comma, clock.idle_watts, clock.busy_watts);
    }
    return property("mhz", mhz) + property("wattage_per_state", watts);
}

std::string copies_of(const plan::NodeGroup& group) {
    if (!group.do_cores_carry) return {};
    return property("copied_bytes_per_s", fmt::format("{}", group.inside->bandwidth));
}

std::string properties_of(const plan::NodeGroup& group) { return power_of(group.device) + copies_of(group); }

std::string speeds_of(const plan::ClusterDevice& device) {
    if (device.clocks.empty()) return fmt::format("{}f", rate_of(device));
    std::string text;
    for (const plan::DeviceClock& clock : device.clocks) {
        text += fmt::format("{}{}f", text.empty() ? "" : ",", clock.speed * rate_of(device));
    }
    return text;
}

// Returns hosts around a switch. A message passes the links of both of its hosts.
std::string cluster_line(const plan::NodeGroup& group, std::size_t hosts, const layout::Link& link,
                         const std::string& id, const std::string& prefix, const std::string& suffix) {
    const std::string properties = properties_of(group);
    return fmt::format(
        "<cluster id=\"{}\" prefix=\"{}\" suffix=\"{}\" radical=\"0-{}\" speed=\"{}\" bw=\"{}Bps\" "
        "lat=\"{:.12g}s\" loopback_bw=\"1e18Bps\" loopback_lat=\"0s\" router_id=\"{}-switch\"{}\n",
        id, prefix, suffix, hosts - 1, speeds_of(group.device), link.bandwidth, link.latency / 2, id,
        properties.empty() ? "/>" : ">" + properties + "</cluster>");
}

constexpr double no_limit = 1e18;  // bytes per second

// Returns the link inside of a node. Its bandwidth is unlimited if the node has one device, or if cores carry
// the messages and are charged for the copies.
layout::Link way_inside(const plan::NodeGroup& group) {
    layout::Link way = group.inside.value_or(layout::Link{0, no_limit});
    if (group.do_cores_carry) way.bandwidth = no_limit;
    return way;
}

std::string node_line(const plan::NodeGroup& group, std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    return cluster_line(group, group.devices_per_node, way_inside(group), name, name + "-device-", "");
}

std::string host_text(const plan::NodeGroup& group, const std::string& device) {
    const std::string properties = properties_of(group);
    return fmt::format("<host id=\"{}\" speed=\"{}\"{}", device, speeds_of(group.device),
                       properties.empty() ? "/>" : ">" + properties + "</host>");
}

// Returns the half of a route that begins or ends at a device.
std::string half_way(const std::string& name, const layout::Link& whole) {
    return fmt::format(
        "<link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{:.12g}s\" sharing_policy=\"SPLITDUPLEX\"/>", name,
        whole.bandwidth, whole.latency / 2);
}

std::string way_between(const std::string& device, const std::string& other) {
    return fmt::format(
        "<route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"{0}-inside\" direction=\"UP\"/><link_ctn "
        "id=\"{1}-inside\" direction=\"DOWN\"/></route>",
        device, other);
}

std::string way_out(const std::string& device, const std::string& node) {
    return fmt::format(
        "<route src=\"{0}\" dst=\"{1}-switch\"><link_ctn id=\"{0}-rail\" direction=\"UP\"/></route>", device,
        node);
}

// Returns a node whose devices each have an adapter of their own to other nodes.
std::string railed_node(const plan::Cluster& cluster, const plan::NodeGroup& group, std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    const layout::Link rail{.latency = cluster.between->latency,
                            .bandwidth = cluster.between->bandwidth / static_cast<double>(cluster.rails)};
    std::vector<std::string> devices;
    std::string hosts, links, routes;
    for (std::size_t d = 0; d < group.devices_per_node; ++d) {
        const std::string device = fmt::format("{}-device-{}", name, d);
        hosts += host_text(group, device);
        links += half_way(device + "-inside", way_inside(group)) + half_way(device + "-rail", rail);
        for (const std::string& other : devices) routes += way_between(device, other);
        routes += way_out(device, name);
        devices.push_back(device);
    }
    return fmt::format("<zone id=\"{0}\" routing=\"Full\">{1}<router id=\"{0}-switch\"/>{2}{3}</zone>\n", name,
                       hosts, links, routes);
}

std::string link_line(const std::string& from, const layout::Link& link) {
    return fmt::format(
        "    <link id=\"{}-link\" bandwidth=\"{}Bps\" latency=\"{:.12g}s\" "
        "sharing_policy=\"SPLITDUPLEX\"/>\n",
        from, link.bandwidth, link.latency);
}

std::string switch_zone(const std::string& zone, const std::string& name) {
    return fmt::format("    <zone id=\"{}\" routing=\"Full\">\n      <router id=\"{}\"/>\n    </zone>\n", zone,
                       name);
}

// Returns the routes up and down over the link of the lower zone; `also` is an extra link of the route up.
std::string ways(const std::string& lower, const std::string& upper, const std::string& upper_switch,
                 const std::string& also = "") {
    return fmt::format(
        "    <zoneRoute src=\"{0}\" dst=\"{1}\" gw_src=\"{0}-switch\" gw_dst=\"{2}\" "
        "symmetrical=\"NO\"><link_ctn id=\"{0}-link\" direction=\"UP\"/>{3}</zoneRoute>\n"
        "    <zoneRoute src=\"{1}\" dst=\"{0}\" gw_src=\"{2}\" gw_dst=\"{0}-switch\" "
        "symmetrical=\"NO\"><link_ctn id=\"{0}-link\" direction=\"DOWN\"/></zoneRoute>\n",
        lower, upper, upper_switch, also);
}

// Parts of the platform file, collected separately because SimGrid needs all links before the first route.
struct Network {
    std::string zones, switches, links, ways;
};

// Returns true if the uplinks of a leaf carry all that its nodes can send. They add latency,
// but never limit bandwidth.
bool never_blocks(const plan::Cluster& cluster) {
    if (!cluster.fat_tree) return true;
    const plan::FatTree& tree = *cluster.fat_tree;
    return tree.up.bandwidth * static_cast<double>(tree.spines) >=
           cluster.between->bandwidth * static_cast<double>(tree.leaf_nodes);
}

// Returns true if nodes share no link: each device has its own adapter, and the switches have room for all of
// them. The simulator then solves for each adapter alone.
bool has_own_rails(const plan::Cluster& cluster) {
    return cluster.rails > 1 && never_blocks(cluster) &&
           std::ranges::all_of(cluster.groups, [&](const plan::NodeGroup& group) {
               return group.devices_per_node == cluster.rails;
           });
}

// Each leaf has one link, as wide as its links to all spines together, because messages spread over these.
// Nodes with rails reach the spines by links of their own.
void add_leaves(Network& network, const plan::Cluster& cluster, bool is_railed) {
    const plan::FatTree& tree = *cluster.fat_tree;
    const std::size_t leaves = (cluster.nodes() + tree.leaf_nodes - 1) / tree.leaf_nodes;
    const layout::Link up{.latency = tree.up.latency / 2,
                          .bandwidth = tree.up.bandwidth * static_cast<double>(tree.spines)};
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        const std::string name = fmt::format("leaf-{}", leaf);
        network.switches += switch_zone(name, name + "-switch");
        if (is_railed) continue;
        network.links += link_line(name, up);
        network.ways += ways(name, "between", "switch");
    }
}

// With several rails, a message passes one of them on its way up and has its bandwidth for itself. It still
// shares the bandwidth of the node. One link per node is cheaper to simulate than one for all nodes.
std::string add_rail(Network& network, const plan::Cluster& cluster, const std::string& node) {
    if (cluster.rails == 1) return {};
    network.links += fmt::format(
        "    <link id=\"{}-rail\" bandwidth=\"{}Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n", node,
        cluster.between->bandwidth / static_cast<double>(cluster.rails));
    return fmt::format("<link_ctn id=\"{}-rail\"/>", node);
}

std::string free_link(const std::string& name, double latency) {
    return fmt::format(
        "    <link id=\"{}\" bandwidth=\"1e18Bps\" latency=\"{:.12g}s\" "
        "sharing_policy=\"FATPIPE\"/>\n",
        name, latency);
}

// A message to another leaf takes the route over the spines, one to a neighbour the
// shorter route over the leaf.
void add_railed_node(Network& network, const plan::Cluster& cluster, const plan::NodeGroup& group,
                     std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    network.zones += "    " + railed_node(cluster, group, node);
    const auto add_way = [&](const std::string& upper, const std::string& upper_switch, const std::string& link,
                             double latency) {
        network.links += free_link(link, latency);
        network.ways += fmt::format(
            "    <zoneRoute src=\"{0}\" dst=\"{1}\" gw_src=\"{0}-switch\" gw_dst=\"{2}\"><link_ctn "
            "id=\"{3}\"/></zoneRoute>\n",
            name, upper, upper_switch, link);
    };
    const double up = cluster.fat_tree ? cluster.fat_tree->up.latency / 2 : 0;
    if (cluster.fat_tree) {
        const std::string leaf = fmt::format("leaf-{}", node / cluster.fat_tree->leaf_nodes);
        add_way(leaf, leaf + "-switch", name + "-leaf", 0);
    }
    add_way("between", "switch", name + "-spine", up);
}

// The latency inside of both nodes is part of a message's latency, so it is subtracted here.
void add_node(Network& network, const plan::Cluster& cluster, const plan::NodeGroup& group, std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    const double inside = group.inside ? group.inside->latency : 0;
    network.zones += "    " + node_line(group, node);
    network.links += link_line(
        name, {.latency = (cluster.between->latency - inside) / 2, .bandwidth = cluster.between->bandwidth});
    const std::string also = add_rail(network, cluster, name);
    if (!cluster.fat_tree) {
        network.ways += ways(name, "between", "switch", also);
        return;
    }
    const std::string leaf = fmt::format("leaf-{}", node / cluster.fat_tree->leaf_nodes);
    network.ways += ways(name, leaf, leaf + "-switch", also);
}

std::string joined_nodes(const plan::Cluster& cluster) {
    const bool is_railed = has_own_rails(cluster);
    Network network;
    std::size_t node = 0;
    for (const plan::NodeGroup& group : cluster.groups) {
        for (std::size_t i = 0; i < group.nodes; ++i, ++node) {
            is_railed ? add_railed_node(network, cluster, group, node)
                      : add_node(network, cluster, group, node);
        }
    }
    if (cluster.fat_tree) add_leaves(network, cluster, is_railed);
    network.switches += switch_zone("between", "switch");
    return fmt::format("  <zone id=\"cluster\" routing=\"DijkstraCache\">\n{}{}{}{}  </zone>\n", network.zones,
                       network.switches, network.links, network.ways);
}

std::string zones_of(const plan::Cluster& cluster) {
    const plan::NodeGroup& first = cluster.groups.front();
    if (cluster.nodes() == 1) return "  " + node_line(first, 0);
    const bool is_even = cluster.groups.size() == 1 && first.devices_per_node == 1;
    if (!is_even || cluster.fat_tree || cluster.rails > 1) return joined_nodes(cluster);
    return "  " + cluster_line(first, first.nodes, *cluster.between, "cluster", "node-", "-device-0");
}

std::string words_of_nodes(const plan::Cluster& cluster) {
    std::string words;
    for (const plan::NodeGroup& group : cluster.groups) {
        words += fmt::format("{}{} of {}", words.empty() ? "" : " and ",
                             counted(static_cast<std::uint64_t>(group.nodes), "node"), group.devices_per_node);
    }
    return words;
}

}  // namespace

std::string platform_text(const plan::Cluster& cluster) {
    return fmt::format("{}{}</platform>\n", head, zones_of(cluster));
}

bool is_metered(const plan::Cluster& cluster) {
    return std::ranges::any_of(cluster.groups,
                               [](const plan::NodeGroup& group) { return !group.device.clocks.empty(); });
}

std::string hosts_text(const plan::Cluster& cluster, int ranks) {
    const auto wanted = static_cast<std::size_t>(ranks);
    if (wanted > cluster.devices()) {
        throw ConfigError(fmt::format("--ranks {} are more than the {} devices of {} ({}); lower --ranks",
                                      ranks, cluster.devices(), cluster.name, words_of_nodes(cluster)));
    }
    std::string text;
    std::size_t node = 0;
    for (std::size_t rank = 0; rank < wanted; ++node) {
        const std::size_t devices = cluster.group_of(rank).devices_per_node;
        for (std::size_t device = 0; device < devices && rank < wanted; ++device, ++rank) {
            text += fmt::format("node-{}-device-{}\n", node, device);
        }
    }
    return text;
}

}  // namespace trireme::tools

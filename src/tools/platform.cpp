#include "tools/platform.hpp"

#include <fmt/format.h>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr const char* head =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n";

double rate_of(const ClusterDevice& device) {
    const auto f32 = device.flops.find("f32");
    return f32 == device.flops.end() ? device.flops.begin()->second : f32->second;
}

std::string speeds_of(const ClusterDevice& device) {
    if (device.clocks.empty()) return fmt::format("{}f", rate_of(device));
    std::string text;
    for (const DeviceClock& clock : device.clocks) {
        text += fmt::format("{}{}f", text.empty() ? "" : ",", clock.speed * rate_of(device));
    }
    return text;
}

// Hosts around a switch: a message passes the links of two of them.
std::string cluster_line(const ClusterDevice& device, std::size_t hosts, const Link& link,
                         const std::string& id, const std::string& prefix, const std::string& suffix) {
    return fmt::format(
        "<cluster id=\"{}\" prefix=\"{}\" suffix=\"{}\" radical=\"0-{}\" speed=\"{}\" bw=\"{}Bps\" "
        "lat=\"{:.12g}s\" "
        "router_id=\"{}-switch\"/>\n",
        id, prefix, suffix, hosts - 1, speeds_of(device), link.bandwidth, link.latency / 2, id);
}

std::string node_line(const Cluster& cluster, std::size_t node) {
    const std::string name = fmt::format("node-{}", node);
    return cluster_line(cluster.device, cluster.devices_per_node, *cluster.inside, name, name + "-device-", "");
}

// What a message takes inside of both its nodes is part of its latency.
std::string link_line(const Cluster& cluster, std::size_t node) {
    const double latency = (cluster.between->latency - cluster.inside->latency) / 2;
    return fmt::format(
        "    <link id=\"node-{}-link\" bandwidth=\"{}Bps\" latency=\"{:.12g}s\" "
        "sharing_policy=\"SPLITDUPLEX\"/>\n",
        node, cluster.between->bandwidth, latency);
}

std::string ways_to_switch(std::size_t node) {
    return fmt::format(
        "    <zoneRoute src=\"node-{0}\" dst=\"between\" gw_src=\"node-{0}-switch\" gw_dst=\"switch\" "
        "symmetrical=\"NO\"><link_ctn id=\"node-{0}-link\" direction=\"UP\"/></zoneRoute>\n"
        "    <zoneRoute src=\"between\" dst=\"node-{0}\" gw_src=\"switch\" gw_dst=\"node-{0}-switch\" "
        "symmetrical=\"NO\"><link_ctn id=\"node-{0}-link\" direction=\"DOWN\"/></zoneRoute>\n",
        node);
}

// SimGrid wants all links before the first way.
std::string joined_nodes(const Cluster& cluster) {
    std::string text = "  <zone id=\"cluster\" routing=\"Floyd\">\n";
    for (std::size_t node = 0; node < cluster.nodes; ++node) text += "    " + node_line(cluster, node);
    text += "    <zone id=\"between\" routing=\"Full\">\n      <router id=\"switch\"/>\n    </zone>\n";
    for (std::size_t node = 0; node < cluster.nodes; ++node) text += link_line(cluster, node);
    for (std::size_t node = 0; node < cluster.nodes; ++node) text += ways_to_switch(node);
    return text + "  </zone>\n";
}

std::string zones_of(const Cluster& cluster) {
    if (cluster.nodes == 1) {
        return "  " + cluster_line(cluster.device, cluster.devices_per_node,
                                   cluster.inside.value_or(Link{0, 1}), "node-0", "node-0-device-", "");
    }
    if (cluster.devices_per_node > 1) return joined_nodes(cluster);
    return "  " +
           cluster_line(cluster.device, cluster.nodes, *cluster.between, "cluster", "node-", "-device-0");
}

}  // namespace

std::string platform_text(const Cluster& cluster) {
    return fmt::format("{}{}</platform>\n", head, zones_of(cluster));
}

std::string hosts_text(const Cluster& cluster, int ranks) {
    if (static_cast<std::size_t>(ranks) > cluster.devices()) {
        throw ConfigError(
            fmt::format("--ranks {} are more than the {} devices of {} ({} nodes of {}); lower --ranks", ranks,
                        cluster.devices(), cluster.name, cluster.nodes, cluster.devices_per_node));
    }
    std::string text;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t number = static_cast<std::size_t>(rank);
        text += fmt::format("node-{}-device-{}\n", number / cluster.devices_per_node,
                            number % cluster.devices_per_node);
    }
    return text;
}

}  // namespace trireme

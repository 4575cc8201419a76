#include "trireme/plan/cluster.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::plan {

std::size_t Cluster::count_devices() const {
    std::size_t sum = 0;
    for (const NodeGroup& group : groups) sum += group.count_devices();
    return sum;
}

std::size_t Cluster::count_nodes() const {
    std::size_t sum = 0;
    for (const NodeGroup& group : groups) sum += group.nodes;
    return sum;
}

const NodeGroup& Cluster::find_group(std::size_t rank) const {
    for (const NodeGroup& group : groups) {
        if (rank < group.count_devices()) return group;
        rank -= group.count_devices();
    }
    // The loop has subtracted count_devices() from `rank`.
    throw BugError(cat(name, " has no device ", count_devices() + rank));
}

std::size_t Cluster::find_node(std::size_t rank) const {
    std::size_t first_node = 0;
    for (const NodeGroup& group : groups) {
        if (rank < group.count_devices()) return first_node + rank / group.devices_per_node;
        rank -= group.count_devices();
        first_node += group.nodes;
    }
    throw BugError(cat(name, " has no device ", count_devices() + rank));
}

layout::Link Cluster::find_link(std::size_t a, std::size_t b, std::size_t leaving_messages) const {
    const std::size_t node_a = find_node(a);
    const std::size_t node_b = find_node(b);
    if (node_a == node_b) return find_group(a).inside.value_or(layout::Link{});
    layout::Link link{.latency = between->latency,
                      .bandwidth = between->bandwidth / static_cast<double>(std::max(rails, leaving_messages))};
    const bool passes_spine = fat_tree && node_a / fat_tree->leaf_nodes != node_b / fat_tree->leaf_nodes;
    if (passes_spine) link.latency += fat_tree->up.latency;
    return link;
}

Cluster remove_network_cost(Cluster cluster) {
    constexpr layout::Link free_link{.latency = 0, .bandwidth = 1e18};
    for (NodeGroup& group : cluster.groups) {
        if (group.inside) group.inside = free_link;
        group.receivers_copy_messages = false;
    }
    if (cluster.between) cluster.between = free_link;
    cluster.fat_tree.reset();
    return cluster;
}

}  // namespace trireme::plan

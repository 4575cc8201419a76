#include "trireme/plan/cluster.hpp"

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

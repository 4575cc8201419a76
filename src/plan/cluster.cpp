#include "trireme/plan/cluster.hpp"

#include "trireme/base/error.hpp"

namespace trireme::plan {

std::size_t Cluster::devices() const {
    std::size_t sum = 0;
    for (const NodeGroup& group : groups) sum += group.devices();
    return sum;
}

std::size_t Cluster::nodes() const {
    std::size_t sum = 0;
    for (const NodeGroup& group : groups) sum += group.nodes;
    return sum;
}

const NodeGroup& Cluster::group_of(std::size_t rank) const {
    for (const NodeGroup& group : groups) {
        if (rank < group.devices()) return group;
        rank -= group.devices();
    }
    throw BugError(cat(name, " has no device ", devices() + rank));
}

Cluster with_free_network(Cluster cluster) {
    constexpr layout::Link free{.latency = 0, .bandwidth = 1e18};
    for (NodeGroup& group : cluster.groups) {
        if (group.inside) group.inside = free;
        group.do_cores_carry = false;
    }
    if (cluster.between) cluster.between = free;
    cluster.fat_tree.reset();
    return cluster;
}

}  // namespace trireme::plan

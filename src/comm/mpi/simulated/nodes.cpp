#include "comm/mpi/nodes.hpp"

#include <simgrid/host.h>

#include <algorithm>
#include <iterator>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <string>
#include <string_view>

#include "comm/mpi/check_mpi.hpp"

namespace trireme {
namespace {

// SimGrid knows hosts, one for each device, and not what they stand in: "node-3-device-1" is of node-3. A host
// of another name is a node.
std::string_view node_of(const simgrid::s4u::Host& host) {
    const std::string_view name = host.get_cname();
    return name.substr(0, name.find("-device-"));
}

// The same for all hosts of a node: the number of the first.
int number_of_own_node() {
    const std::vector<simgrid::s4u::Host*> hosts = simgrid::s4u::Engine::get_instance()->get_all_hosts();
    const std::string_view own = node_of(*simgrid::s4u::this_actor::get_host());
    const auto first = std::ranges::find_if(hosts, [&](const auto* host) { return node_of(*host) == own; });
    return static_cast<int>(std::distance(hosts.begin(), first));
}

}  // namespace

std::vector<int> node_of_each(int, int size, const Patience&) {
    const int own = number_of_own_node();
    std::vector<int> all(static_cast<std::size_t>(size));
    check_mpi(MPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
    std::vector<int> first(all.size());
    std::ranges::transform(all, first.begin(), [&](int node) {
        return static_cast<int>(std::distance(all.begin(), std::ranges::find(all, node)));
    });
    return first;
}

double copied_bytes_per_second() {
    const char* const rate = sg_host_get_property_value(sg_host_self(), "copied_bytes_per_s");
    return rate == nullptr ? 0 : std::stod(rate);
}

}  // namespace trireme

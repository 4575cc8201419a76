// In a simulation the nodes are those of the cluster description.
#include <gtest/gtest.h>

#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

// Each node has two devices, as in ranks/nodes.hosts.
TEST(SimulatedNodes, AreDerivedFromHostNames) {
    int arguments = 0;
    char** words = nullptr;
    const Session session(arguments, words);
    if (!device::time_is_simulated() || session.host().find("-device-") == std::string::npos)
        GTEST_SKIP() << "each rank has a host of its own, or they share this one";

    std::vector<int> expected;
    for (int rank = 0; rank < session.size(); ++rank) expected.push_back(rank - rank % 2);

    EXPECT_EQ(session.nodes(), expected);
}

}  // namespace
}  // namespace trireme::comm

#include "tools/platform.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

const std::string head =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n";

Cluster cluster(std::size_t nodes, std::size_t devices_per_node) {
    return {.name = "shelf",
            .source = "",
            .device = {.name = "abacus", .flops = {{"f32", 1e9}, {"f64", 5e8}}},
            .devices_per_node = devices_per_node,
            .nodes = nodes,
            .inside = Link{.latency = 2e-6, .bandwidth = 3e11},
            .between = Link{.latency = 5e-6, .bandwidth = 25e9}};
}

TEST(Platform, OfOneNodeIsOneLine) {
    EXPECT_EQ(platform_text(cluster(1, 4)),
              head +
                  "  <cluster id=\"node-0\" prefix=\"node-0-device-\" suffix=\"\" radical=\"0-3\" "
                  "speed=\"1000000000f\" bw=\"300000000000Bps\" lat=\"1e-06s\" router_id=\"node-0-switch\"/>\n"
                  "</platform>\n");
}

TEST(Platform, OfNodesWithOneDeviceIsOneLine) {
    EXPECT_EQ(
        platform_text(cluster(3, 1)),
        head +
            "  <cluster id=\"cluster\" prefix=\"node-\" suffix=\"-device-0\" radical=\"0-2\" "
            "speed=\"1000000000f\" bw=\"25000000000Bps\" lat=\"2.5e-06s\" router_id=\"cluster-switch\"/>\n"
            "</platform>\n");
}

TEST(Platform, JoinsNodesByASwitch) {
    EXPECT_EQ(platform_text(cluster(2, 2)),
              head +
                  "  <zone id=\"cluster\" routing=\"Floyd\">\n"
                  "    <cluster id=\"node-0\" prefix=\"node-0-device-\" suffix=\"\" radical=\"0-1\" "
                  "speed=\"1000000000f\" bw=\"300000000000Bps\" lat=\"1e-06s\" router_id=\"node-0-switch\"/>\n"
                  "    <cluster id=\"node-1\" prefix=\"node-1-device-\" suffix=\"\" radical=\"0-1\" "
                  "speed=\"1000000000f\" bw=\"300000000000Bps\" lat=\"1e-06s\" router_id=\"node-1-switch\"/>\n"
                  "    <zone id=\"between\" routing=\"Full\">\n"
                  "      <router id=\"switch\"/>\n"
                  "    </zone>\n"
                  "    <link id=\"node-0-link\" bandwidth=\"25000000000Bps\" latency=\"1.5e-06s\" "
                  "sharing_policy=\"SPLITDUPLEX\"/>\n"
                  "    <link id=\"node-1-link\" bandwidth=\"25000000000Bps\" latency=\"1.5e-06s\" "
                  "sharing_policy=\"SPLITDUPLEX\"/>\n"
                  "    <zoneRoute src=\"node-0\" dst=\"between\" gw_src=\"node-0-switch\" gw_dst=\"switch\" "
                  "symmetrical=\"NO\"><link_ctn id=\"node-0-link\" direction=\"UP\"/></zoneRoute>\n"
                  "    <zoneRoute src=\"between\" dst=\"node-0\" gw_src=\"switch\" gw_dst=\"node-0-switch\" "
                  "symmetrical=\"NO\"><link_ctn id=\"node-0-link\" direction=\"DOWN\"/></zoneRoute>\n"
                  "    <zoneRoute src=\"node-1\" dst=\"between\" gw_src=\"node-1-switch\" gw_dst=\"switch\" "
                  "symmetrical=\"NO\"><link_ctn id=\"node-1-link\" direction=\"UP\"/></zoneRoute>\n"
                  "    <zoneRoute src=\"between\" dst=\"node-1\" gw_src=\"switch\" gw_dst=\"node-1-switch\" "
                  "symmetrical=\"NO\"><link_ctn id=\"node-1-link\" direction=\"DOWN\"/></zoneRoute>\n"
                  "  </zone>\n"
                  "</platform>\n");
}

TEST(Platform, HasASpeedForEachClock) {
    Cluster clocked = cluster(1, 1);
    clocked.device.clocks = {{.mhz = 2, .speed = 1}, {.mhz = 1, .speed = 0.5}};

    EXPECT_NE(platform_text(clocked).find("speed=\"1000000000f,500000000f\""), std::string::npos);
}

TEST(Platform, FillsNodeByNode) {
    EXPECT_EQ(hosts_text(cluster(2, 2), 3), "node-0-device-0\nnode-0-device-1\nnode-1-device-0\n");
    EXPECT_EQ(hosts_text(cluster(3, 1), 2), "node-0-device-0\nnode-1-device-0\n");
}

TEST(Platform, HasNoPlaceForMoreRanksThanDevices) {
    EXPECT_EQ(validation::message_of<ConfigError>([] { hosts_text(cluster(2, 2), 5); }),
              "--ranks 5 are more than the 4 devices of shelf (2 nodes of 2); lower --ranks");
}

}  // namespace
}  // namespace trireme

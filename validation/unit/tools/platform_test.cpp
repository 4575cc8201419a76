#include "tools/simulate/platform.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

using validation::says;

const std::string head =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n";

plan::Cluster cluster(std::size_t nodes, std::size_t devices_per_node) {
    return {.name = "shelf",
            .source = "",
            .groups = {{.device = {.name = "abacus", .flops = {{"f32", 1e9}, {"f64", 5e8}}},
                        .devices_per_node = devices_per_node,
                        .nodes = nodes,
                        .inside = layout::Link{.latency = 2e-6, .bandwidth = 3e11}}},
            .between = layout::Link{.latency = 5e-6, .bandwidth = 25e9}};
}

TEST(Platform, HasOneClusterForASingleNode) {
    EXPECT_EQ(make_platform_file(cluster(1, 4)),
              head +
                  "  <cluster id=\"node-0\" prefix=\"node-0-device-\" suffix=\"\" radical=\"0-3\" "
                  "speed=\"1000000000f\" bw=\"300000000000Bps\" lat=\"1e-06s\" loopback_bw=\"1e18Bps\" "
                  "loopback_lat=\"0s\" router_id=\"node-0-switch\"/>\n"
                  "</platform>\n");
}

TEST(Platform, HasOneClusterForNodesWithOneDevice) {
    EXPECT_EQ(make_platform_file(cluster(3, 1)),
              head +
                  "  <cluster id=\"cluster\" prefix=\"node-\" suffix=\"-device-0\" radical=\"0-2\" "
                  "speed=\"1000000000f\" bw=\"25000000000Bps\" lat=\"2.5e-06s\" loopback_bw=\"1e18Bps\" "
                  "loopback_lat=\"0s\" router_id=\"cluster-switch\"/>\n"
                  "</platform>\n");
}

TEST(Platform, JoinsNodesByASwitch) {
    EXPECT_EQ(make_platform_file(cluster(2, 2)),
              head +
                  "  <zone id=\"cluster\" routing=\"DijkstraCache\">\n"
                  "    <cluster id=\"node-0\" prefix=\"node-0-device-\" suffix=\"\" radical=\"0-1\" "
                  "speed=\"1000000000f\" bw=\"300000000000Bps\" lat=\"1e-06s\" loopback_bw=\"1e18Bps\" "
                  "loopback_lat=\"0s\" router_id=\"node-0-switch\"/>\n"
                  "    <cluster id=\"node-1\" prefix=\"node-1-device-\" suffix=\"\" radical=\"0-1\" "
                  "speed=\"1000000000f\" bw=\"300000000000Bps\" lat=\"1e-06s\" loopback_bw=\"1e18Bps\" "
                  "loopback_lat=\"0s\" router_id=\"node-1-switch\"/>\n"
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

TEST(Platform, HasNodesOfSeveralKinds) {
    plan::Cluster mixed = cluster(1, 2);
    mixed.groups.push_back({.device = {.name = "slide rule", .flops = {{"f64", 5e8}}}});

    const std::string text = make_platform_file(mixed);

    EXPECT_TRUE(says(text,
                     "<cluster id=\"node-0\" prefix=\"node-0-device-\" suffix=\"\" radical=\"0-1\" "
                     "speed=\"1000000000f\" bw=\"300000000000Bps\" lat=\"1e-06s\""));
    EXPECT_TRUE(says(text,
                     "<cluster id=\"node-1\" prefix=\"node-1-device-\" suffix=\"\" radical=\"0-0\" "
                     "speed=\"500000000f\" bw=\"1e+18Bps\" lat=\"0s\""));
    EXPECT_TRUE(says(text, "<link id=\"node-0-link\" bandwidth=\"25000000000Bps\" latency=\"1.5e-06s\""));
    EXPECT_TRUE(says(text, "<link id=\"node-1-link\" bandwidth=\"25000000000Bps\" latency=\"2.5e-06s\""));
}

// A path over one leaf has the latency of "between"; a path over two leaves also has that of the tree.
TEST(Platform, JoinsLeavesBySpines) {
    plan::Cluster tree = cluster(5, 1);
    tree.fat_tree = plan::FatTree{.leaf_nodes = 2, .spines = 3, .up = {.latency = 1e-6, .bandwidth = 2e10}};

    const std::string text = make_platform_file(tree);

    EXPECT_TRUE(says(text, "<link id=\"leaf-2-link\" bandwidth=\"60000000000Bps\" latency=\"5e-07s\" "));
    EXPECT_FALSE(says(text, "leaf-3"));
    EXPECT_TRUE(says(text,
                     "<zoneRoute src=\"node-1\" dst=\"leaf-0\" gw_src=\"node-1-switch\" "
                     "gw_dst=\"leaf-0-switch\""));
    EXPECT_TRUE(says(text, "<zoneRoute src=\"leaf-1\" dst=\"node-2\""));
    EXPECT_TRUE(says(text,
                     "<zoneRoute src=\"leaf-2\" dst=\"between\" gw_src=\"leaf-2-switch\" "
                     "gw_dst=\"switch\""));
    EXPECT_FALSE(says(text, "src=\"node-1\" dst=\"between\""));
}

TEST(Platform, RoutesAMessageOverOneRail) {
    plan::Cluster railed = cluster(2, 2);
    EXPECT_FALSE(says(make_platform_file(railed), "-rail"));
    railed.rails = 5;

    const std::string text = make_platform_file(railed);

    EXPECT_TRUE(says(text,
                     "<link id=\"node-1-rail\" bandwidth=\"5000000000Bps\" latency=\"0s\" "
                     "sharing_policy=\"FATPIPE\"/>"));
    EXPECT_TRUE(says(text, "<link_ctn id=\"node-1-link\" direction=\"UP\"/><link_ctn id=\"node-1-rail\"/>"));
    EXPECT_TRUE(says(text, "<link_ctn id=\"node-1-link\" direction=\"DOWN\"/></zoneRoute>"));
}

// A device with a rail of its own shares it with no other device. Leaves with bandwidth for all their nodes
// need no links of their own.
TEST(Platform, GivesEachDeviceARailOfItsOwn) {
    plan::Cluster railed = cluster(4, 2);
    railed.rails = 2;
    railed.fat_tree = plan::FatTree{.leaf_nodes = 2, .spines = 2, .up = {.latency = 1e-6, .bandwidth = 25e9}};

    const std::string text = make_platform_file(railed);
    railed.fat_tree->up.bandwidth = 24e9;
    const std::string narrow = make_platform_file(railed);

    EXPECT_TRUE(
        says(text, "<link id=\"node-3-device-1-rail\" bandwidth=\"12500000000Bps\" latency=\"2.5e-06s\""));
    EXPECT_TRUE(
        says(text, "<link id=\"node-3-device-1-inside\" bandwidth=\"300000000000Bps\" latency=\"1e-06s\""));
    EXPECT_TRUE(says(text, "<link id=\"node-3-spine\" bandwidth=\"1e18Bps\" latency=\"5e-07s\" "));
    EXPECT_TRUE(says(text, "<zoneRoute src=\"node-3\" dst=\"leaf-1\""));
    EXPECT_TRUE(says(text, "<zoneRoute src=\"node-3\" dst=\"between\""));
    EXPECT_FALSE(says(text, "leaf-1-link"));
    EXPECT_TRUE(says(narrow, "leaf-1-link"));
    EXPECT_FALSE(says(narrow, "node-3-device-1-rail"));
}

TEST(Platform, HasASpeedForEachClock) {
    plan::Cluster clocked = cluster(1, 1);
    clocked.groups[0].device.clocks = {{.mhz = 2, .speed = 1}, {.mhz = 1, .speed = 0.5}};

    EXPECT_NE(make_platform_file(clocked).find("speed=\"1000000000f,500000000f\""), std::string::npos);
}

// Messages that cores copy do not pass over a wire, so the bandwidth of the link is unlimited.
TEST(Platform, RecordsTheCopyRateIfReceiversCopy) {
    plan::Cluster shelf = cluster(1, 4);
    shelf.groups[0].receivers_copy_messages = true;

    const std::string text = make_platform_file(shelf);

    EXPECT_TRUE(says(text, "bw=\"1e+18Bps\" lat=\"1e-06s\""));
    EXPECT_TRUE(says(text, "<prop id=\"copied_bytes_per_s\" value=\"300000000000\"/>"));
}

// The rank tests of clocks run on the same platform as a simulation.
TEST(Platform, MatchesTheFilesOfTheRankTests) {
    plan::Cluster metered = cluster(4, 2);
    metered.groups[0].device.clocks = {{.mhz = 1000, .speed = 1, .idle_watts = 70, .busy_watts = 300},
                                       {.mhz = 750, .speed = 0.75, .idle_watts = 70, .busy_watts = 200},
                                       {.mhz = 500, .speed = 0.5, .idle_watts = 70, .busy_watts = 150}};
    const std::string files = TRIREME_SOURCE_DIR "/validation/ranks/nodes";

    EXPECT_TRUE(has_clocks(metered));
    EXPECT_FALSE(has_clocks(cluster(4, 2)));
    EXPECT_EQ(make_platform_file(metered), validation::read_whole(files + ".xml"));
    EXPECT_EQ(make_host_file(metered, 8), validation::read_whole(files + ".hosts"));
}

TEST(Platform, AssignsRanksNodeByNode) {
    EXPECT_EQ(make_host_file(cluster(2, 2), 3), "node-0-device-0\nnode-0-device-1\nnode-1-device-0\n");
    EXPECT_EQ(make_host_file(cluster(3, 1), 2), "node-0-device-0\nnode-1-device-0\n");
}

TEST(Platform, AssignsRanksGroupByGroup) {
    plan::Cluster mixed = cluster(2, 2);
    mixed.groups.push_back({.device = {}, .nodes = 2});

    EXPECT_EQ(make_host_file(mixed, 6),
              "node-0-device-0\nnode-0-device-1\nnode-1-device-0\nnode-1-device-1\nnode-2-device-0\n"
              "node-3-device-0\n");
    EXPECT_EQ(validation::catch_message<ConfigError>([&] { make_host_file(mixed, 7); }),
              "--ranks 7 needs 7 devices, but shelf has 6 (2 nodes of 2 and 2 nodes of 1); lower --ranks");
}

TEST(Platform, RejectsMoreRanksThanDevices) {
    EXPECT_EQ(validation::catch_message<ConfigError>([] { make_host_file(cluster(2, 2), 5); }),
              "--ranks 5 needs 5 devices, but shelf has 4 (2 nodes of 2); lower --ranks");
}

}  // namespace
}  // namespace trireme::tools

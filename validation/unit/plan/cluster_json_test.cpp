#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/cluster.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;
using validation::says;

Json described() {
    return Json::parse(R"({
        "schema": 1, "name": "abacus-2x4", "source": "a shelf",
        "device": {"name": "abacus", "flops": {"f32": 100, "f64": 50}, "bandwidth": 1e3, "memory": 64,
                   "launch": 0.5, "clocks": [{"mhz": 2, "speed": 1, "watts": {"idle": 5, "busy": 9}},
                                             {"mhz": 1, "speed": 0.5, "watts": {"idle": 5, "busy": 6}}]},
        "devices_per_node": 4, "nodes": 2,
        "inside": {"latency": 1, "bandwidth": 30}, "between": {"latency": 2, "bandwidth": 10},
        "sources": {"device.launch": {"from": "a guess", "derived": true}, "nodes": {"from": "the shelf"}}})");
}

Cluster read(const Json& json) { return parse_cluster(json.dump(), "my.json"); }

// Returns the error message about the described cluster after `change`.
std::string refusal(void (*change)(Json&)) {
    Json json = described();
    change(json);
    return validation::catch_message<ConfigError>([&] { read(json); });
}

TEST(ClusterJson, IsReadInTheDocumentedFormat) {
    const Cluster cluster = read(described());

    EXPECT_EQ(cluster.name, "abacus-2x4");
    EXPECT_EQ(cluster.source, "a shelf");
    EXPECT_EQ(cluster.count_devices(), 8U);
    ASSERT_EQ(cluster.groups.size(), 1U);
    const NodeGroup& nodes = cluster.groups.front();
    EXPECT_EQ(nodes.device.name, "abacus");
    EXPECT_EQ(nodes.device.flops, (std::map<std::string, double>{{"f32", 100}, {"f64", 50}}));
    EXPECT_EQ(nodes.device.bandwidth, 1000);
    EXPECT_EQ(nodes.device.memory, 64U);
    EXPECT_EQ(nodes.device.launch, 0.5);
    ASSERT_EQ(nodes.device.clocks.size(), 2U);
    EXPECT_EQ(nodes.device.clocks[1], (DeviceClock{.mhz = 1, .speed = 0.5, .idle_watts = 5, .busy_watts = 6}));
    EXPECT_EQ(nodes.inside, (layout::Link{.latency = 1, .bandwidth = 30}));
    EXPECT_EQ(cluster.between, (layout::Link{.latency = 2, .bandwidth = 10}));
    EXPECT_EQ(cluster.rails, 1U);
    EXPECT_FALSE(cluster.fat_tree);
    ASSERT_EQ(cluster.sources.size(), 2U);
    EXPECT_EQ(cluster.sources[0].citation, "a guess");
    EXPECT_TRUE(cluster.sources[0].is_derived);
    EXPECT_EQ(cluster.sources[1].figure, "nodes");
    EXPECT_FALSE(cluster.sources[1].is_derived);
}

// Returns two groups: the described nodes, and three nodes with one device each.
Json of_two_kinds() {
    Json json = described();
    Json shelf = {
        {"device", json["device"]}, {"devices_per_node", 4}, {"nodes", 2}, {"inside", json["inside"]}};
    Json other = {{"device", json["device"]}, {"devices_per_node", 1}, {"nodes", 3}};
    other["device"]["name"] = "slide rule";
    other["sources"] = {{"nodes", {{"from", "the other shelf"}}}};
    for (const char* key : {"device", "devices_per_node", "nodes", "inside", "sources"}) json.erase(key);
    json["groups"] = {shelf, other};
    return json;
}

TEST(ClusterJson, MayHaveGroupsOfNodes) {
    const Cluster cluster = read(of_two_kinds());

    ASSERT_EQ(cluster.groups.size(), 2U);
    EXPECT_EQ(cluster.count_nodes(), 5U);
    EXPECT_EQ(cluster.count_devices(), 11U);
    EXPECT_EQ(cluster.groups[0].inside, (layout::Link{.latency = 1, .bandwidth = 30}));
    EXPECT_EQ(cluster.groups[1].inside, std::nullopt);
    EXPECT_EQ(cluster.find_group(7).device.name, "abacus");
    EXPECT_EQ(cluster.find_group(8).device.name, "slide rule");
    ASSERT_EQ(cluster.sources.size(), 1U);
    EXPECT_EQ(cluster.sources[0].figure, "groups[1].nodes");
}

TEST(Cluster, FindsTheLinkBetweenTwoRanks) {
    Cluster cluster = read(of_two_kinds());
    const layout::Link inside{.latency = 1, .bandwidth = 30};
    const layout::Link between{.latency = 2, .bandwidth = 10};

    EXPECT_EQ(cluster.find_link(4, 7), inside);
    EXPECT_EQ(cluster.find_link(3, 4), between);
    EXPECT_EQ(cluster.find_link(9, 10), between);  // two nodes with one device each
    EXPECT_EQ(cluster.find_link(4, 7, 4), inside);
    EXPECT_EQ(cluster.find_link(3, 4, 4), (layout::Link{.latency = 2, .bandwidth = 2.5}));

    cluster.rails = 5;
    EXPECT_EQ(cluster.find_link(3, 4, 4), (layout::Link{.latency = 2, .bandwidth = 2}));

    cluster.fat_tree = {.leaf_nodes = 2, .spines = 1, .up = {.latency = 0.5, .bandwidth = 10}};
    EXPECT_EQ(cluster.find_link(3, 4).latency, 2);    // nodes 0 and 1 share a leaf switch
    EXPECT_EQ(cluster.find_link(3, 8).latency, 2.5);  // node 2 has another one
}

TEST(ClusterJson, MayHaveAFatTreeAndRails) {
    Json json = described();
    json["between"]["rails"] = 4;
    json["fat_tree"] = {{"leaf_nodes", 32}, {"spines", 16}, {"latency", 3}, {"bandwidth", 20}};
    json["sources"]["fat_tree"] = {{"from", "the attic"}};

    const Cluster cluster = read(json);

    EXPECT_EQ(cluster.rails, 4U);
    ASSERT_TRUE(cluster.fat_tree);
    EXPECT_EQ(cluster.fat_tree->leaf_nodes, 32U);
    EXPECT_EQ(cluster.fat_tree->spines, 16U);
    EXPECT_EQ(cluster.fat_tree->up, (layout::Link{.latency = 3, .bandwidth = 20}));
    EXPECT_EQ(cluster.sources.back().figure, "fat_tree");
}

TEST(ClusterJson, NamesThePlaceOfAnErrorInGroups) {
    const auto refused = [](void (*change)(Json&)) {
        Json json = of_two_kinds();
        change(json);
        return validation::catch_message<ConfigError>([&] { read(json); });
    };

    EXPECT_EQ(refused([](Json& it) { it["groups"] = Json::array(); }),
              "my.json: groups is []; it must be a list of at least one group of nodes");
    EXPECT_EQ(refused([](Json& it) { it["nodes"] = 2; }),
              "my.json: nodes is 2; it must be omitted here, because each group has its own");
    EXPECT_EQ(refused([](Json& it) { it["groups"][1]["device"]["memory"] = 0; }),
              "my.json: groups[1].device.memory is 0; it must be above 0 (bytes)");
    EXPECT_TRUE(says(refused([](Json& it) { it.erase("between"); }),
                     "an object with \"between\", the link between the 5 nodes"));
    EXPECT_TRUE(says(refused([](Json& it) { it["groups"][0].erase("inside"); }), "my.json: groups[0] is"));
    EXPECT_TRUE(says(refused([](Json& it) { it["between"]["latency"] = 0.5; }),
                     "at least the latency inside a node, 1 s"));
    EXPECT_TRUE(says(refused([](Json& it) {
                         it["fat_tree"] = {{"leaf_nodes", 1}};
                     }),
                     "my.json: fat_tree has no \"spines\""));
    EXPECT_TRUE(says(refused([](Json& it) { it["between"]["rails"] = 0; }),
                     "my.json: between.rails is 0; it must be at least 1"));
}

TEST(ClusterJson, SetsTheCarrierOfMessagesInsideANode) {
    Json json = described();
    EXPECT_FALSE(read(json).groups.front().receivers_copy_messages);
    json["inside"]["carrier"] = "cores";

    EXPECT_TRUE(read(json).groups.front().receivers_copy_messages);
    EXPECT_EQ(refusal([](Json& it) { it["inside"]["carrier"] = "pigeons"; }),
              "my.json: inside.carrier is \"pigeons\"; it must be \"cores\" or \"adapters\"");
}

TEST(Cluster, MayHaveANetworkWithoutCost) {
    Json json = of_two_kinds();
    json["groups"][0]["inside"]["carrier"] = "cores";
    const Cluster cluster = remove_network_cost(read(json));

    EXPECT_EQ(cluster.groups[0].inside->latency, 0);
    EXPECT_EQ(cluster.between->latency, 0);
    EXPECT_GE(cluster.between->bandwidth, 1e18);
    EXPECT_FALSE(cluster.groups[0].receivers_copy_messages);
    EXPECT_FALSE(cluster.fat_tree);
    EXPECT_EQ(cluster.count_devices(), read(json).count_devices());
}

TEST(ClusterJson, NeedsLinksOnlyBetweenSeveralNodesOrDevices) {
    Json json = described();
    json["nodes"] = 1;
    json.erase("between");

    EXPECT_EQ(read(json).between, std::nullopt);
    EXPECT_TRUE(says(refusal([](Json& it) { it.erase("between"); }),
                     "an object with \"between\", the link between the 2 nodes"));
    EXPECT_TRUE(says(refusal([](Json& it) { it.erase("inside"); }),
                     "an object with \"inside\", the link between the 4 devices of a node"));
}

TEST(ClusterJson, NamesThePlaceOfAnError) {
    EXPECT_EQ(refusal([](Json& it) { it["device"]["bandwidth"] = 0; }),
              "my.json: device.bandwidth is 0; it must be above 0 (bytes per second)");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["flops"] = Json::object(); }),
              "my.json: device.flops is {}; it must be an object with the rate of at least one data type, such "
              "as f32");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["flops"]["f31"] = 5; }),
              "my.json: device.flops has an unknown key \"f31\"; did you mean f32?");
    EXPECT_EQ(refusal([](Json& it) { it["devices_per_node"] = 0; }),
              "my.json: devices_per_node is 0; it must be at least 1");
    EXPECT_EQ(refusal([](Json& it) { it["nodes"] = 1 << 20; }),
              "my.json: nodes is 1048576; it must be limited to at most 1048576 devices in total");
    EXPECT_EQ(refusal([](Json& it) { it["schema"] = 2; }),
              "my.json: schema is 2; it must be 1 for this program");
    EXPECT_EQ(refusal([](Json& it) { it["between"]["latency"] = 0.5; }),
              "my.json: between.latency is 0.5; it must be at least the latency inside a node, 1 s");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["clocks"][0]["speed"] = 0.9; }),
              "my.json: device.clocks[0].speed is 0.9; it must be 1, because the first clock is the highest");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["clocks"][1]["speed"] = 1; }),
              "my.json: device.clocks[1].speed is 1; it must be below the speed of the previous clock");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["clocks"][1]["mhz"] = 2; }),
              "my.json: device.clocks[1].mhz is 2; it must be below the previous clock");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["clocks"][1]["watts"]["busy"] = 0; }),
              "my.json: device.clocks[1].watts.busy is 0; it must be above 0 (watts)");
    EXPECT_EQ(refusal([](Json& it) { it["sources"]["nodes"]["derived"] = "no"; }),
              "my.json: sources.nodes.derived is \"no\"; it must be true or false");
}

// Returns the names of the figures that the file of a cluster has.
std::set<std::string> figures_of(const Cluster& cluster) {
    std::set<std::string> figures;
    for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
        const NodeGroup& group = cluster.groups[g];
        const std::string of = cluster.groups.size() > 1 ? "groups[" + std::to_string(g) + "]." : "";
        for (const char* figure : {"device.flops", "device.bandwidth", "device.memory", "device.launch",
                                   "devices_per_node", "nodes"}) {
            figures.insert(of + figure);
        }
        if (group.inside) figures.insert(of + "inside");
        if (!group.device.clocks.empty()) figures.insert(of + "device.clocks");
    }
    if (cluster.between) figures.insert("between");
    if (cluster.fat_tree) figures.insert("fat_tree");
    return figures;
}

// Each figure in perf/clusters must have a source.
TEST(ClusterJson, HasASourceForEachFigureInPerfClusters) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(TRIREME_SOURCE_DIR "/perf/clusters")) {
        std::ifstream file(entry.path());
        const Cluster cluster =
            parse_cluster(std::string{std::istreambuf_iterator<char>(file), {}}, entry.path().string());
        std::set<std::string> missing = figures_of(cluster);
        for (const FigureSource& source : cluster.sources) missing.erase(source.figure);

        EXPECT_EQ(missing, std::set<std::string>{}) << entry.path();
        EXPECT_EQ(cluster.name, entry.path().stem());
        ++files;
    }
    EXPECT_GE(files, 4U);
}

}  // namespace
}  // namespace trireme::plan

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/cluster.hpp"

namespace trireme {
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

Cluster read(const Json& json) { return cluster_from_json(json.dump(), "my.json"); }

// What is said of the cluster once it was changed.
std::string refusal(void (*change)(Json&)) {
    Json json = described();
    change(json);
    return validation::message_of<ConfigError>([&] { read(json); });
}

TEST(ClusterJson, IsReadAsItIsDescribed) {
    const Cluster cluster = read(described());

    EXPECT_EQ(cluster.name, "abacus-2x4");
    EXPECT_EQ(cluster.source, "a shelf");
    EXPECT_EQ(cluster.devices(), 8U);
    EXPECT_EQ(cluster.device.name, "abacus");
    EXPECT_EQ(cluster.device.flops, (std::map<std::string, double>{{"f32", 100}, {"f64", 50}}));
    EXPECT_EQ(cluster.device.bandwidth, 1000);
    EXPECT_EQ(cluster.device.memory, 64U);
    EXPECT_EQ(cluster.device.launch, 0.5);
    ASSERT_EQ(cluster.device.clocks.size(), 2U);
    EXPECT_EQ(cluster.device.clocks[1],
              (DeviceClock{.mhz = 1, .speed = 0.5, .idle_watts = 5, .busy_watts = 6}));
    EXPECT_EQ(cluster.inside, (Link{.latency = 1, .bandwidth = 30}));
    EXPECT_EQ(cluster.between, (Link{.latency = 2, .bandwidth = 10}));
    ASSERT_EQ(cluster.sources.size(), 2U);
    EXPECT_EQ(cluster.sources[0].from, "a guess");
    EXPECT_TRUE(cluster.sources[0].is_derived);
    EXPECT_EQ(cluster.sources[1].figure, "nodes");
    EXPECT_FALSE(cluster.sources[1].is_derived);
}

TEST(ClusterJson, NeedsNoLinkWhereThereIsNothingToJoin) {
    Json json = described();
    json["nodes"] = 1;
    json.erase("between");

    EXPECT_EQ(read(json).between, std::nullopt);
    EXPECT_TRUE(says(refusal([](Json& it) { it.erase("between"); }), "what joins its 2 nodes, as \"between\""));
    EXPECT_TRUE(says(refusal([](Json& it) { it.erase("inside"); }),
                     "what joins its 4 devices of a node, as \"inside\""));
}

TEST(ClusterJson, NamesThePlaceOfWhatIsWrong) {
    EXPECT_EQ(refusal([](Json& it) { it["device"]["bandwidth"] = 0; }),
              "my.json: device.bandwidth is 0; it must be above 0, in bytes a second");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["flops"] = Json::object(); }),
              "my.json: device.flops is {}; it must be the rates of some kinds of numbers, such as f32");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["flops"]["f31"] = 5; }),
              "my.json: device.flops has an unknown key \"f31\"; did you mean f32?");
    EXPECT_EQ(refusal([](Json& it) { it["devices_per_node"] = 0; }),
              "my.json: devices_per_node is 0; it must be at least 1");
    EXPECT_EQ(refusal([](Json& it) { it["nodes"] = 1 << 20; }),
              "my.json: nodes is 1048576; it must be so few that there are no more than 1048576 devices");
    EXPECT_EQ(refusal([](Json& it) { it["schema"] = 2; }),
              "my.json: schema is 2; it must be 1 for this program");
    EXPECT_EQ(refusal([](Json& it) { it["between"]["latency"] = 0.5; }),
              "my.json: between.latency is 0.5; it must be at least that inside a node, 1");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["clocks"][0]["speed"] = 0.9; }),
              "my.json: device.clocks[0].speed is 0.9; it must be 1, for the highest clock is first");
    EXPECT_EQ(refusal([](Json& it) { it["device"]["clocks"][1]["speed"] = 1; }),
              "my.json: device.clocks[1].speed is 1; it must be below that of the clock before");
    EXPECT_EQ(refusal([](Json& it) { it["sources"]["nodes"]["derived"] = "no"; }),
              "my.json: sources.nodes.derived is \"no\"; it must be true or false");
}

// A figure of ours is there only with a word on where it is from.
TEST(ClusterJson, OfOursSaysWhereEachFigureIsFrom) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(TRIREME_SOURCE_DIR "/perf/clusters")) {
        std::ifstream file(entry.path());
        const Cluster cluster =
            cluster_from_json(std::string{std::istreambuf_iterator<char>(file), {}}, entry.path().string());
        std::set<std::string> missing{"device.flops",  "device.bandwidth", "device.memory",
                                      "device.launch", "devices_per_node", "nodes"};
        if (cluster.inside) missing.insert("inside");
        if (cluster.between) missing.insert("between");
        if (!cluster.device.clocks.empty()) missing.insert("device.clocks");
        for (const FigureSource& source : cluster.sources) missing.erase(source.figure);

        EXPECT_EQ(missing, std::set<std::string>{}) << entry.path();
        EXPECT_EQ(cluster.name, entry.path().stem());
        ++files;
    }
    EXPECT_GE(files, 4U);
}

}  // namespace
}  // namespace trireme

#include <array>
#include <span>

#include "plan/json_node.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/cluster.hpp"

namespace trireme {
namespace {

constexpr std::size_t known_schema = 1;
constexpr std::size_t most_devices = std::size_t{1} << 20;  // as many as ranks of a grid
constexpr std::array<const char*, 5> numbers{"f32", "f64", "bf16", "f16", "tf32"};
constexpr std::array<const char*, 9> figures{"device.flops",  "device.bandwidth", "device.memory",
                                             "device.launch", "device.clocks",    "devices_per_node",
                                             "nodes",         "inside",           "between"};

// An object of some of these.
void require_only(const JsonNode& node, std::span<const char* const> keys) {
    const std::vector<std::string> optional(keys.begin(), keys.end());
    node.require_keys({}, optional);
}

double above_zero(const JsonNode& node, const char* unit) {
    const double value = node.number();
    if (value <= 0) node.refuse(cat("above 0, in ", unit));
    return value;
}

std::size_t at_least_one(const JsonNode& node) {
    const std::size_t value = node.whole_number();
    if (value == 0) node.refuse("at least 1");
    return value;
}

DeviceClock clock_of(const JsonNode& node) {
    const std::array<std::string, 3> needed{"mhz", "speed", "watts"};
    node.require_keys(needed);
    const JsonNode watts = node.at("watts");
    const std::array<std::string, 2> of_watts{"idle", "busy"};
    watts.require_keys(of_watts);
    return {.mhz = above_zero(node.at("mhz"), "MHz"),
            .speed = above_zero(node.at("speed"), "parts of the highest clock's"),
            .idle_watts = watts.at("idle").number(),
            .busy_watts = watts.at("busy").number()};
}

std::vector<DeviceClock> clocks_of(const JsonNode& node) {
    std::vector<DeviceClock> clocks;
    for (const JsonNode& item : node.items()) {
        clocks.push_back(clock_of(item));
        const JsonNode speed = item.at("speed");
        if (clocks.size() == 1 && clocks.front().speed != 1) speed.refuse("1, for the highest clock is first");
        if (clocks.size() == 1) continue;
        if (clocks.back().speed >= clocks[clocks.size() - 2].speed)
            speed.refuse("below that of the clock before");
    }
    if (clocks.empty()) node.refuse("a list of at least one clock");
    return clocks;
}

ClusterDevice device_of(const JsonNode& node) {
    const std::array<std::string, 5> needed{"name", "flops", "bandwidth", "memory", "launch"};
    const std::array<std::string, 1> optional{"clocks"};
    node.require_keys(needed, optional);
    ClusterDevice device{.name = node.at("name").text(), .flops = {}};
    const JsonNode flops = node.at("flops");
    require_only(flops, numbers);
    for (const char* const kind : numbers) {
        if (flops.has(kind)) device.flops[kind] = above_zero(flops.at(kind), "flops a second");
    }
    if (device.flops.empty()) flops.refuse("the rates of some kinds of numbers, such as f32");
    device.bandwidth = above_zero(node.at("bandwidth"), "bytes a second");
    device.memory = static_cast<std::size_t>(above_zero(node.at("memory"), "bytes"));
    device.launch = node.at("launch").number();
    if (node.has("clocks")) device.clocks = clocks_of(node.at("clocks"));
    return device;
}

std::optional<Link> link_of(const JsonNode& whole, const char* key, std::size_t joined, const char* what) {
    if (!whole.has(key)) {
        if (joined > 1)
            whole.refuse(cat("a cluster that says what joins its ", joined, ' ', what, ", as \"", key, '"'));
        return std::nullopt;
    }
    const JsonNode node = whole.at(key);
    const std::array<std::string, 2> needed{"latency", "bandwidth"};
    node.require_keys(needed);
    return Link{.latency = node.at("latency").number(),
                .bandwidth = above_zero(node.at("bandwidth"), "bytes a second")};
}

std::vector<FigureSource> sources_of(const JsonNode& node) {
    require_only(node, figures);
    std::vector<FigureSource> sources;
    for (const char* const figure : figures) {
        if (!node.has(figure)) continue;
        const JsonNode source = node.at(figure);
        const std::array<std::string, 1> needed{"from"};
        const std::array<std::string, 1> optional{"derived"};
        source.require_keys(needed, optional);
        sources.push_back({.figure = figure,
                           .from = source.at("from").text(),
                           .is_derived = source.has("derived") && source.at("derived").is_true()});
    }
    return sources;
}

void check_schema(const JsonNode& whole) {
    const std::array<std::string, 6> needed{"schema", "name", "source", "device", "devices_per_node", "nodes"};
    const std::array<std::string, 3> optional{"inside", "between", "sources"};
    const bool is_other = whole.has("schema") && whole.at("schema").whole_number() != known_schema;
    if (is_other) whole.at("schema").refuse(cat(known_schema, " for this program"));
    whole.require_keys(needed, optional);
}

// A message between nodes passes what is inside of them, too.
void check_latencies(const JsonNode& whole, const Cluster& cluster) {
    if (!cluster.inside || !cluster.between || cluster.inside->latency <= cluster.between->latency) return;
    whole.at("between").at("latency").refuse(cat("at least that inside a node, ", cluster.inside->latency));
}

}  // namespace

Cluster cluster_from_json(std::string_view text, const std::string& place) {
    const nlohmann::json file = json_of_file(text, place);
    const JsonNode whole(file, place);
    check_schema(whole);
    Cluster cluster{.name = whole.at("name").text(),
                    .source = whole.at("source").text(),
                    .device = device_of(whole.at("device")),
                    .devices_per_node = at_least_one(whole.at("devices_per_node")),
                    .nodes = at_least_one(whole.at("nodes")),
                    .inside = {},
                    .between = {}};
    if (cluster.devices() > most_devices) {
        whole.at("nodes").refuse(cat("so few that there are no more than ", most_devices, " devices"));
    }
    cluster.inside = link_of(whole, "inside", cluster.devices_per_node, "devices of a node");
    cluster.between = link_of(whole, "between", cluster.nodes, "nodes");
    check_latencies(whole, cluster);
    if (whole.has("sources")) cluster.sources = sources_of(whole.at("sources"));
    return cluster;
}

}  // namespace trireme

#include <array>
#include <span>

#include "plan/json_node.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/plan/cluster.hpp"

namespace trireme::plan {
namespace {

constexpr std::size_t known_schema = 1;
constexpr std::size_t max_devices = std::size_t{1} << 20;  // equals the limit on the ranks of a grid
constexpr std::array<const char*, 5> dtypes{"f32", "f64", "bf16", "f16", "tf32"};  // keys of "flops"
// The values whose sources a file may cite: those of a group of nodes, and those of the network between nodes.
constexpr std::array<const char*, 9> group_figures{"device.flops",  "device.bandwidth", "device.memory",
                                                   "device.launch", "device.clocks",    "devices_per_node",
                                                   "nodes",         "inside",           "host"};
constexpr std::array<const char*, 2> network_figures{"between", "fat_tree"};

// Throws ConfigError unless `node` is an object whose keys are all in `keys`. No key is required.
void require_only_keys(const JsonNode& node, std::span<const char* const> keys) {
    const std::vector<std::string> optional(keys.begin(), keys.end());
    node.require_keys({}, optional);
}

double parse_positive(const JsonNode& node, const char* unit) {
    const double value = node.number();
    if (value <= 0) node.refuse(cat("above 0 (", unit, ")"));
    return value;
}

std::size_t parse_count(const JsonNode& node) {
    const std::size_t value = node.whole_number();
    if (value == 0) node.refuse("at least 1");
    return value;
}

DeviceClock parse_clock(const JsonNode& node) {
    const std::array<std::string, 3> needed{"mhz", "speed", "watts"};
    node.require_keys(needed);
    const JsonNode watts = node.at("watts");
    const std::array<std::string, 2> watt_keys{"idle", "busy"};
    watts.require_keys(watt_keys);
    return {.mhz = static_cast<double>(parse_count(node.at("mhz"))),
            .speed = parse_positive(node.at("speed"), "fraction of the speed of the highest clock"),
            .idle_watts = watts.at("idle").number(),
            .busy_watts = watts.at("busy").number()};
}

std::vector<DeviceClock> parse_clocks(const JsonNode& node) {
    std::vector<DeviceClock> clocks;
    for (const JsonNode& item : node.items()) {
        clocks.push_back(parse_clock(item));
        const JsonNode speed = item.at("speed");
        const JsonNode mhz = item.at("mhz");
        const JsonNode busy_watts = item.at("watts").at("busy");
        if (clocks.back().busy_watts <= 0) busy_watts.refuse("above 0 (watts)");
        if (clocks.back().busy_watts < clocks.back().idle_watts) busy_watts.refuse("at least the idle watts");
        if (clocks.size() > 1 && clocks.back().mhz >= clocks[clocks.size() - 2].mhz)
            mhz.refuse("below the previous clock");
        if (clocks.size() == 1 && clocks.front().speed != 1)
            speed.refuse("1, because the first clock is the highest");
        if (clocks.size() == 1) continue;
        if (clocks.back().speed >= clocks[clocks.size() - 2].speed)
            speed.refuse("below the speed of the previous clock");
    }
    if (clocks.empty()) node.refuse("a list of at least one clock");
    return clocks;
}

ClusterDevice parse_device(const JsonNode& node) {
    const std::array<std::string, 5> needed{"name", "flops", "bandwidth", "memory", "launch"};
    const std::array<std::string, 1> optional{"clocks"};
    node.require_keys(needed, optional);
    ClusterDevice device{.name = node.at("name").text(), .flops = {}};
    const JsonNode flops = node.at("flops");
    require_only_keys(flops, dtypes);
    for (const char* const dtype : dtypes) {
        if (flops.has(dtype)) device.flops[dtype] = parse_positive(flops.at(dtype), "flops per second");
    }
    if (device.flops.empty()) flops.refuse("an object with the rate of at least one data type, such as f32");
    device.bandwidth = parse_positive(node.at("bandwidth"), "bytes per second");
    device.memory = static_cast<std::size_t>(parse_positive(node.at("memory"), "bytes"));
    device.launch = node.at("launch").number();
    if (node.has("clocks")) device.clocks = parse_clocks(node.at("clocks"));
    return device;
}

layout::Link parse_link(const JsonNode& node) {
    return layout::Link{.latency = node.at("latency").number(),
                        .bandwidth = parse_positive(node.at("bandwidth"), "bytes per second")};
}

// True if the JSON object `node` has `key`, the key of the link that joins `endpoint_count` devices or nodes.
// Throws ConfigError if the key is missing and there are several endpoints. The message calls the endpoints
// `endpoint_name`.
bool has_link(const JsonNode& node, const char* key, std::size_t endpoint_count, const char* endpoint_name) {
    if (node.has(key)) return true;
    if (endpoint_count > 1)
        node.refuse(
            cat("an object with \"", key, "\", the link between the ", endpoint_count, ' ', endpoint_name));
    return false;
}

// Returns true for "cores" and false for "adapters". Throws ConfigError for any other text.
bool is_cores_carrier(const JsonNode& carrier) {
    const std::string text = carrier.text();
    if (text != "cores" && text != "adapters") carrier.refuse("\"cores\" or \"adapters\"");
    return text == "cores";
}

// Parses a group of nodes. `node` is the JSON object of the group: an entry of "groups", or the top-level
// object if the file has no "groups".
NodeGroup parse_group(const JsonNode& node) {
    NodeGroup group{.device = parse_device(node.at("device")),
                    .devices_per_node = parse_count(node.at("devices_per_node")),
                    .nodes = parse_count(node.at("nodes"))};
    if (has_link(node, "inside", group.devices_per_node, "devices of a node")) {
        const JsonNode inside = node.at("inside");
        const std::array<std::string, 2> needed{"latency", "bandwidth"};
        const std::array<std::string, 1> optional{"carrier"};
        inside.require_keys(needed, optional);
        group.inside = parse_link(inside);
        group.receivers_copy_messages = inside.has("carrier") && is_cores_carrier(inside.at("carrier"));
    }
    if (node.has("host")) {
        const std::array<std::string, 2> needed{"latency", "bandwidth"};
        node.at("host").require_keys(needed);
        group.host = parse_link(node.at("host"));
    }
    return group;
}

std::vector<NodeGroup> parse_groups(const JsonNode& root) {
    if (!root.has("groups")) return {parse_group(root)};
    const std::array<std::string, 3> needed{"device", "devices_per_node", "nodes"};
    const std::array<std::string, 3> optional{"inside", "host", "sources"};
    std::vector<NodeGroup> groups;
    for (const JsonNode& node : root.at("groups").items()) {
        node.require_keys(needed, optional);
        groups.push_back(parse_group(node));
    }
    if (groups.empty()) root.at("groups").refuse("a list of at least one group of nodes");
    return groups;
}

FatTree parse_fat_tree(const JsonNode& node) {
    const std::array<std::string, 4> needed{"leaf_nodes", "spines", "latency", "bandwidth"};
    node.require_keys(needed);
    return {.leaf_nodes = parse_count(node.at("leaf_nodes")),
            .spines = parse_count(node.at("spines")),
            .up = parse_link(node)};
}

// Sets the links between nodes in `cluster`, whose groups must be set before.
void read_network(const JsonNode& root, Cluster& cluster) {
    if (root.has("fat_tree")) cluster.fat_tree = parse_fat_tree(root.at("fat_tree"));
    if (!has_link(root, "between", cluster.count_nodes(), "nodes")) return;
    const JsonNode between = root.at("between");
    const std::array<std::string, 2> needed{"latency", "bandwidth"};
    const std::array<std::string, 1> optional{"rails"};
    between.require_keys(needed, optional);
    cluster.between = parse_link(between);
    if (between.has("rails")) cluster.rails = parse_count(between.at("rails"));
}

// Parses a "sources" object. `figures` are its allowed keys. In the result, `prefix` precedes the keys.
std::vector<FigureSource> parse_sources(const JsonNode& node, std::span<const char* const> figures,
                                        const std::string& prefix) {
    require_only_keys(node, figures);
    std::vector<FigureSource> sources;
    for (const char* const figure : figures) {
        if (!node.has(figure)) continue;
        const JsonNode source = node.at(figure);
        const std::array<std::string, 1> needed{"from"};
        const std::array<std::string, 1> optional{"derived"};
        source.require_keys(needed, optional);
        sources.push_back({.figure = prefix + figure,
                           .citation = source.at("from").text(),
                           .is_derived = source.has("derived") && source.at("derived").is_true()});
    }
    return sources;
}

// Returns the sources in all "sources" objects: those of the groups, then those of the top-level object.
std::vector<FigureSource> parse_all_sources(const JsonNode& root) {
    std::vector<FigureSource> sources;
    const auto append_sources = [&](const JsonNode& node, std::span<const char* const> figures,
                                    const std::string& prefix) {
        if (!node.has("sources")) return;
        for (FigureSource& source : parse_sources(node.at("sources"), figures, prefix))
            sources.push_back(source);
    };
    std::vector<const char*> top_level_figures(network_figures.begin(), network_figures.end());
    if (!root.has("groups")) {
        top_level_figures.insert(top_level_figures.begin(), group_figures.begin(), group_figures.end());
        append_sources(root, top_level_figures, "");
        return sources;
    }
    std::size_t group = 0;
    for (const JsonNode& node : root.at("groups").items())
        append_sources(node, group_figures, cat("groups[", group++, "]."));
    append_sources(root, top_level_figures, "");
    return sources;
}

void check_schema(const JsonNode& root) {
    const bool has_unknown_schema = root.has("schema") && root.at("schema").whole_number() != known_schema;
    if (has_unknown_schema) root.at("schema").refuse(cat(known_schema, " for this program"));
    std::vector<std::string> needed{"schema", "name", "source"};
    std::vector<std::string> optional{"between", "fat_tree", "sources"};
    const bool has_groups = root.has("groups");
    for (const char* const key : {"device", "devices_per_node", "nodes"}) {
        if (!has_groups) needed.push_back(key);
        if (has_groups && root.has(key)) root.at(key).refuse("omitted here, because each group has its own");
    }
    if (has_groups) needed.push_back("groups");
    if (!has_groups) optional.insert(optional.end(), {"inside", "host"});
    root.require_keys(needed, optional);
}

// Throws ConfigError if the latency inside a node exceeds the latency between nodes. A message between nodes
// also passes links inside the two nodes. The latency between nodes includes the latencies of these links.
void check_latencies(const JsonNode& root, const Cluster& cluster) {
    if (!cluster.between) return;
    for (const NodeGroup& group : cluster.groups) {
        if (!group.inside || group.inside->latency <= cluster.between->latency) continue;
        root.at("between").at("latency").refuse(
            cat("at least the latency inside a node, ", group.inside->latency, " s"));
    }
}

}  // namespace

Cluster parse_cluster(std::string_view text, const std::string& file_name) {
    const nlohmann::json file = parse_json<nlohmann::json>(text, file_name);
    const JsonNode root(file, file_name);
    check_schema(root);
    Cluster cluster{.name = root.at("name").text(),
                    .source = root.at("source").text(),
                    .groups = parse_groups(root),
                    .sources = parse_all_sources(root)};
    if (cluster.count_devices() > max_devices) {
        const JsonNode count_node = root.has("groups") ? root.at("groups") : root.at("nodes");
        count_node.refuse(cat("limited to at most ", max_devices, " devices in total"));
    }
    read_network(root, cluster);
    check_latencies(root, cluster);
    return cluster;
}

}  // namespace trireme::plan

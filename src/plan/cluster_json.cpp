#include <array>
#include <span>

#include "plan/json_node.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/plan/cluster.hpp"

namespace trireme::plan {
namespace {

constexpr std::size_t known_schema = 1;
constexpr std::size_t most_devices = std::size_t{1} << 20;  // equals the limit on the ranks of a grid
constexpr std::array<const char*, 5> numbers{"f32", "f64", "bf16", "f16", "tf32"};
constexpr std::array<const char*, 8> figures_of_group{
    "device.flops",  "device.bandwidth", "device.memory", "device.launch",
    "device.clocks", "devices_per_node", "nodes",         "inside"};
constexpr std::array<const char*, 2> figures_between{"between", "fat_tree"};

// Requires an object that has no keys but these, all of them optional.
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

layout::Link link_of(const JsonNode& node) {
    return layout::Link{.latency = node.at("latency").number(),
                        .bandwidth = above_zero(node.at("bandwidth"), "bytes a second")};
}

// True if the node has the key. Throws ConfigError if several devices or nodes have no link.
bool has_link(const JsonNode& node, const char* key, std::size_t joined, const char* what) {
    if (node.has(key)) return true;
    if (joined > 1)
        node.refuse(cat("a cluster that says what joins its ", joined, ' ', what, ", as \"", key, '"'));
    return false;
}

bool is_of_cores(const JsonNode& carrier) {
    const std::string text = carrier.text();
    if (text != "cores" && text != "adapters") carrier.refuse("\"cores\" or \"adapters\"");
    return text == "cores";
}

// Reads the keys of a group, or the same keys of a whole cluster.
NodeGroup group_of(const JsonNode& node) {
    NodeGroup group{.device = device_of(node.at("device")),
                    .devices_per_node = at_least_one(node.at("devices_per_node")),
                    .nodes = at_least_one(node.at("nodes"))};
    if (has_link(node, "inside", group.devices_per_node, "devices of a node")) {
        const JsonNode inside = node.at("inside");
        const std::array<std::string, 2> needed{"latency", "bandwidth"};
        const std::array<std::string, 1> optional{"carrier"};
        inside.require_keys(needed, optional);
        group.inside = link_of(inside);
        group.do_cores_carry = inside.has("carrier") && is_of_cores(inside.at("carrier"));
    }
    return group;
}

std::vector<NodeGroup> groups_of(const JsonNode& whole) {
    if (!whole.has("groups")) return {group_of(whole)};
    const std::array<std::string, 3> needed{"device", "devices_per_node", "nodes"};
    const std::array<std::string, 2> optional{"inside", "sources"};
    std::vector<NodeGroup> groups;
    for (const JsonNode& node : whole.at("groups").items()) {
        node.require_keys(needed, optional);
        groups.push_back(group_of(node));
    }
    if (groups.empty()) whole.at("groups").refuse("a list of at least one group of nodes");
    return groups;
}

FatTree fat_tree_of(const JsonNode& node) {
    const std::array<std::string, 4> needed{"leaf_nodes", "spines", "latency", "bandwidth"};
    node.require_keys(needed);
    return {.leaf_nodes = at_least_one(node.at("leaf_nodes")),
            .spines = at_least_one(node.at("spines")),
            .up = link_of(node)};
}

void read_what_joins(const JsonNode& whole, Cluster& cluster) {
    if (whole.has("fat_tree")) cluster.fat_tree = fat_tree_of(whole.at("fat_tree"));
    if (!has_link(whole, "between", cluster.nodes(), "nodes")) return;
    const JsonNode between = whole.at("between");
    const std::array<std::string, 2> needed{"latency", "bandwidth"};
    const std::array<std::string, 1> optional{"rails"};
    between.require_keys(needed, optional);
    cluster.between = link_of(between);
    if (between.has("rails")) cluster.rails = at_least_one(between.at("rails"));
}

std::vector<FigureSource> sources_of(const JsonNode& node, std::span<const char* const> figures,
                                     const std::string& of) {
    require_only(node, figures);
    std::vector<FigureSource> sources;
    for (const char* const figure : figures) {
        if (!node.has(figure)) continue;
        const JsonNode source = node.at(figure);
        const std::array<std::string, 1> needed{"from"};
        const std::array<std::string, 1> optional{"derived"};
        source.require_keys(needed, optional);
        sources.push_back({.figure = of + figure,
                           .from = source.at("from").text(),
                           .is_derived = source.has("derived") && source.at("derived").is_true()});
    }
    return sources;
}

// Returns the sources of the whole cluster and of its groups, which list their own.
std::vector<FigureSource> all_sources(const JsonNode& whole) {
    std::vector<FigureSource> sources;
    const auto add = [&](const JsonNode& node, std::span<const char* const> figures, const std::string& of) {
        if (!node.has("sources")) return;
        for (FigureSource& source : sources_of(node.at("sources"), figures, of)) sources.push_back(source);
    };
    std::vector<const char*> of_whole(figures_between.begin(), figures_between.end());
    if (!whole.has("groups")) {
        of_whole.insert(of_whole.begin(), figures_of_group.begin(), figures_of_group.end());
        add(whole, of_whole, "");
        return sources;
    }
    std::size_t group = 0;
    for (const JsonNode& node : whole.at("groups").items())
        add(node, figures_of_group, cat("groups[", group++, "]."));
    add(whole, of_whole, "");
    return sources;
}

void check_schema(const JsonNode& whole) {
    const bool is_other = whole.has("schema") && whole.at("schema").whole_number() != known_schema;
    if (is_other) whole.at("schema").refuse(cat(known_schema, " for this program"));
    std::vector<std::string> needed{"schema", "name", "source"};
    std::vector<std::string> optional{"between", "fat_tree", "sources"};
    const bool has_groups = whole.has("groups");
    for (const char* const key : {"device", "devices_per_node", "nodes"}) {
        if (!has_groups) needed.push_back(key);
        if (has_groups && whole.has(key))
            whole.at(key).refuse("left out here, for each of the groups has its own");
    }
    has_groups ? needed.push_back("groups") : optional.push_back("inside");
    whole.require_keys(needed, optional);
}

// A message between nodes also passes the links inside them.
void check_latencies(const JsonNode& whole, const Cluster& cluster) {
    if (!cluster.between) return;
    for (const NodeGroup& group : cluster.groups) {
        if (!group.inside || group.inside->latency <= cluster.between->latency) continue;
        whole.at("between").at("latency").refuse(cat("at least that inside a node, ", group.inside->latency));
    }
}

}  // namespace

Cluster cluster_from_json(std::string_view text, const std::string& place) {
    const nlohmann::json file = parse_json<nlohmann::json>(text, place);
    const JsonNode whole(file, place);
    check_schema(whole);
    Cluster cluster{.name = whole.at("name").text(),
                    .source = whole.at("source").text(),
                    .groups = groups_of(whole),
                    .sources = all_sources(whole)};
    if (cluster.devices() > most_devices) {
        const JsonNode where = whole.has("groups") ? whole.at("groups") : whole.at("nodes");
        where.refuse(cat("so few that there are no more than ", most_devices, " devices"));
    }
    read_what_joins(whole, cluster);
    check_latencies(whole, cluster);
    return cluster;
}

}  // namespace trireme::plan

#include "plan/layout_json.hpp"

#include <algorithm>
#include <array>

#include "plan/json_node.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;

template <class Number>
std::vector<Number> parse_numbers(const JsonNode& node) {
    std::vector<Number> numbers;
    for (const JsonNode& item : node.items()) numbers.push_back(static_cast<Number>(item.whole_number()));
    return numbers;
}

layout::Range parse_layers(const JsonNode& node) {
    const std::vector<std::size_t> ends = parse_numbers<std::size_t>(node);
    if (ends.size() != 2 || ends[1] < ends[0]) {
        node.refuse("a list of the first layer and the layer after the last, such as [0, 8]");
    }
    return {.begin = ends[0], .count = ends[1] - ends[0]};
}

layout::ReplicaLayout parse_replica(const JsonNode& node) {
    const std::array<std::string, 1> needed{"ranks"};
    const std::array<std::string, 2> optional{"shares", "turns"};
    node.require_keys(needed, optional);
    layout::ReplicaLayout replica{.ranks = parse_numbers<int>(node.at("ranks"))};
    if (node.has("shares")) {
        replica.shares = parse_numbers<std::size_t>(node.at("shares"));
    } else {
        replica.shares.assign(replica.ranks.size(), 1);
    }
    if (node.has("turns")) replica.turns = node.at("turns").whole_number();
    return replica;
}

layout::StageLayout parse_stage(const JsonNode& node) {
    const std::array<std::string, 2> needed{"layers", "replicas"};
    node.require_keys(needed);
    layout::StageLayout stage{.layers = parse_layers(node.at("layers"))};
    for (const JsonNode& replica : node.at("replicas").items())
        stage.replicas.push_back(parse_replica(replica));
    return stage;
}

Json to_json_value(const layout::ReplicaLayout& replica) {
    Json value{{"ranks", replica.ranks}};
    const auto is_one = [](std::size_t share) { return share == 1; };
    const bool has_default_shares = replica.shares.size() == replica.ranks.size() &&
                                    std::all_of(replica.shares.begin(), replica.shares.end(), is_one);
    if (!has_default_shares) value["shares"] = replica.shares;
    if (replica.turns != 1) value["turns"] = replica.turns;
    return value;
}

}  // namespace

layout::Layout parse_layout(std::string_view text, const std::string& file_name) {
    const nlohmann::json file = parse_json<nlohmann::json>(text, file_name);
    const JsonNode root(file, file_name);
    const JsonNode layout_node = root.has("layout") ? root.at("layout") : root;
    const std::array<std::string, 2> needed{"layers", "stages"};
    const std::array<std::string, 1> optional{"idle"};
    layout_node.require_keys(needed, optional);
    layout::Layout layout{.layers = layout_node.at("layers").whole_number()};
    for (const JsonNode& stage : layout_node.at("stages").items()) layout.stages.push_back(parse_stage(stage));
    if (layout_node.has("idle")) layout.idle = parse_numbers<int>(layout_node.at("idle"));
    return layout;
}

nlohmann::ordered_json to_json_value(const layout::Layout& layout) {
    Json stages = Json::array();
    for (const layout::StageLayout& stage : layout.stages) {
        Json replicas = Json::array();
        for (const layout::ReplicaLayout& replica : stage.replicas) replicas.push_back(to_json_value(replica));
        stages.push_back({{"layers", {stage.layers.begin, stage.layers.end()}}, {"replicas", replicas}});
    }
    return {{"layers", layout.layers}, {"stages", stages}, {"idle", layout.idle}};
}

std::string to_json(const layout::Layout& layout) { return to_json_value(layout).dump(); }

Json to_json_value(const std::vector<layout::Migration>& migrations) {
    Json values = Json::array();
    for (const layout::Migration& each : migrations)
        values.push_back({{"from", each.from}, {"to", each.to}, {"parts", each.fractions}});
    return values;
}

}  // namespace trireme::plan

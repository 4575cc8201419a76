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
std::vector<Number> numbers_of(const JsonNode& node) {
    std::vector<Number> numbers;
    for (const JsonNode& item : node.items()) numbers.push_back(static_cast<Number>(item.whole_number()));
    return numbers;
}

layout::Range layers_of(const JsonNode& node) {
    const std::vector<std::size_t> ends = numbers_of<std::size_t>(node);
    if (ends.size() != 2 || ends[1] < ends[0]) {
        node.refuse("the first layer and the one after the last, such as [0, 8]");
    }
    return {.begin = ends[0], .count = ends[1] - ends[0]};
}

layout::ReplicaLayout replica_of(const JsonNode& node) {
    const std::array<std::string, 1> needed{"ranks"};
    const std::array<std::string, 2> optional{"shares", "turns"};
    node.require_keys(needed, optional);
    layout::ReplicaLayout replica{.ranks = numbers_of<int>(node.at("ranks"))};
    if (node.has("shares")) {
        replica.shares = numbers_of<std::size_t>(node.at("shares"));
    } else {
        replica.shares.assign(replica.ranks.size(), 1);
    }
    if (node.has("turns")) replica.turns = node.at("turns").whole_number();
    return replica;
}

layout::StageLayout stage_of(const JsonNode& node) {
    const std::array<std::string, 2> needed{"layers", "replicas"};
    node.require_keys(needed);
    layout::StageLayout stage{.layers = layers_of(node.at("layers"))};
    for (const JsonNode& replica : node.at("replicas").items()) stage.replicas.push_back(replica_of(replica));
    return stage;
}

Json json_value_of(const layout::ReplicaLayout& replica) {
    Json value{{"ranks", replica.ranks}};
    const auto is_one = [](std::size_t share) { return share == 1; };
    const bool are_ones = replica.shares.size() == replica.ranks.size() &&
                          std::all_of(replica.shares.begin(), replica.shares.end(), is_one);
    if (!are_ones) value["shares"] = replica.shares;
    if (replica.turns != 1) value["turns"] = replica.turns;
    return value;
}

}  // namespace

layout::Layout layout_from_json(std::string_view text, const std::string& place) {
    const nlohmann::json file = parse_json<nlohmann::json>(text, place);
    const JsonNode all(file, place);
    const JsonNode whole = all.has("layout") ? all.at("layout") : all;
    const std::array<std::string, 2> needed{"layers", "stages"};
    const std::array<std::string, 1> optional{"idle"};
    whole.require_keys(needed, optional);
    layout::Layout layout{.layers = whole.at("layers").whole_number()};
    for (const JsonNode& stage : whole.at("stages").items()) layout.stages.push_back(stage_of(stage));
    if (whole.has("idle")) layout.idle = numbers_of<int>(whole.at("idle"));
    return layout;
}

nlohmann::ordered_json json_value_of(const layout::Layout& layout) {
    Json stages = Json::array();
    for (const layout::StageLayout& stage : layout.stages) {
        Json replicas = Json::array();
        for (const layout::ReplicaLayout& replica : stage.replicas) replicas.push_back(json_value_of(replica));
        stages.push_back({{"layers", {stage.layers.begin, stage.layers.end()}}, {"replicas", replicas}});
    }
    return {{"layers", layout.layers}, {"stages", stages}, {"idle", layout.idle}};
}

std::string json_of(const layout::Layout& layout) { return json_value_of(layout).dump(); }

Json json_value_of(const std::vector<layout::Migration>& migrations) {
    Json all = Json::array();
    for (const layout::Migration& each : migrations)
        all.push_back({{"from", each.from}, {"to", each.to}, {"parts", each.parts}});
    return all;
}

}  // namespace trireme::plan

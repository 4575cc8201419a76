#include "trireme/plan/clock_costs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/json_node.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;
using NamedCosts = std::span<const std::pair<const char*, double ClockCost::*>>;

constexpr std::size_t schema_of_clock_costs = 1;
constexpr std::array<std::pair<const char*, double ClockCost::*>, 4> second_fields{
    {{"forward", &ClockCost::forward},
     {"backward", &ClockCost::backward},
     {"update", &ClockCost::update},
     {"step", &ClockCost::step_seconds}}};
constexpr std::array<std::pair<const char*, double ClockCost::*>, 2> watt_fields{
    {{"idle", &ClockCost::idle_watts}, {"busy", &ClockCost::busy_watts}}};

Json list_costs(const ClockCost& cost, NamedCosts fields) {
    Json value;
    for (const auto& [name, field] : fields) value[name] = cost.*field;
    return value;
}

Json to_json_value(const ReplicaCosts& replica) {
    Json layers = Json::array(), measured = Json::array();
    for (const layout::Range& range : replica.layers) layers.push_back({range.begin, range.count});
    for (const ClockCost& cost : replica.measured)
        measured.push_back({{"mhz", cost.mhz},
                            {"seconds", list_costs(cost, second_fields)},
                            {"watts", list_costs(cost, watt_fields)},
                            {"joules", cost.joules}});
    return {{"layers", layers},
            {"ranks", replica.ranks},
            {"device", replica.device},
            {"clocks", replica.clocks},
            {"measured", measured}};
}

double parse_above_zero(const JsonNode& node) {
    const double value = node.number();
    if (value <= 0) node.refuse("above 0");
    return value;
}

// Updates may take no time, and idle devices may draw no power. The joules of a step, which only a sweep reads,
// may be 0 if the counter of a GPU has not advanced.
void parse_costs(const JsonNode& node, NamedCosts fields, ClockCost& cost) {
    std::vector<std::string> names;
    for (const auto& [name, field] : fields) names.emplace_back(name);
    node.require_keys(names);
    for (const auto& [name, field] : fields) {
        const bool may_be_zero = field == &ClockCost::update || field == &ClockCost::idle_watts;
        cost.*field = may_be_zero ? node.at(name).number() : parse_above_zero(node.at(name));
    }
}

ClockCost parse_clock_cost(const JsonNode& node) {
    const std::array<std::string, 4> needed{"mhz", "seconds", "watts", "joules"};
    node.require_keys(needed);
    ClockCost cost{.mhz = static_cast<int>(node.at("mhz").whole_number()),
                   .joules = node.at("joules").number()};
    parse_costs(node.at("seconds"), second_fields, cost);
    parse_costs(node.at("watts"), watt_fields, cost);
    return cost;
}

layout::Range parse_range(const JsonNode& node) {
    const std::vector<JsonNode> items = node.items();
    if (items.size() != 2) node.refuse("a list of the first layer and the number of layers");
    return {.begin = items[0].whole_number(), .count = items[1].whole_number()};
}

// Clocks and measurements are listed from the highest clock to the lowest one.
void check_clocks_of_replica(const JsonNode& node, const ReplicaCosts& replica) {
    if (replica.clocks.empty()) node.at("clocks").refuse("a list with at least one clock");
    if (!std::ranges::is_sorted(replica.clocks, std::greater_equal<>()))
        node.at("clocks").refuse("a list from the highest clock to the lowest one");
    int last = 0;
    for (const JsonNode& measured : node.at("measured").items()) {
        const auto mhz = static_cast<int>(measured.at("mhz").whole_number());
        const bool is_first = last == 0;
        if (std::ranges::find(replica.clocks, mhz) == replica.clocks.end())
            measured.at("mhz").refuse("one of \"clocks\"");
        if (is_first && mhz != replica.clocks.front()) measured.at("mhz").refuse("the highest of \"clocks\"");
        if (!is_first && mhz >= last) measured.at("mhz").refuse(cat("below ", last, ", the clock before it"));
        last = mhz;
    }
    if (last == 0) node.at("measured").refuse("a list with at least one clock");
}

ReplicaCosts parse_replica(const JsonNode& node) {
    const std::array<std::string, 5> needed{"layers", "ranks", "device", "clocks", "measured"};
    node.require_keys(needed);
    ReplicaCosts replica{.ranks = node.at("ranks").whole_number(), .device = node.at("device").text()};
    for (const JsonNode& range : node.at("layers").items()) replica.layers.push_back(parse_range(range));
    for (const JsonNode& clock : node.at("clocks").items())
        replica.clocks.push_back(static_cast<int>(clock.whole_number()));
    for (const JsonNode& cost : node.at("measured").items()) replica.measured.push_back(parse_clock_cost(cost));
    check_clocks_of_replica(node, replica);
    return replica;
}

// Returns the cost at `mhz`, which lies between the clocks of `high` and `low`.
ClockCost interpolate_cost(const ClockCost& high, const ClockCost& low, int mhz) {
    const double watts_weight = static_cast<double>(mhz - low.mhz) / (high.mhz - low.mhz);
    const double seconds_weight = (1.0 / mhz - 1.0 / low.mhz) / (1.0 / high.mhz - 1.0 / low.mhz);
    const auto interpolate = [&](double ClockCost::*field, double weight) {
        return weight * (high.*field) + (1 - weight) * (low.*field);
    };
    return {.mhz = mhz,
            .forward = interpolate(&ClockCost::forward, seconds_weight),
            .backward = interpolate(&ClockCost::backward, seconds_weight),
            .update = interpolate(&ClockCost::update, seconds_weight),
            .idle_watts = interpolate(&ClockCost::idle_watts, watts_weight),
            .busy_watts = interpolate(&ClockCost::busy_watts, watts_weight),
            .joules = interpolate(&ClockCost::joules, watts_weight),
            .step_seconds = interpolate(&ClockCost::step_seconds, seconds_weight)};
}

}  // namespace

std::vector<ClockCost> interpolate_clocks(const ReplicaCosts& costs) {
    std::vector<ClockCost> all;
    std::size_t next = 0;  // first measured clock that is not above the current one
    for (const int mhz : costs.clocks) {
        while (next < costs.measured.size() && costs.measured[next].mhz > mhz) ++next;
        if (next == costs.measured.size()) break;
        const ClockCost& low = costs.measured[next];
        const bool is_measured = low.mhz == mhz;
        all.push_back(is_measured ? low : interpolate_cost(costs.measured[next - 1], low, mhz));
    }
    return all;
}

std::string to_json(const ClockCosts& costs) {
    Json replicas = Json::array();
    for (const ReplicaCosts& replica : costs.replicas) replicas.push_back(to_json_value(replica));
    Json json{{"schema", schema_of_clock_costs}, {"stages", costs.stages},
              {"parameters", costs.parameters},  {"dtype", costs.dtype},
              {"tokens", costs.tokens},          {"recompute", costs.recompute}};
    if (costs.frozen > 0) json["frozen"] = costs.frozen;
    json["replicas"] = std::move(replicas);
    return json.dump(2) + '\n';
}

ClockCosts parse_clock_costs(std::string_view text, const std::string& file_name) {
    const nlohmann::json document = parse_json<nlohmann::json>(text, file_name);
    const JsonNode root(document, file_name);
    const std::array<std::string, 7> needed{"schema", "stages",    "parameters", "dtype",
                                            "tokens", "recompute", "replicas"};
    root.require_keys(needed, std::array<std::string, 1>{"frozen"});
    if (root.at("schema").whole_number() != schema_of_clock_costs)
        root.at("schema").refuse(cat(schema_of_clock_costs, " for this program; measure the costs again"));
    ClockCosts costs{.stages = root.at("stages").whole_number(),
                     .parameters = root.at("parameters").bytes(),
                     .dtype = root.at("dtype").text(),
                     .tokens = root.at("tokens").whole_number(),
                     .recompute = root.at("recompute").text(),
                     .frozen = root.has("frozen") ? static_cast<int>(root.at("frozen").whole_number()) : 0,
                     .file = file_name};
    for (const JsonNode& replica : root.at("replicas").items())
        costs.replicas.push_back(parse_replica(replica));
    return costs;
}

}  // namespace trireme::plan

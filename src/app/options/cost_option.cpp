#include <array>
#include <utility>

#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

using NamedCost = std::pair<const char*, double schedule::StageCost::*>;

constexpr std::array<NamedCost, 6> cost_names{{{"F", &schedule::StageCost::forward},
                                               {"I", &schedule::StageCost::backward_input},
                                               {"W", &schedule::StageCost::backward_weight},
                                               {"send", &schedule::StageCost::send},
                                               {"reduce", &schedule::StageCost::reduce},
                                               {"step", &schedule::StageCost::step}}};

// The upper bound keeps sums over all stages and micro-batches finite and precise.
constexpr Range costs_range{.low = 0, .high = 1e12};

// Parses a text such as "F=1" and sets the field of `cost` that the letter or word before the '=' names.
void parse_cost(const Setting& setting, const std::string& cost_text, schedule::StageCost& cost) {
    const std::size_t equals_sign = cost_text.find('=');
    const std::string value = equals_sign == std::string::npos ? "" : cost_text.substr(equals_sign + 1);
    if (cost_text.substr(0, equals_sign) == "clocked") {
        cost.clocked = parse_number({setting.name + " clocked", value, setting.source}, {.low = 0, .high = 1});
        return;
    }
    for (const auto& [name, field] : cost_names) {
        if (equals_sign == std::string::npos || cost_text.substr(0, equals_sign) != name) continue;
        cost.*field = parse_number({cat(setting.name, ' ', name), value, setting.source}, costs_range);
        return;
    }
    refuse(setting, "costs such as F=1,I=1,W=1,send=0,reduce=0,step=0, with ; between stages");
}

std::vector<schedule::StageCost> parse_costs(const Setting& setting) {
    std::vector<schedule::StageCost> costs;
    for (const std::string& stage : split_text(setting.value, ';')) {
        schedule::StageCost& cost = costs.emplace_back();
        for (const std::string& cost_text : split_text(stage, ',')) parse_cost(setting, cost_text, cost);
    }
    return costs;
}

std::string format_costs(const std::vector<schedule::StageCost>& costs) {
    std::string text;
    for (const schedule::StageCost& cost : costs) {
        if (!text.empty()) text += ';';
        const char* separator = "";
        for (const auto& [name, field] : cost_names) {
            text += cat(separator, name, '=', format_number(cost.*field));
            separator = ",";
        }
        if (cost.clocked != 1) text += ",clocked=" + format_number(cost.clocked);
    }
    return text;
}

}  // namespace

Option make_cost_option(std::vector<schedule::StageCost>& costs) {
    return {
        .description =
            {"cost", "COSTS",
             "relative costs in place of --profile: forward pass (F), input gradients (I), weight gradients "
             "(W), a message (send), gradient all-reduce (reduce), optimizer step (step); fraction of a pass "
             "that slows down at lower clocks (clocked); separate stages by ';'. If neither is set: "
             "F=1,I=1,W=1,send=0,reduce=0,step=0, or counted FLOPs with --compare"},
        .set = [&costs](const Setting& setting) { costs = parse_costs(setting); },
        .get = [&costs] { return format_costs(costs); }};
}

}  // namespace trireme::app

#include <array>
#include <utility>

#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

using Cost = std::pair<const char*, double schedule::StageCost::*>;

constexpr std::array<Cost, 6> cost_names{{{"F", &schedule::StageCost::forward},
                                          {"I", &schedule::StageCost::backward_input},
                                          {"W", &schedule::StageCost::backward_weight},
                                          {"send", &schedule::StageCost::send},
                                          {"reduce", &schedule::StageCost::reduce},
                                          {"step", &schedule::StageCost::step}}};

// The limit keeps sums over all stages and micro-batches finite and precise.
constexpr Range costs_range{.low = 0, .high = 1e12};

// Reads a text such as "F=1" into `cost`.
void read_cost(const Setting& whole, const std::string& part, schedule::StageCost& cost) {
    const std::size_t sign = part.find('=');
    for (const auto& [name, field] : cost_names) {
        if (sign == std::string::npos || part.substr(0, sign) != name) continue;
        cost.*field =
            read_number({cat(whole.name, ' ', name), part.substr(sign + 1), whole.place}, costs_range);
        return;
    }
    refuse(whole, "costs such as F=1,I=1,W=1,send=0, with ; between stages");
}

std::vector<schedule::StageCost> read_costs(const Setting& setting) {
    std::vector<schedule::StageCost> costs;
    for (const std::string& stage : parts_of(setting.value, ';')) {
        schedule::StageCost& cost = costs.emplace_back();
        for (const std::string& part : parts_of(stage, ',')) read_cost(setting, part, cost);
    }
    return costs;
}

std::string print_costs(const std::vector<schedule::StageCost>& costs) {
    std::string text;
    for (const schedule::StageCost& cost : costs) {
        if (!text.empty()) text += ';';
        const char* mark = "";
        for (const auto& [name, field] : cost_names) {
            text += cat(mark, name, '=', print_number(cost.*field));
            mark = ",";
        }
    }
    return text;
}

}  // namespace

Option cost_option(std::vector<schedule::StageCost>& costs) {
    return {
        .words =
            {"cost", "COSTS",
             "relative costs in place of --profile: forward pass F, input gradients I, weight gradients W, a "
             "message, the gradient all-reduce and the optimizer step; separate stages by ';'. If neither is "
             "set: F=1,I=1,W=1,send=0,reduce=0,step=0, and counted FLOPs with --compare"},
        .set = [&costs](const Setting& setting) { costs = read_costs(setting); },
        .get = [&costs] { return print_costs(costs); }};
}

}  // namespace trireme::app

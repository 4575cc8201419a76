#include "app/plan_options.hpp"

#include <array>
#include <utility>

#include "app/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

using Cost = std::pair<const char*, double StageCost::*>;

constexpr std::array<Cost, 4> cost_names{{{"F", &StageCost::forward},
                                          {"I", &StageCost::backward_input},
                                          {"W", &StageCost::backward_weight},
                                          {"send", &StageCost::send}}};

// What `mark` parts; at least one.
std::vector<std::string> parts_of(const std::string& text, char mark) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = text.find(mark); end != std::string::npos; end = text.find(mark, begin)) {
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

// "F=1" into `cost`.
void read_cost(const Setting& whole, const std::string& part, StageCost& cost) {
    const std::size_t sign = part.find('=');
    for (const auto& [name, field] : cost_names) {
        if (sign == std::string::npos || part.substr(0, sign) != name) continue;
        cost.*field =
            read_number({cat(whole.name, ' ', name), part.substr(sign + 1), whole.place}, at_least(0));
        return;
    }
    refuse(whole, "costs such as F=1,I=1,W=1,send=0, with ; between stages");
}

std::vector<StageCost> read_costs(const Setting& setting) {
    std::vector<StageCost> costs;
    for (const std::string& stage : parts_of(setting.value, ';')) {
        StageCost& cost = costs.emplace_back();
        for (const std::string& part : parts_of(stage, ',')) read_cost(setting, part, cost);
    }
    return costs;
}

std::string print_costs(const std::vector<StageCost>& costs) {
    std::string text;
    for (const StageCost& cost : costs) {
        if (!text.empty()) text += ';';
        const char* mark = "";
        for (const auto& [name, field] : cost_names) {
            text += cat(mark, name, '=', print_number(cost.*field));
            mark = ",";
        }
    }
    return text;
}

Option cost_option(std::vector<StageCost>& costs) {
    return {.words = {"cost", "COSTS",
                      "of forward, gradient of the input, gradient of the weights, and a message; for all "
                      "stages, or for each, with ; between them"},
            .set = [&costs](const Setting& setting) { costs = read_costs(setting); },
            .get = [&costs] { return print_costs(costs); }};
}

}  // namespace

OptionGroup plan_options(PlanConfig& config) {
    return {"plan",
            {
                choice({"format", "", "words, JSON, programs for --schedule, or a picture"}, config.format,
                       {{"text", PlanFormat::text},
                        {"json", PlanFormat::json},
                        {"csv", PlanFormat::csv},
                        {"svg", PlanFormat::svg}}),
                text({"output", "FILE", "where it goes; standard output if not given"}, config.output),
                cost_option(config.costs),
            }};
}

}  // namespace trireme::app

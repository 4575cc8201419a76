#include "trireme/tools/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/plan/closed_form.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/rank_classes.hpp"
#include "trireme/setup/stage_costs.hpp"

namespace trireme::tools {
namespace {

using Json = nlohmann::ordered_json;

// A schedule and its number of stages per rank.
struct Candidate {
    std::string schedule;
    int chunks = 1;

    std::string name() const { return chunks == 1 ? schedule : cat(schedule, ":", chunks); }
};

constexpr int usual_chunks = 2;

Candidate candidate_of(const std::string& wish, int chunks_option) {
    const std::size_t colon = wish.rfind(':');
    Candidate candidate{.schedule = wish.substr(0, colon)};
    if (colon == std::string::npos) {
        const schedule::Schedule* const schedule = schedule::find_schedule(wish);
        if (schedule == nullptr) return candidate;
        if (schedule->shape == schedule::ScheduleShape::grid)
            candidate.chunks = std::max(usual_chunks, chunks_option);
        if (schedule->shape == schedule::ScheduleShape::v) candidate.chunks = usual_chunks;
        return candidate;
    }
    const char* const end = wish.data() + wish.size();
    const auto [after, error] = std::from_chars(wish.data() + colon + 1, end, candidate.chunks);
    if (error == std::errc{} && after == end && candidate.chunks >= 1) return candidate;
    throw ConfigError(cat("--compare ", wish, " has no number of stages after its colon; write interleaved:2"));
}

std::vector<Candidate> candidates_of(const PlanConfig& config) {
    std::vector<Candidate> candidates;
    for (const std::string& wish : config.compare) {
        if (wish == "all") {
            for (const schedule::Schedule& schedule : schedule::schedules()) {
                candidates.push_back(candidate_of(schedule.name, config.run.schedule.chunks));
            }
            candidates.push_back(candidate_of(schedule::searched_schedule, config.run.schedule.chunks));
        } else {
            candidates.push_back(candidate_of(wish, config.run.schedule.chunks));
            setup::check_schedule_name(candidates.back().schedule);
        }
    }
    return candidates;
}

// Returns the costs of stages after each rank's layers have been cut into `chunks` stages.
std::vector<schedule::StageCost> divided(const std::vector<schedule::StageCost>& costs, int chunks) {
    std::vector<schedule::StageCost> parts;
    const int copies = costs.size() == 1 ? 1 : chunks;  // a single cost applies to all stages
    for (schedule::StageCost cost : costs) {
        for (double schedule::StageCost::*part :
             {&schedule::StageCost::forward, &schedule::StageCost::backward_input,
              &schedule::StageCost::backward_weight, &schedule::StageCost::reduce,
              &schedule::StageCost::step}) {
            cost.*part /= chunks;
        }
        parts.insert(parts.end(), static_cast<std::size_t>(copies), cost);
    }
    return parts;
}

// The first forecast finds the stages. Their arithmetic is the cost in the second one.
Forecast foreseen_by_arithmetic(PlanConfig config) {
    config.run.costs.stages = foresee(config).counted;
    return foresee(config);
}

Compared foreseen(PlanConfig config, const Candidate& candidate) {
    const bool is_grid = config.run.layout.layout.empty();
    const bool is_measured = setup::are_measured(config.run.costs);
    std::vector<schedule::StageCost>& costs = config.run.costs.stages;
    const bool is_counted = !is_measured && costs.empty();
    config.run.schedule.schedule = candidate.schedule;
    config.run.schedule.chunks = is_grid ? candidate.chunks : 1;
    if (is_grid && !costs.empty()) costs = divided(costs, candidate.chunks);
    Compared compared{.name = candidate.name(), .forecast = {}, .refusal = {}, .unit = "cost units"};
    if (is_counted) compared.unit = "GFLOP";
    if (is_measured) compared.unit = "s";
    try {
        compared.forecast = is_counted ? foreseen_by_arithmetic(config) : foresee(config);
        if (compared.forecast->fit && !compared.forecast->fit->fits)
            throw ConfigError(compared.forecast->fit->words);
    } catch (const ConfigError& refusal) {
        compared.forecast.reset();
        compared.refusal = refusal.what();
    }
    return compared;
}

// Returns the work of the busiest team, the lower bound of a step.
double least_seconds(const Forecast& forecast) { return std::ranges::max(forecast.step.busy); }

// Returns the largest fraction of a step in which a rank idles, and the first such rank.
std::pair<double, int> worst_idle(const Forecast& forecast) {
    if (!forecast.plan.layout.idle.empty()) return {1, std::ranges::min(forecast.plan.layout.idle)};
    const auto least = std::ranges::min_element(forecast.step.busy);
    const auto team = static_cast<std::size_t>(least - forecast.step.busy.begin());
    return {1 - *least / forecast.step.seconds, forecast.plan.teams[team].ranks.front()};
}

// Returns the maximum memory among the ranks that hold the same stages, in the order of the stages.
std::vector<std::size_t> bytes_by_stages(const Forecast& forecast) {
    std::map<std::vector<int>, std::size_t> most;
    const std::vector<int> teams = setup::teams_of_ranks(forecast.plan.teams, forecast.memory.size());
    for (std::size_t rank = 0; rank < teams.size(); ++rank) {
        if (teams[rank] < 0) continue;
        std::size_t& bytes = most[forecast.plan.teams[static_cast<std::size_t>(teams[rank])].stages];
        bytes = std::max(bytes, forecast.memory[rank].total());
    }
    std::vector<std::size_t> bytes;
    for (const auto& [stages, value] : most) bytes.push_back(value);
    return bytes;
}

std::string memory_text(const Forecast& forecast) {
    constexpr std::size_t most_shown = 8;
    std::vector<std::size_t> all = bytes_by_stages(forecast);
    const bool is_cut = all.size() > most_shown;
    if (is_cut) all = {*std::max_element(all.begin(), all.end())};
    std::string text = is_cut ? "at most " : "";
    for (std::size_t i = 0; i < all.size(); ++i) text += (i > 0 ? " / " : "") + bytes_text(all[i]);
    return text;
}

std::string row_of(const Compared& compared, std::size_t name_width) {
    const Forecast& forecast = *compared.forecast;
    const std::optional<double> closed = closed_form_bubble(forecast.plan, forecast.costs);
    const auto [idle, rank] = worst_idle(forecast);
    return fmt::format("{:{}}  {:>10.6g}  {:>10.6g}  {:>6.1f} %  {:>8}  {:>6.1f} % {:>6}  {:>7}  {}\n",
                       compared.name, name_width, forecast.step.seconds, least_seconds(forecast),
                       100 * bubble_of(forecast), closed ? fmt::format("{:.1f} %", 100 * *closed) : "-",
                       100 * idle, fmt::format("({})", rank), setup::most_weight_versions(forecast.plan),
                       memory_text(forecast));
}

std::string number_text(double number) { return fmt::format("{:.4g}", number); }

// Returns "F=2,I=2,W=2", once if all stages are equal, otherwise per stage. Many unequal
// stages are only counted.
std::string costs_text(const std::vector<schedule::StageCost>& costs) {
    constexpr std::size_t most_shown = 8;
    std::vector<std::string> stages;
    for (const schedule::StageCost& cost : costs)
        stages.push_back(cat("F=", number_text(cost.forward), ",I=", number_text(cost.backward_input),
                             ",W=", number_text(cost.backward_weight),
                             cost.send > 0 ? cat(",send=", number_text(cost.send)) : ""));
    if (std::ranges::adjacent_find(stages, std::not_equal_to<>()) == stages.end()) return stages.front();
    if (stages.size() > most_shown) return cat("of ", stages.size(), " stages");
    return fmt::format("{}", fmt::join(stages, ";"));
}

// The line names the unit and the origin of the costs, and shows those of one schedule.
std::string costs_line(const Compared& compared) {
    const char* const origin = compared.unit == "s"       ? "as measured by --profile"
                               : compared.unit == "GFLOP" ? "counted from the arithmetic of a micro-batch"
                                                          : "as --cost says";
    return fmt::format("costs are in {}, {}: {} for {}\n", compared.unit, origin,
                       costs_text(compared.forecast->costs), compared.name);
}

std::string legend(const std::string& unit) {
    return fmt::format(
        "\nstep      time of a step in {}\n"
        "at least  work of the busiest rank: no schedule of these stages takes less\n"
        "bubble    share of the step in which ranks idle, on average; formula: by the schedule's closed form,\n"
        "          which holds for equal stages\n"
        "worst     the same of the rank that idles most, and its number\n"
        "weights   versions of the weights that a rank keeps\n"
        "peak      memory of the ranks of each stage\n",
        unit);
}

}  // namespace

std::vector<Compared> compare(const PlanConfig& config) {
    std::vector<Compared> schedules;
    for (const Candidate& candidate : candidates_of(config)) schedules.push_back(foreseen(config, candidate));
    const bool is_any = std::any_of(schedules.begin(), schedules.end(),
                                    [](const Compared& one) { return one.forecast.has_value(); });
    if (!is_any) throw ConfigError(cat("none of the schedules can be planned: ", schedules.front().refusal));
    return schedules;
}

std::string to_string(const std::vector<Compared>& schedules) {
    std::size_t width = 8;
    for (const Compared& one : schedules) width = std::max(width, one.name.size());
    std::string rows;
    std::string refusals;
    const Compared* first = nullptr;
    for (const Compared& one : schedules) {
        if (one.forecast) {
            rows += row_of(one, width);
            if (first == nullptr) first = &one;
        } else {
            refusals += fmt::format("\n{}: {}", one.name, one.refusal);
        }
    }
    const std::string head =
        fmt::format("{:{}}  {:>10}  {:>10}  {:>8}  {:>8}  {:>15}  {:>7}  {}\n", "schedule", width, "step",
                    "at least", "bubble", "formula", "worst idle", "weights", "peak");
    return fmt::format("{}, {}, {} a step\n", first->forecast->model.name,
                       counted(first->forecast->memory.size(), "rank"),
                       counted(static_cast<std::size_t>(first->forecast->plan.microbatches()), "micro-batch")) +
           costs_line(*first) + '\n' + head + rows + legend(first->unit) +
           (refusals.empty() ? "" : refusals + '\n');
}

std::string json_of(const std::vector<Compared>& schedules) {
    Json rows = Json::array();
    for (const Compared& one : schedules) {
        Json row{{"schedule", one.name}};
        if (one.forecast) {
            row["unit"] = one.unit;
            row["seconds"] = one.forecast->step.seconds;
            row["at_least"] = least_seconds(*one.forecast);
            const auto [idle, rank] = worst_idle(*one.forecast);
            row["worst_idle"] = {{"share", idle}, {"rank", rank}};
            row["bubble"] = bubble_of(*one.forecast);
            const std::optional<double> closed = closed_form_bubble(one.forecast->plan, one.forecast->costs);
            if (closed) row["closed_form_bubble"] = *closed;
            row["weight_versions"] = setup::most_weight_versions(one.forecast->plan);
            row["peak_bytes"] = bytes_by_stages(*one.forecast);
        } else {
            row["refused"] = one.refusal;
        }
        rows.push_back(std::move(row));
    }
    return rows.dump(2) + '\n';
}

std::string csv_of(const std::vector<Compared>& schedules) {
    std::string text = "schedule,unit,seconds,at_least,bubble,worst_idle,weight_versions,most_peak_bytes\n";
    for (const Compared& one : schedules) {
        if (!one.forecast) continue;
        const std::vector<std::size_t> bytes = bytes_by_stages(*one.forecast);
        text += fmt::format("{},{},{},{},{},{},{},{}\n", one.name, one.unit, one.forecast->step.seconds,
                            least_seconds(*one.forecast), bubble_of(*one.forecast),
                            worst_idle(*one.forecast).first, setup::most_weight_versions(one.forecast->plan),
                            *std::max_element(bytes.begin(), bytes.end()));
    }
    return text;
}

}  // namespace trireme::tools

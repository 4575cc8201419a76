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

constexpr int default_chunks = 2;  // stages per rank in the shapes `grid` and `two_chunk_v`

// Parses an entry of --compare: the name of a schedule, or the name, a colon and the number of stages per rank.
// If the entry has no number, the number depends on the ScheduleShape. For `grid`, it is the larger one of
// `chunks_option` (--chunks) and 2. For `two_chunk_v`, it is 2. For all other shapes, it is 1. Throws
// ConfigError if no positive number follows a colon. Does not check the name.
Candidate parse_candidate(const std::string& entry, int chunks_option) {
    const std::size_t colon = entry.rfind(':');
    Candidate candidate{.schedule = entry.substr(0, colon)};
    if (colon == std::string::npos) {
        const schedule::Schedule* const schedule = schedule::find_schedule(entry);
        if (schedule == nullptr) return candidate;
        if (schedule->shape == schedule::ScheduleShape::grid)
            candidate.chunks = std::max(default_chunks, chunks_option);
        if (schedule->shape == schedule::ScheduleShape::two_chunk_v) candidate.chunks = default_chunks;
        return candidate;
    }
    const char* const end = entry.data() + entry.size();
    const auto [number_end, error] = std::from_chars(entry.data() + colon + 1, end, candidate.chunks);
    if (error == std::errc{} && number_end == end && candidate.chunks >= 1) return candidate;
    throw ConfigError(
        cat("--compare ", entry,
            " has no positive number of stages after its colon; write, for example, interleaved:2"));
}

std::vector<Candidate> list_candidates(const PlanConfig& config) {
    std::vector<Candidate> candidates;
    for (const std::string& entry : config.compare) {
        if (entry == "all") {
            for (const schedule::Schedule& schedule : schedule::list_schedules()) {
                candidates.push_back(parse_candidate(schedule.name, config.run.schedule.chunks));
            }
            candidates.push_back(parse_candidate(schedule::searched_schedule_name, config.run.schedule.chunks));
        } else {
            candidates.push_back(parse_candidate(entry, config.run.schedule.chunks));
            setup::check_schedule_name(candidates.back().schedule);
        }
    }
    return candidates;
}

// Divides each stage into `chunks` equal stages, and returns the costs of the smaller stages in model order. If
// `costs` has a single entry for all stages, the result also has a single entry. The cost of a message is not
// divided, because the number of layers of a stage does not change the size of its messages.
std::vector<schedule::StageCost> divide_costs(const std::vector<schedule::StageCost>& costs, int chunks) {
    std::vector<schedule::StageCost> divided_costs;
    const int stages_per_cost = costs.size() == 1 ? 1 : chunks;
    for (schedule::StageCost cost : costs) {
        for (double schedule::StageCost::*field :
             {&schedule::StageCost::forward, &schedule::StageCost::backward_input,
              &schedule::StageCost::backward_weight, &schedule::StageCost::reduce,
              &schedule::StageCost::step}) {
            cost.*field /= chunks;
        }
        divided_costs.insert(divided_costs.end(), static_cast<std::size_t>(stages_per_cost), cost);
    }
    return divided_costs;
}

// Makes a first forecast, and takes the costs of each stage from the member that `costs` selects. Returns a
// second forecast, in which these costs replace --cost. Two forecasts are needed: a forecast does not use
// counted costs by itself, and a search for programs reads costs only from --cost or --profile.
Forecast forecast_with_costs(PlanConfig config, std::vector<schedule::StageCost> Forecast::*costs) {
    config.run.costs.stages = make_forecast(config).*costs;
    return make_forecast(config);
}

// The result has a refusal if the candidate cannot be planned, or if a rank exceeds the memory of its device.
ComparedSchedule forecast_schedule(PlanConfig config, const Candidate& candidate) {
    const bool has_layout_file = !config.run.layout.layout.empty();
    std::vector<schedule::StageCost>& costs = config.run.costs.stages;
    const bool has_predicted_costs = costs.empty() && !config.run.costs.cluster.empty();
    const bool has_measured_costs = !has_predicted_costs && setup::uses_profile(config.run.costs);
    const bool has_counted_costs = !has_predicted_costs && !has_measured_costs && costs.empty();
    config.run.schedule.schedule = candidate.schedule;
    config.run.schedule.chunks = has_layout_file ? 1 : candidate.chunks;
    if (!has_layout_file && !costs.empty()) costs = divide_costs(costs, candidate.chunks);
    ComparedSchedule compared{.name = candidate.name()};
    if (has_predicted_costs) {
        compared.unit = "s";
        compared.cost_origin = "predicted for the devices of --cluster";
    } else if (has_measured_costs) {
        compared.unit = "s";
        compared.cost_origin = "as measured by --profile";
    } else if (has_counted_costs) {
        compared.unit = "GFLOP";
        compared.cost_origin = "counted from the arithmetic of a micro-batch";
    }
    try {
        if (has_counted_costs) {
            compared.forecast = forecast_with_costs(config, &Forecast::counted_costs);
        } else if (has_predicted_costs && candidate.schedule == schedule::searched_schedule_name) {
            compared.forecast = forecast_with_costs(config, &Forecast::costs);
        } else {
            compared.forecast = make_forecast(config);
        }
        if (compared.forecast->memory_fit && !compared.forecast->memory_fit->fits)
            throw ConfigError(compared.forecast->memory_fit->description);
    } catch (const ConfigError& refusal) {
        compared.forecast.reset();
        compared.refusal = refusal.what();
    }
    return compared;
}

// Returns the busy time of the busiest team, which is a lower bound of the step time.
double find_min_step_time(const Forecast& forecast) { return std::ranges::max(forecast.step.busy_times); }

// Returns the largest fraction of a step in which a rank idles, and a rank that idles for this fraction. A rank
// that the layout does not use idles for the whole step.
std::pair<double, int> find_worst_idle(const Forecast& forecast) {
    if (!forecast.plan.layout.idle.empty()) return {1, std::ranges::min(forecast.plan.layout.idle)};
    const auto min_busy = std::ranges::min_element(forecast.step.busy_times);
    const auto team = static_cast<std::size_t>(min_busy - forecast.step.busy_times.begin());
    return {1 - *min_busy / forecast.step.seconds, forecast.plan.teams[team].ranks.front()};
}

// Groups the ranks by the stages that they hold. Returns one entry per group, in the order of the stages: the
// largest number of bytes that a rank of the group needs. Idle ranks are in no group.
std::vector<std::size_t> find_peak_bytes(const Forecast& forecast) {
    std::map<std::vector<int>, std::size_t> max_bytes_by_stages;
    const std::vector<int> teams = setup::find_teams_of_ranks(forecast.plan.teams, forecast.memory.size());
    for (std::size_t rank = 0; rank < teams.size(); ++rank) {
        if (teams[rank] < 0) continue;
        std::size_t& bytes =
            max_bytes_by_stages[forecast.plan.teams[static_cast<std::size_t>(teams[rank])].stages];
        bytes = std::max(bytes, forecast.memory[rank].total());
    }
    std::vector<std::size_t> bytes;
    for (const auto& [stages, max_bytes] : max_bytes_by_stages) bytes.push_back(max_bytes);
    return bytes;
}

// Returns "1.2 GB / 1.0 GB", the values of find_peak_bytes(); if there are more than eight, "at most 1.2 GB".
std::string format_memory(const Forecast& forecast) {
    constexpr std::size_t max_listed = 8;
    std::vector<std::size_t> peak_bytes = find_peak_bytes(forecast);
    const bool is_shortened = peak_bytes.size() > max_listed;
    if (is_shortened) peak_bytes = {*std::max_element(peak_bytes.begin(), peak_bytes.end())};
    std::string text = is_shortened ? "at most " : "";
    for (std::size_t i = 0; i < peak_bytes.size(); ++i)
        text += (i > 0 ? " / " : "") + format_bytes(peak_bytes[i]);
    return text;
}

std::string format_row(const ComparedSchedule& compared, std::size_t name_width) {
    const Forecast& forecast = *compared.forecast;
    const std::optional<double> closed_form = compute_closed_form_bubble(forecast.plan, forecast.costs);
    const auto [max_idle_fraction, worst_rank] = find_worst_idle(forecast);
    return fmt::format("{:{}}  {:>10.6g}  {:>10.6g}  {:>6.1f} %  {:>8}  {:>6.1f} % {:>6}  {:>7}  {}\n",
                       compared.name, name_width, forecast.step.seconds, find_min_step_time(forecast),
                       100 * compute_bubble(forecast),
                       closed_form ? fmt::format("{:.1f} %", 100 * *closed_form) : "-", 100 * max_idle_fraction,
                       fmt::format("({})", worst_rank), setup::find_max_weight_versions(forecast.plan),
                       format_memory(forecast));
}

std::string format_number(double number) { return fmt::format("{:.4g}", number); }

// Returns, for example, "F=2,I=2,W=2": the costs of the forward pass and of both halves of the backward pass
// (gradient of the input, gradient of the weights). If messages take time, ",send=1" follows. If the costs of
// the stages differ, returns one text per stage, separated by semicolons. If there are also more than eight
// stages, returns, for example, "too many to list (12 stages)" instead.
std::string format_costs(const std::vector<schedule::StageCost>& costs) {
    constexpr std::size_t max_listed = 8;
    std::vector<std::string> stage_texts;
    for (const schedule::StageCost& cost : costs)
        stage_texts.push_back(cat("F=", format_number(cost.forward), ",I=", format_number(cost.backward_input),
                                  ",W=", format_number(cost.backward_weight),
                                  cost.send > 0 ? cat(",send=", format_number(cost.send)) : ""));
    if (std::ranges::adjacent_find(stage_texts, std::not_equal_to<>()) == stage_texts.end())
        return stage_texts.front();
    if (stage_texts.size() > max_listed) return cat("too many to list (", stage_texts.size(), " stages)");
    return fmt::format("{}", fmt::join(stage_texts, ";"));
}

// Returns a line with the unit and the origin of the costs, and the costs of one schedule.
std::string describe_costs(const ComparedSchedule& compared) {
    return fmt::format("costs are in {}, {}: {} for {}\n", compared.unit, compared.cost_origin,
                       format_costs(compared.forecast->costs), compared.name);
}

std::string make_legend(const std::string& unit) {
    return fmt::format(
        "\nF, I, W     costs of a stage: forward pass, gradients of its input, gradients of its weights\n"
        "step        time of a step in {0}\n"
        "at least    work of the busiest rank in {0}: no schedule of these stages takes less\n"
        "bubble      fraction of the step in which ranks idle, on average\n"
        "formula     the bubble by the closed form of the schedule, which holds for equal stages; -: none\n"
        "worst idle  fraction of the step in which the rank in parentheses idles; no rank idles more\n"
        "weights     largest number of versions of its weights that a rank keeps\n"
        "peak        memory of the fullest rank among those with the same stages, in the order of the stages\n",
        unit);
}

}  // namespace

std::vector<ComparedSchedule> compare_schedules(const PlanConfig& config) {
    if (config.run.policy.energy != config::Energy::baseline)
        throw ConfigError("--compare compares schedules at the highest clock; remove --energy");
    std::vector<ComparedSchedule> schedules;
    for (const Candidate& candidate : list_candidates(config))
        schedules.push_back(forecast_schedule(config, candidate));
    const bool has_any_forecast =
        std::any_of(schedules.begin(), schedules.end(),
                    [](const ComparedSchedule& compared) { return compared.forecast.has_value(); });
    if (!has_any_forecast)
        throw ConfigError(cat("none of the schedules can be planned; ", schedules.front().name, ": ",
                              schedules.front().refusal));
    return schedules;
}

std::string to_string(const std::vector<ComparedSchedule>& schedules) {
    std::size_t name_width = 8;  // of the header "schedule"
    for (const ComparedSchedule& compared : schedules) name_width = std::max(name_width, compared.name.size());
    std::string rows;
    std::string refusals;
    const ComparedSchedule* first_planned = nullptr;
    for (const ComparedSchedule& compared : schedules) {
        if (compared.forecast) {
            rows += format_row(compared, name_width);
            if (first_planned == nullptr) first_planned = &compared;
        } else {
            refusals += fmt::format("\n{}: {}", compared.name, compared.refusal);
        }
    }
    const std::string header =
        fmt::format("{:{}}  {:>10}  {:>10}  {:>8}  {:>8}  {:>15}  {:>7}  {}\n", "schedule", name_width, "step",
                    "at least", "bubble", "formula", "worst idle", "weights", "peak");
    return fmt::format("{}, {}, {} a step\n", first_planned->forecast->model.name,
                       format_count(first_planned->forecast->memory.size(), "rank"),
                       format_count(static_cast<std::size_t>(first_planned->forecast->plan.microbatches()),
                                    "micro-batch")) +
           describe_costs(*first_planned) + '\n' + header + rows + make_legend(first_planned->unit) +
           (refusals.empty() ? "" : refusals + '\n');
}

std::string to_json(const std::vector<ComparedSchedule>& schedules) {
    Json rows = Json::array();
    for (const ComparedSchedule& compared : schedules) {
        Json row{{"schedule", compared.name}};
        if (compared.forecast) {
            row["unit"] = compared.unit;
            row["seconds"] = compared.forecast->step.seconds;
            row["at_least"] = find_min_step_time(*compared.forecast);
            const auto [max_idle_fraction, worst_rank] = find_worst_idle(*compared.forecast);
            row["worst_idle"] = {{"share", max_idle_fraction}, {"rank", worst_rank}};
            row["bubble"] = compute_bubble(*compared.forecast);
            const std::optional<double> closed_form =
                compute_closed_form_bubble(compared.forecast->plan, compared.forecast->costs);
            if (closed_form) row["closed_form_bubble"] = *closed_form;
            row["weight_versions"] = setup::find_max_weight_versions(compared.forecast->plan);
            row["peak_bytes"] = find_peak_bytes(*compared.forecast);
        } else {
            row["refused"] = compared.refusal;
        }
        rows.push_back(std::move(row));
    }
    return rows.dump(2) + '\n';
}

std::string to_csv(const std::vector<ComparedSchedule>& schedules) {
    std::string text = "schedule,unit,seconds,at_least,bubble,worst_idle,weight_versions,most_peak_bytes\n";
    for (const ComparedSchedule& compared : schedules) {
        if (!compared.forecast) continue;
        const std::vector<std::size_t> bytes = find_peak_bytes(*compared.forecast);
        text += fmt::format("{},{},{},{},{},{},{},{}\n", compared.name, compared.unit,
                            compared.forecast->step.seconds, find_min_step_time(*compared.forecast),
                            compute_bubble(*compared.forecast), find_worst_idle(*compared.forecast).first,
                            setup::find_max_weight_versions(compared.forecast->plan),
                            *std::max_element(bytes.begin(), bytes.end()));
    }
    return text;
}

}  // namespace trireme::tools

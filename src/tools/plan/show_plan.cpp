#include "trireme/tools/show_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "tools/plan/closed_form.hpp"
#include "tools/plan/freeze_periods.hpp"
#include "tools/plan/steps_json.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/version.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/rank_classes.hpp"

namespace trireme::tools {
namespace {

using Json = nlohmann::ordered_json;

// Returns the team index of each rank, or -1 for an idle rank.
std::vector<int> find_teams_of_ranks(const Forecast& forecast) {
    return setup::find_teams_of_ranks(forecast.plan.teams, forecast.memory.size());
}

// Returns the peak number of in-flight micro-batches of a rank of `team`; 0 for an idle rank (team -1). If the
// team holds n stages, a micro-batch that is in flight in one of them counts as 1 / n.
double compute_peak_activations(const Forecast& forecast, int team) {
    if (team < 0) return 0;
    const auto team_index = static_cast<std::size_t>(team);
    return static_cast<double>(forecast.plan.training.proof.peak_activations[team_index]) /
           static_cast<double>(forecast.plan.teams[team_index].stages.size());
}

// Returns the time per step in which a rank of `team` idles: the whole step for an idle rank (team -1).
double find_idle_time(const Forecast& forecast, int team) {
    return team < 0 ? forecast.step.seconds : forecast.step.compute_idle_time(static_cast<std::size_t>(team));
}

std::string to_string(const schedule::StageCost& cost) {
    std::string text = fmt::format("F={:.4g},I={:.4g},W={:.4g},send={:.4g}", cost.forward, cost.backward_input,
                                   cost.backward_weight, cost.send);
    if (cost.reduce != 0) text += fmt::format(",reduce={:.4g}", cost.reduce);
    if (cost.step != 0) text += fmt::format(",step={:.4g}", cost.step);
    return text;
}

// Returns one text per stage, separated by semicolons; only one text if all stages have equal costs.
std::string describe_costs(const std::vector<schedule::StageCost>& costs) {
    std::string text;
    for (const schedule::StageCost& cost : costs) text += (text.empty() ? "" : ";") + to_string(cost);
    const std::string first = to_string(costs.front());
    const bool are_equal = std::all_of(
        costs.begin(), costs.end(), [&](const schedule::StageCost& cost) { return to_string(cost) == first; });
    return are_equal ? first : text;
}

std::string format_parameters(const Forecast& forecast) {
    std::string counts;
    for (const std::size_t count : forecast.parameters) {
        counts += (counts.empty() ? "" : " / ") + format_with_commas(count);
    }
    if (forecast.parameters.size() > 1)
        counts += fmt::format("; {} in all", format_with_commas(forecast.total_parameters));
    return fmt::format("parameters  {}\n", counts);
}

std::string format_recomputation(const plan::Plan& plan) {
    std::string recomputations;
    for (const plan::Recompute recomputation : plan.recompute)
        recomputations += (recomputations.empty() ? "" : ", ") + std::string(to_string(recomputation));
    const auto different = std::ranges::adjacent_find(plan.recompute, std::not_equal_to<>());
    const bool are_equal = different == plan.recompute.end();
    return fmt::format("recompute   {}\n", are_equal ? to_string(plan.recompute.front()) : recomputations);
}

std::string describe_frozen_blocks(const plan::Plan& plan) {
    return plan.frozen == 0 ? ""
                            : fmt::format("frozen      the embedding and {}\n",
                                          format_count(static_cast<std::size_t>(plan.frozen), "block"));
}

std::string describe_cost_source(const Forecast& forecast) {
    return forecast.cost_source.empty() ? "" : fmt::format("costs       {}\n", forecast.cost_source);
}

std::string describe_assumption(const Forecast& forecast) {
    if (forecast.assumption.empty()) return "";
    return fmt::format("assumed     {}; set --corpus to plan with its samples\n", forecast.assumption);
}

std::string describe_decisions_file(const Forecast& forecast) {
    if (forecast.decisions_file.empty()) return "";
    return fmt::format(
        "decisions   the later plans of {} are not shown; `trireme train --dry-run` checks all of them\n",
        forecast.decisions_file);
}

// Returns a line with the mean and the range of the steps' seconds. Returns an empty text for a single step.
std::string format_steps(const Forecast& forecast) {
    if (forecast.steps.size() < 2) return "";
    double sum = 0;
    for (const StepForecast& step : forecast.steps) sum += step.seconds;
    const auto [shortest, longest] = std::ranges::minmax(forecast.steps, {}, &StepForecast::seconds);
    return fmt::format("steps       1 to {}: {:g} s on average, {:g} to {:g} s\n", forecast.steps.size(),
                       sum / static_cast<double>(forecast.steps.size()), shortest.seconds, longest.seconds);
}

// Formats a change of plan. `stages` is the number of stages before the change, and `step` the first step with
// the new plan.
std::string format_change(const plan::Decision& decision, std::size_t stages, const StepForecast& step) {
    const records::ElasticDecision elastic = step.elastic.value_or(records::ElasticDecision{});
    std::string text = fmt::format("step {:<6} {:<6}  {} to {}", decision.step + 1, elastic.outcome,
                                   format_count(stages, "stage"), decision.layout.stages.size());
    if (decision.predicted_seconds)
        text += fmt::format(", {:.3g} s for {}", *decision.predicted_seconds,
                            format_bytes(static_cast<std::size_t>(decision.terms.at("moved_bytes"))));
    if (elastic.new_seconds && elastic.current_seconds)
        text += fmt::format("; {:.3g} s instead of {:.3g} s", *elastic.new_seconds, *elastic.current_seconds);
    return text + fmt::format(" ({})\n", decision.reason);
}

// Returns a line per change of plan, and a line with the numbers of decisions by outcome.
std::string format_changes(const Forecast& forecast) {
    if (!forecast.decisions) return "";
    std::string text;
    std::size_t stages = forecast.first_stages;
    for (const plan::Decision& decision : *forecast.decisions) {
        text += format_change(decision, stages, forecast.steps[decision.step]);
        stages = decision.layout.stages.size();
    }
    records::ElasticOutcomes outcomes;
    for (const StepForecast& step : forecast.steps)
        if (step.elastic) outcomes[step.elastic->outcome] += 1;
    return text + fmt::format("decisions   {}\n", records::describe_outcomes(outcomes));
}

std::string format_bubble(const Forecast& forecast) {
    const std::optional<double> closed_form = compute_closed_form_bubble(forecast.plan, forecast.costs);
    const std::string closed_form_text =
        closed_form ? fmt::format("; by the closed form {:.1f} %", 100 * *closed_form) : "";
    return fmt::format("bubble      {:.1f} %{}\n", 100 * compute_bubble(forecast), closed_form_text);
}

std::string format_energy(const Forecast& forecast) {
    if (!forecast.energy) return "";
    const EnergyForecast& energy = *forecast.energy;
    std::string text =
        fmt::format("energy      {:.4g} J a step; no clocks need less than {:.4g} J in the same time\n",
                    energy.joules, energy.min_joules);
    if (energy.baseline_joules)
        text += fmt::format(
            "saving      {:.1f} % of {:.4g} J at the highest clocks; a step takes {:.3f} times as long\n",
            100 * (1 - energy.joules / *energy.baseline_joules), *energy.baseline_joules,
            forecast.step.seconds / forecast.baseline_step->seconds);
    if (forecast.reconfigure_steps > 0)
        text +=
            fmt::format("reconfigure {} steps; the last ones raised no clock\n", forecast.reconfigure_steps);
    return text;
}

// Returns the clocks that a program sets, for example "900, 1530 MHz", lowest first.
std::string list_clocks(const schedule::Program& program) {
    std::set<int> clocks;
    for (const schedule::Instruction& each : program)
        if (each.op == schedule::Op::set_clock) clocks.insert(each.mhz);
    return fmt::format("{} MHz", fmt::join(clocks, ", "));
}

// Returns a line with the clocks of all teams that set one, for example "900, 1530 MHz on ranks 0-2 and 990 MHz
// on rank 3".
std::string format_clocks(const Forecast& forecast) {
    const plan::Plan& plan = forecast.plan;
    if (!sets_clocks(plan.training.phases())) return "";
    std::map<std::string, std::vector<int>> ranks_by_clocks;
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        if (!schedule::sets_clocks({.prologue = {}, .body = {plan.training.programs[team]}})) continue;
        std::vector<int>& ranks = ranks_by_clocks[list_clocks(plan.training.programs[team])];
        ranks.insert(ranks.end(), plan.teams[team].ranks.begin(), plan.teams[team].ranks.end());
    }
    std::string text;
    for (auto& [clocks, ranks] : ranks_by_clocks) {
        std::ranges::sort(ranks);
        text += fmt::format("{}{} on {}", text.empty() ? "" : " and ", clocks, layout::ranks_to_string(ranks));
    }
    return fmt::format("clocks      {}\n", text);
}

std::string format_warning(const Forecast& forecast) {
    return forecast.warning.empty() ? "" : fmt::format("warning     {}\n", forecast.warning);
}

// Formats a line of the table of ranks without its first column, which lists the ranks. Memory is in units of
// `unit_bytes` bytes.
std::string format_columns(double idle_time, double activations, const setup::RankMemory& memory,
                           double unit_bytes) {
    const auto in_unit = [&](std::size_t bytes) { return static_cast<double>(bytes) / unit_bytes; };
    return fmt::format(
        "{:>10g}  {:>9.4g}  {:>9.1f}  {:>10.1f}  {:>9.1f}  {:>9.1f}  {:>11.1f}  {:>9.1f}  {:>8.1f}  {:>6.1f}\n",
        idle_time, activations, in_unit(memory.total()), in_unit(memory.parameters), in_unit(memory.gradients),
        in_unit(memory.optimizer), in_unit(memory.activations), in_unit(memory.workspace),
        in_unit(memory.messages), in_unit(memory.copy + memory.kernels));
}

// Formats a table with the idle time and the memory of the ranks. Ranks with equal values share a line. Memory
// is in GB, or in MB if every rank needs less than 1 GB.
std::string format_ranks(const Forecast& forecast) {
    std::size_t max_bytes = 0;
    for (const setup::RankMemory& memory : forecast.memory) max_bytes = std::max(max_bytes, memory.total());
    const bool uses_megabytes = max_bytes < 1'000'000'000;
    const std::vector<int> teams = find_teams_of_ranks(forecast);
    std::vector<std::string> lines;  // in the order of their first ranks
    std::unordered_map<std::string, std::vector<int>> ranks_by_line;
    for (std::size_t rank = 0; rank < teams.size(); ++rank) {
        const std::string line = format_columns(find_idle_time(forecast, teams[rank]),
                                                compute_peak_activations(forecast, teams[rank]),
                                                forecast.memory[rank], uses_megabytes ? 1e6 : 1e9);
        std::vector<int>& ranks = ranks_by_line[line];
        if (ranks.empty()) lines.push_back(line);
        ranks.push_back(static_cast<int>(rank));
    }
    std::size_t width = 5;  // of the header "ranks"
    for (const std::string& line : lines) width = std::max(width, format_ranges(ranks_by_line[line]).size());
    std::string text =
        fmt::format("\n{:{}}  {:>10}  {:>9}  {:>9}  {:>10}  {:>9}  {:>9}  {:>11}  {:>9}  {:>8}  {:>6}\n",
                    "ranks", width, "idle", "in flight", uses_megabytes ? "total MB" : "total GB", "parameters",
                    "gradients", "optimizer", "activations", "workspace", "messages", "others");
    for (const std::string& line : lines)
        text += fmt::format("{:{}}  {}", format_ranges(ranks_by_line[line]), width, line);
    return text;
}

std::string format_memory_fit(const Forecast& forecast) {
    return forecast.memory_fit
               ? fmt::format("fits        {}{}\n",
                             forecast.memory_fit->fits ? "yes: " : "no: ", forecast.memory_fit->description)
               : "";
}

// Returns the program of each rank as text. The text is empty for an idle rank.
Json list_programs_of_ranks(const Forecast& forecast, const std::vector<schedule::Program>& team_programs) {
    std::vector<std::string> program_texts;  // per team
    for (const schedule::Program& program : team_programs) program_texts.push_back(to_string(program));
    Json programs = Json::array();
    for (const int team : find_teams_of_ranks(forecast))
        programs.push_back(team < 0 ? std::string() : program_texts[static_cast<std::size_t>(team)]);
    return programs;
}

// Returns an object with one list per purpose of memory. Each list has the bytes per rank.
Json make_memory_json(const Forecast& forecast) {
    Json bytes_by_purpose = Json::object();
    for (const setup::RankMemory& memory : forecast.memory) {
        bytes_by_purpose["parameters"].push_back(memory.parameters);
        bytes_by_purpose["gradients"].push_back(memory.gradients);
        bytes_by_purpose["optimizer"].push_back(memory.optimizer);
        bytes_by_purpose["activations"].push_back(memory.activations);
        bytes_by_purpose["workspace"].push_back(memory.workspace);
        bytes_by_purpose["messages"].push_back(memory.messages);
        bytes_by_purpose["others"].push_back(memory.copy + memory.kernels);
    }
    return bytes_by_purpose;
}

Json make_prediction_json(const Forecast& forecast) {
    Json idle = Json::array();
    Json activations = Json::array();
    Json bytes = Json::array();
    for (const setup::RankMemory& memory : forecast.memory) bytes.push_back(memory.total());
    for (const int team : find_teams_of_ranks(forecast)) {
        idle.push_back(find_idle_time(forecast, team));
        activations.push_back(compute_peak_activations(forecast, team));
    }
    Json prediction{{"unit", forecast.unit},
                    {"seconds", forecast.step.seconds},
                    {"idle", idle},
                    {"bubble", compute_bubble(forecast)},
                    {"peak_activations", activations},
                    {"peak_bytes", bytes},
                    {"memory_bytes", make_memory_json(forecast)},
                    {"weight_versions", setup::find_max_weight_versions(forecast.plan)}};
    if (forecast.energy) {
        prediction["energy_j"] = forecast.energy->joules;
        prediction["energy_limit_j"] = forecast.energy->min_joules;
        if (forecast.energy->baseline_joules)
            prediction["baseline"] = {
                {"seconds", forecast.baseline_step->seconds},
                {"energy_j", *forecast.energy->baseline_joules},
                {"saved", 1 - forecast.energy->joules / *forecast.energy->baseline_joules},
                {"saved_at_most", 1 - forecast.energy->min_joules / *forecast.energy->baseline_joules},
                {"slowdown", forecast.step.seconds / forecast.baseline_step->seconds}};
    }
    if (forecast.reconfigure_steps > 0) prediction["reconfigure_steps"] = forecast.reconfigure_steps;
    return prediction;
}

// Returns the lines of decisions.jsonl.
Json list_decisions(const std::vector<plan::Decision>& decisions) {
    Json lines = Json::array();
    for (const plan::Decision& decision : decisions) lines.push_back(Json::parse(plan::to_json(decision)));
    return lines;
}

}  // namespace

double compute_bubble(const Forecast& forecast) {
    return setup::compute_bubble(forecast.plan, forecast.step, static_cast<int>(forecast.memory.size()));
}

std::string make_title(const Forecast& forecast) {
    const int microbatches = forecast.plan.microbatches();
    return fmt::format("{}, {}, {} a step", forecast.model.name, forecast.plan.schedule,
                       format_count(static_cast<std::size_t>(microbatches), "micro-batch"));
}

std::string to_string(const Forecast& forecast) {
    const plan::Plan& plan = forecast.plan;
    return make_title(forecast) + fmt::format(", plan {}\n\n", compute_hash(plan)) + to_string(plan.layout) +
           '\n' + format_parameters(forecast) + describe_frozen_blocks(plan) + format_recomputation(plan) +
           describe_cost_source(forecast) + describe_assumption(forecast) + describe_decisions_file(forecast) +
           '\n' + draw_grid(forecast.timeline) +
           fmt::format("\nstep        {:g} {} ({})\n", forecast.step.seconds, forecast.unit,
                       describe_costs(forecast.costs)) +
           format_clocks(forecast) + format_energy(forecast) + format_steps(forecast) +
           format_changes(forecast) + format_bubble(forecast) + format_warning(forecast) +
           format_memory_fit(forecast) + format_ranks(forecast) + format_periods(forecast);
}

std::string to_json(const Forecast& forecast) {
    const plan::Plan& plan = forecast.plan;
    Json value{{"version", describe_version()},
               {"model", forecast.model.name},
               {"plan", compute_hash(plan)},
               {"schedule", plan.schedule},
               {"micro_batches", plan.microbatches()},
               {"layout", Json::parse(plan::to_json(plan.layout))},
               {"programs", list_programs_of_ranks(forecast, plan.training.programs)},
               {"parameters", {{"stages", forecast.parameters}, {"all", forecast.total_parameters}}},
               {"prediction", make_prediction_json(forecast)}};
    if (plan.frozen > 0) value["frozen"] = plan.frozen;
    if (!forecast.periods.empty()) {
        const bool follows = !forecast.periods.front().layout.stages.empty();
        value[follows ? "trajectory" : "freeze"] = follows ? list_trajectory(forecast) : list_periods(forecast);
    }
    if (forecast.memory_fit)
        value["fit"] = {{"fits", forecast.memory_fit->fits}, {"words", forecast.memory_fit->description}};
    if (!forecast.steps.empty()) value["steps"] = list_steps(forecast);
    if (forecast.decisions) value["decisions"] = list_decisions(*forecast.decisions);
    if (!forecast.warning.empty()) value["warning"] = forecast.warning;
    if (!plan.training.are_steps_independent())
        value["prologue"] = list_programs_of_ranks(forecast, plan.training.prologue);
    return value.dump(2) + '\n';
}

std::string to_csv(const Forecast& forecast) { return to_csv(forecast.plan.training.phases()); }

}  // namespace trireme::tools

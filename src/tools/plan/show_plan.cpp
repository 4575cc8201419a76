#include "trireme/tools/show_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tools/plan/closed_form.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/rank_classes.hpp"

namespace trireme::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string unit_of(const Forecast& forecast) { return forecast.profiles ? "s" : "cost units"; }

// Returns, per rank, the number of its team; -1 for an idle rank.
std::vector<int> teams_of_ranks(const Forecast& forecast) {
    return setup::teams_of_ranks(forecast.plan.teams, forecast.memory.size());
}

// Returns the peak activation stash in micro-batches of a whole rank; a chunk counts as a fraction of one.
double activations_of(const Forecast& forecast, int team) {
    if (team < 0) return 0;
    const auto t = static_cast<std::size_t>(team);
    return static_cast<double>(forecast.plan.training.proof.peak_activations[t]) /
           static_cast<double>(forecast.plan.teams[t].stages.size());
}

double idle_of(const Forecast& forecast, int team) {
    return team < 0 ? forecast.step.seconds : forecast.step.idle(static_cast<std::size_t>(team));
}

std::string to_string(const schedule::StageCost& cost) {
    std::string text = fmt::format("F={:.4g},I={:.4g},W={:.4g},send={:.4g}", cost.forward, cost.backward_input,
                                   cost.backward_weight, cost.send);
    if (cost.reduce != 0) text += fmt::format(",reduce={:.4g}", cost.reduce);
    if (cost.step != 0) text += fmt::format(",step={:.4g}", cost.step);
    return text;
}

std::string cost_text(const std::vector<schedule::StageCost>& costs) {
    std::string text;
    for (const schedule::StageCost& cost : costs) text += (text.empty() ? "" : ";") + to_string(cost);
    const std::string first = to_string(costs.front());
    const bool are_equal = std::all_of(
        costs.begin(), costs.end(), [&](const schedule::StageCost& cost) { return to_string(cost) == first; });
    return are_equal ? first : text;
}

std::string parameter_lines(const Forecast& forecast) {
    std::string stages;
    for (const std::size_t count : forecast.parameters) {
        stages += (stages.empty() ? "" : " / ") + with_commas(count);
    }
    if (forecast.parameters.size() > 1)
        stages += fmt::format("; {} in all", with_commas(forecast.all_parameters));
    return fmt::format("parameters  {}\n", stages);
}

std::string recompute_line(const plan::Plan& plan) {
    std::string ways;
    for (const plan::Recompute way : plan.recompute)
        ways += (ways.empty() ? "" : ", ") + std::string(name_of(way));
    const bool are_equal = std::adjacent_find(plan.recompute.begin(), plan.recompute.end(),
                                              std::not_equal_to<>()) == plan.recompute.end();
    return fmt::format("recompute   {}\n", are_equal ? name_of(plan.recompute.front()) : ways);
}

// Returns "1 thread of Intel Xeon"; with several kinds of machines, each with its ranks.
std::string machines_text(const plan::RankProfiles& profiles, std::size_t count) {
    std::string text;
    for (std::size_t kind = 0; kind < profiles.kinds.size(); ++kind) {
        std::vector<int> ranks;
        for (int rank = 0; rank < static_cast<int>(count); ++rank) {
            if (profiles.kind_of(rank) == kind) ranks.push_back(rank);
        }
        if (ranks.empty()) continue;
        const plan::Profile& profile = profiles.kinds[kind];
        const std::string whose =
            ranks.size() == count ? "" : fmt::format(" ({})", layout::text_of_ranks(ranks));
        text += fmt::format("{}{} thread{} of {}{}", text.empty() ? "" : " and ", profile.threads,
                            profile.threads == 1 ? "" : "s", profile.machine, whose);
    }
    return text;
}

// Names the source of the costs, and warns if they were measured with another micro-batch size.
std::string costs_line(const Forecast& forecast) {
    if (!forecast.profiles) return "";
    const plan::Profile& profile = forecast.profiles->kinds.front();  // all have the same micro-batch
    const std::string other =
        profile.tokens == forecast.rows
            ? ""
            : fmt::format("; here there are up to {}: measure these", with_commas(forecast.rows));
    return fmt::format("costs       measured with {} rows in a micro-batch of {}, {}, {}{}\n",
                       with_commas(profile.tokens), profile.samples, profile.dtype,
                       machines_text(*forecast.profiles, forecast.memory.size()), other);
}

std::string assumed_line(const Forecast& forecast) {
    if (forecast.assumed.empty()) return "";
    return fmt::format("assumed     {}; name the rows with --corpus\n", forecast.assumed);
}

std::string decisions_line(const Forecast& forecast) {
    if (forecast.decisions.empty()) return "";
    return fmt::format(
        "decisions   the plans of {} come later and are not shown; `trireme train --dry-run` tries them all\n",
        forecast.decisions);
}

std::string bubble_line(const Forecast& forecast) {
    const std::optional<double> closed = closed_form_bubble(forecast.plan, forecast.costs);
    const std::string beside = closed ? fmt::format("; by the closed form {:.1f} %", 100 * *closed) : "";
    return fmt::format("bubble      {:.1f} %{}\n", 100 * bubble_of(forecast), beside);
}

std::string warning_line(const Forecast& forecast) {
    return forecast.warning.empty() ? "" : fmt::format("warning     {}\n", forecast.warning);
}

// Formats the columns to the right of the ranks.
std::string columns_of(double idle, double activations, const setup::RankMemory& m, double unit) {
    const auto in = [&](std::size_t bytes) { return static_cast<double>(bytes) / unit; };
    return fmt::format(
        "{:>10g}  {:>9.4g}  {:>9.1f}  {:>10.1f}  {:>9.1f}  {:>9.1f}  {:>11.1f}  {:>9.1f}  {:>8.1f}  {:>6.1f}\n",
        idle, activations, in(m.total()), in(m.parameters), in(m.gradients), in(m.optimizer), in(m.activations),
        in(m.workspace), in(m.messages), in(m.copy + m.kernels));
}

// Ranks with equal values share a line. Memory is in GB, or in MB if the fullest rank holds less than 1 GB.
std::string rank_lines(const Forecast& forecast) {
    std::size_t most = 0;
    for (const setup::RankMemory& memory : forecast.memory) most = std::max(most, memory.total());
    const bool is_small = most < 1'000'000'000;
    const std::vector<int> teams = teams_of_ranks(forecast);
    std::vector<std::string> lines;  // in the order of their first ranks
    std::unordered_map<std::string, std::vector<int>> ranks_of;
    for (std::size_t rank = 0; rank < teams.size(); ++rank) {
        const std::string line =
            columns_of(idle_of(forecast, teams[rank]), activations_of(forecast, teams[rank]),
                       forecast.memory[rank], is_small ? 1e6 : 1e9);
        std::vector<int>& ranks = ranks_of[line];
        if (ranks.empty()) lines.push_back(line);
        ranks.push_back(static_cast<int>(rank));
    }
    std::size_t width = 5;
    for (const std::string& line : lines) width = std::max(width, number_list(ranks_of[line]).size());
    std::string text =
        fmt::format("\n{:{}}  {:>10}  {:>9}  {:>9}  {:>10}  {:>9}  {:>9}  {:>11}  {:>9}  {:>8}  {:>6}\n",
                    "ranks", width, "idle", "in flight", is_small ? "MB" : "GB", "parameters", "gradients",
                    "optimizer", "activations", "workspace", "messages", "others");
    for (const std::string& line : lines)
        text += fmt::format("{:{}}  {}", number_list(ranks_of[line]), width, line);
    return text;
}

std::string fit_line(const Forecast& forecast) {
    return forecast.fit
               ? fmt::format("fits        {}{}\n", forecast.fit->fits ? "" : "no: ", forecast.fit->words)
               : "";
}

Json programs_of_ranks(const Forecast& forecast, const std::vector<schedule::Program>& of_teams) {
    std::vector<std::string> texts;  // per team
    for (const schedule::Program& program : of_teams) texts.push_back(to_string(program));
    Json programs = Json::array();
    for (const int team : teams_of_ranks(forecast))
        programs.push_back(team < 0 ? std::string() : texts[static_cast<std::size_t>(team)]);
    return programs;
}

// Lists the memory of each rank by purpose.
Json memory_of(const Forecast& forecast) {
    Json parts = Json::object();
    for (const setup::RankMemory& m : forecast.memory) {
        parts["parameters"].push_back(m.parameters);
        parts["gradients"].push_back(m.gradients);
        parts["optimizer"].push_back(m.optimizer);
        parts["activations"].push_back(m.activations);
        parts["workspace"].push_back(m.workspace);
        parts["messages"].push_back(m.messages);
        parts["others"].push_back(m.copy + m.kernels);
    }
    return parts;
}

Json prediction_of(const Forecast& forecast) {
    Json idle = Json::array();
    Json activations = Json::array();
    Json bytes = Json::array();
    for (const setup::RankMemory& memory : forecast.memory) bytes.push_back(memory.total());
    for (const int team : teams_of_ranks(forecast)) {
        idle.push_back(idle_of(forecast, team));
        activations.push_back(activations_of(forecast, team));
    }
    return {{"unit", unit_of(forecast)},
            {"seconds", forecast.step.seconds},
            {"idle", idle},
            {"bubble", bubble_of(forecast)},
            {"peak_activations", activations},
            {"peak_bytes", bytes},
            {"memory_bytes", memory_of(forecast)},
            {"weight_versions", setup::most_weight_versions(forecast.plan)}};
}

}  // namespace

double bubble_of(const Forecast& forecast) {
    return setup::bubble_of(forecast.plan, forecast.step, static_cast<int>(forecast.memory.size()));
}

std::string title_of(const Forecast& forecast) {
    const int microbatches = forecast.plan.microbatches();
    return fmt::format("{}, {}, {} a step", forecast.model.name, forecast.plan.schedule,
                       counted(static_cast<std::size_t>(microbatches), "micro-batch"));
}

std::string to_string(const Forecast& forecast) {
    const plan::Plan& plan = forecast.plan;
    return title_of(forecast) + fmt::format(", plan {}\n\n", hash_of(plan)) + to_string(plan.layout) + '\n' +
           parameter_lines(forecast) + recompute_line(plan) + costs_line(forecast) + assumed_line(forecast) +
           decisions_line(forecast) + '\n' + grid_of(forecast.timeline) +
           fmt::format("\nstep        {:g} {} ({})\n", forecast.step.seconds, unit_of(forecast),
                       cost_text(forecast.costs)) +
           bubble_line(forecast) + warning_line(forecast) + fit_line(forecast) + rank_lines(forecast);
}

std::string json_of(const Forecast& forecast) {
    const plan::Plan& plan = forecast.plan;
    Json value{{"model", forecast.model.name},
               {"plan", hash_of(plan)},
               {"schedule", plan.schedule},
               {"micro_batches", plan.microbatches()},
               {"layout", Json::parse(plan::json_of(plan.layout))},
               {"programs", programs_of_ranks(forecast, plan.training.programs)},
               {"parameters", {{"stages", forecast.parameters}, {"all", forecast.all_parameters}}},
               {"prediction", prediction_of(forecast)}};
    if (forecast.fit) value["fit"] = {{"fits", forecast.fit->fits}, {"words", forecast.fit->words}};
    if (!forecast.warning.empty()) value["warning"] = forecast.warning;
    if (!plan.training.ends_with_step())
        value["prologue"] = programs_of_ranks(forecast, plan.training.prologue);
    return value.dump(2) + '\n';
}

std::string csv_of(const Forecast& forecast) { return csv_of(forecast.plan.training.phases()); }

}  // namespace trireme::tools

// Tests EnvPipe's reconfiguration with unit costs on a cluster of V100: in `trireme plan`, and in a closed loop
// with noise.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "scratch_folder.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/policy/clock_sweep.hpp"
#include "trireme/policy/clocks.hpp"
#include "trireme/policy/reconfigure.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/energy_clocks.hpp"
#include "trireme/setup/simulated_device.hpp"
#include "trireme/setup/stage_costs.hpp"
#include "unit/tools/v100_plans.hpp"

namespace trireme::tools {
namespace {

using config::Energy;
using config::Reconfigure;

// Relative to 1F1B at the highest clocks.
struct EnergyGain {
    double saved = 0;
    double slowdown = 1;
};

EnergyGain compute_gain(const schedule::StepTime& step, const schedule::StepTime& baseline) {
    const auto sum = [](const std::vector<double>& joules) {
        return std::accumulate(joules.begin(), joules.end(), 0.0);
    };
    return {.saved = 1 - sum(step.joules) / sum(baseline.joules), .slowdown = step.seconds / baseline.seconds};
}

EnergyGain forecast_gain(const PlanConfig& config) {
    PlanConfig baseline = config;
    baseline.run.schedule.schedule = "1f1b";
    baseline.run.policy = {};
    return compute_gain(make_forecast(config).step, make_forecast(baseline).step);
}

constexpr int none = -1;

struct TableRow {
    int pipe;
    std::size_t microbatches;
    const char* schedule;
    Reconfigure rule;
    double saved;
    double slowdown;
    int longer_stage;  // takes 1.15 times as long as the others
};

const TableRow table[] = {{4, 4, "1f1b", Reconfigure::none, 0.103, 1.23, none},
                          {4, 4, "1f1b", Reconfigure::greedy, 0.095, 1.00, none},
                          {4, 4, "1f1b", Reconfigure::balanced, 0.098, 1.00, none},
                          {4, 4, "envpipe", Reconfigure::none, 0.103, 1.23, none},
                          {4, 4, "envpipe", Reconfigure::greedy, 0.095, 1.00, none},
                          {4, 4, "envpipe", Reconfigure::balanced, 0.098, 1.00, none},
                          {4, 8, "1f1b", Reconfigure::none, 0.131, 1.43, none},
                          {4, 8, "1f1b", Reconfigure::balanced, 0.056, 1.00, none},
                          {4, 8, "envpipe", Reconfigure::none, 0.132, 1.42, none},
                          {4, 8, "envpipe", Reconfigure::greedy, 0.084, 1.00, none},
                          {4, 8, "envpipe", Reconfigure::balanced, 0.134, 1.00, none},
                          {4, 16, "1f1b", Reconfigure::none, 0.151, 1.51, none},
                          {4, 16, "1f1b", Reconfigure::balanced, 0.029, 1.00, none},
                          {4, 16, "envpipe", Reconfigure::none, 0.151, 1.51, none},
                          {4, 16, "envpipe", Reconfigure::greedy, 0.044, 1.00, none},
                          {4, 16, "envpipe", Reconfigure::balanced, 0.087, 1.00, none},
                          {4, 16, "1f1b", Reconfigure::none, 0.172, 1.35, 3},
                          {4, 16, "1f1b", Reconfigure::balanced, 0.128, 1.00, 3},
                          {4, 16, "envpipe", Reconfigure::none, 0.174, 1.34, 3},
                          {4, 16, "envpipe", Reconfigure::greedy, 0.114, 1.00, 3},
                          {4, 16, "envpipe", Reconfigure::balanced, 0.164, 1.00, 3},
                          {4, 16, "1f1b", Reconfigure::none, 0.139, 1.52, 1},
                          {4, 16, "1f1b", Reconfigure::balanced, 0.091, 1.00, 1},
                          {4, 16, "envpipe", Reconfigure::none, 0.152, 1.48, 1},
                          {4, 16, "envpipe", Reconfigure::greedy, 0.074, 0.94, 1},
                          {4, 16, "envpipe", Reconfigure::balanced, 0.098, 0.94, 1},
                          {8, 32, "1f1b", Reconfigure::none, 0.189, 1.57, none},
                          {8, 32, "1f1b", Reconfigure::balanced, 0.030, 1.00, none},
                          {8, 32, "envpipe", Reconfigure::none, 0.189, 1.57, none},
                          {8, 32, "envpipe", Reconfigure::greedy, 0.045, 1.00, none},
                          {8, 32, "envpipe", Reconfigure::balanced, 0.100, 1.00, none}};

// Two independent emulations of EnvPipe gave these figures, except those for 4 x 4, where the search finds 990
// MHz. At 4 x 4 there are no extra forwards.
TEST(Reconfiguration, SavesAsMuchAsInEmulationsOfEnvPipe) {
    for (const auto& [pipe, microbatches, schedule, rule, saved, slowdown, longer_stage] : table) {
        PlanConfig config = make_v100_config(pipe, microbatches, Energy::envelope, schedule, rule);
        if (longer_stage != none) {
            schedule::StageCost longer{.forward = 1.15, .backward_input = 1.15, .backward_weight = 1.15};
            longer.clocked = config.run.costs.stages.front().clocked;
            config.run.costs.stages.resize(static_cast<std::size_t>(pipe), config.run.costs.stages.front());
            config.run.costs.stages[static_cast<std::size_t>(longer_stage)] = longer;
        }

        const EnergyGain gain = forecast_gain(config);

        const std::string row =
            cat(pipe, " x ", microbatches, ' ', schedule, ' ', static_cast<int>(rule), ' ', longer_stage);
        EXPECT_NEAR(gain.saved, saved, 0.003) << row;
        EXPECT_NEAR(gain.slowdown, slowdown, 0.01) << row;
    }
}

// A plan with the clocks of the envelope, and the exact costs of its passes.
struct ClockedPlan {
    plan::Plan plan;
    schedule::StepCosts costs;
};

// Returns the plan with the order and the clocks of --energy.
plan::Plan choose_energy(plan::Plan plan, const schedule::StepCosts& costs, PlanConfig config, Energy energy,
                         const model::ModelConfig& model) {
    config.run.policy.energy = energy;
    const std::vector<stage::BatchShape> largest{{.segments = {{.begin = 0, .length = 8}}, .rows = 8}};
    const auto ranks = static_cast<int>(plan.teams.size());
    return setup::choose_energy(std::move(plan), costs,
                                {.config = config.run,
                                 .model = model,
                                 .request = setup::make_plan_request(config.run),
                                 .ranks = ranks,
                                 .largest_microbatches = largest});
}

// `extra_forwards` replaces those that memory permits, unless it is empty.
ClockedPlan make_envelope(int pipe, std::size_t microbatches, const std::vector<int>& extra_forwards = {}) {
    const PlanConfig config = make_v100_config(pipe, microbatches, Energy::baseline, "envpipe");
    const Forecast forecast = make_forecast(config);
    plan::Plan plan = forecast.plan;
    if (!extra_forwards.empty()) set_extra_forwards(extra_forwards, plan);
    const setup::SimulatedDevices devices = setup::read_cluster_devices(config.run, pipe);
    const schedule::StepCosts costs = setup::make_clocked_costs(
        setup::expand_cost_option(config.run.costs, plan.layout.stages.size()), plan,
        [&](int rank) { return std::span<const plan::DeviceClock>(devices.find_device(rank).clocks); });
    return {choose_energy(std::move(plan), costs, config, Energy::envelope, forecast.model), costs};
}

EnergyGain compute_gain(const ClockedPlan& envelope, const plan::Plan& plan) {
    const plan::ProvedPrograms& training = plan.training;
    const auto highest_clock = [&](int, const auto&) { return 1530; };
    const schedule::Phases baseline = set_clocks(training.phases(), highest_clock);
    return compute_gain(predict_step(training.phases(), training.shape, envelope.costs),
                        predict_step(baseline, training.shape, envelope.costs));
}

// Multiplies the time and the joules of each pass by a factor that is drawn anew for each step, and that is the
// same for all clocks. `noise` is its standard deviation.
schedule::StepCosts add_noise(const ClockedPlan& envelope, std::mt19937& random, double noise = 0.02) {
    const int stages = envelope.plan.training.shape.stages();
    const int microbatches = envelope.plan.microbatches();
    std::normal_distribution<double> draw(1, noise);
    std::vector<double> factors(2 * static_cast<std::size_t>(stages * microbatches));
    for (double& factor : factors) factor = draw(random);
    const auto make_costs = [&](std::size_t clock) {
        std::vector<std::vector<schedule::StageCost>> costs(static_cast<std::size_t>(stages));
        auto factor = factors.begin();
        for (int stage = 0; stage < stages; ++stage) {
            for (int m = 0; m < microbatches; ++m) {
                schedule::StageCost cost = envelope.costs.find(stage, m, clock);
                cost.forward *= *factor;
                cost.joules.forward *= *factor++;
                cost.backward_input *= *factor;
                cost.joules.backward_input *= *factor;
                cost.backward_weight *= *factor;
                cost.joules.backward_weight *= *factor++;
                costs[static_cast<std::size_t>(stage)].push_back(cost);
            }
        }
        return schedule::StepCosts(std::move(costs));
    };
    schedule::StepCosts costs = make_costs(0);
    costs.add_clocks(envelope.costs.clocks(), make_costs);
    return costs;
}

// Returns the plan at the end of a loop whose waits are those of steps with noise.
plan::Plan reconfigure_with_noise(const ClockedPlan& envelope, unsigned seed) {
    std::mt19937 random(seed);
    plan::Plan plan = envelope.plan;
    std::vector<policy::ClockedTeam> teams = setup::list_clocked_teams(plan, envelope.costs.clocks());
    std::size_t quiet_steps = 0;
    while (quiet_steps <= policy::max_quiet_steps) {
        const plan::ProvedPrograms& training = plan.training;
        const schedule::Prediction step =
            predict(training.programs, training.shape, add_noise(envelope, random));
        const auto path = find_critical_path(training.shape, teams, list_waits(step, teams), /*threshold=*/0);
        ++quiet_steps;
        if (!raise_clocks(policy::RaiseRule::balanced, path, teams)) continue;
        quiet_steps = 0;
        setup::set_team_clocks(teams, plan);
    }
    return plan;
}

TEST(Reconfiguration, SavesEnergyIfPassesTakeUnequallyLong) {
    for (const auto& [microbatches, min_saving] : {std::pair(8, 0.115), std::pair(16, 0.07)}) {
        const ClockedPlan envelope = make_envelope(4, static_cast<std::size_t>(microbatches));
        for (unsigned seed = 1; seed <= 20; ++seed) {
            const EnergyGain gain = compute_gain(envelope, reconfigure_with_noise(envelope, seed));

            EXPECT_GE(gain.saved, min_saving) << microbatches << " micro-batches, seed " << seed;
            EXPECT_LE(gain.slowdown, 1.01) << microbatches << " micro-batches, seed " << seed;
        }
    }
}

TEST(Reconfiguration, SavesLessWithMemoryForOneMoreMicrobatch) {
    config::PolicyConfig policy;
    policy.energy = Energy::envelope;
    policy.reconfigure = Reconfigure::balanced;
    const auto find_saving = [&](const ClockedPlan& envelope) {
        return compute_gain(envelope,
                            setup::predict_reconfiguration(envelope.plan, envelope.costs, policy).plan)
            .saved;
    };

    const double with_three = find_saving(make_envelope(4, 16));
    const double with_one = find_saving(make_envelope(4, 16, {1, 1, 1, 0}));

    EXPECT_NEAR(with_three, 0.087, 0.003);
    EXPECT_NEAR(with_one, 0.056, 0.003);
}

// The step in which all stages have clock `mhz`.
schedule::StepTime predict_at_clock(const ClockedPlan& plan, const schedule::StepCosts& costs, int mhz) {
    const plan::ProvedPrograms& training = plan.plan.training;
    return predict_step(set_clocks(training.phases(), [&](int, const auto&) { return mhz; }), training.shape,
                        costs);
}

// Measures one step at a clock as the ranks of a run do.
plan::ClockCost measure_step(const ClockedPlan& plan, const schedule::StepCosts& costs, std::size_t team,
                             int mhz) {
    const schedule::TeamClocks& clocks = costs.clocks()[team];
    const std::size_t clock = clocks.find_index(mhz);
    const int microbatches = plan.plan.microbatches();
    const schedule::StepTime step = predict_at_clock(plan, costs, mhz);
    plan::ClockCost cost{.mhz = mhz,
                         .idle_watts = clocks.idle_watts[clock],
                         .joules = step.joules[team],
                         .step_seconds = step.seconds};
    for (int m = 0; m < microbatches; ++m) {
        const schedule::StageCost& pass = costs.find(static_cast<int>(team), m, clock);
        cost.forward += pass.forward / microbatches;
        cost.backward += (pass.backward_input + pass.backward_weight) / microbatches;
    }
    cost.busy_watts = cost.idle_watts + (step.joules[team] - cost.idle_watts * step.seconds) /
                                            (microbatches * (cost.forward + cost.backward));
    return cost;
}

// Sweeps all stages of the plan together.
plan::ClockCosts sweep(const ClockedPlan& plan, unsigned seed, double noise) {
    std::mt19937 random(seed);
    const std::vector<layout::StageLayout>& stages = plan.plan.layout.stages;
    plan::ClockCosts costs{.stages = stages.size()};
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        costs.replicas.push_back({.layers = {stages[stage].layers}, .clocks = plan.costs.clocks()[stage].mhz});
    for (const int mhz : policy::list_candidate_clocks(costs.replicas.front().clocks)) {
        std::vector<std::vector<plan::ClockCost>> steps(stages.size());
        for (std::size_t step = 0; step < policy::sweep_steps_per_clock; ++step) {
            const schedule::StepCosts measured = add_noise(plan, random, noise);
            for (std::size_t stage = 0; stage < stages.size(); ++stage)
                steps[stage].push_back(measure_step(plan, measured, stage, mhz));
        }
        for (std::size_t stage = 0; stage < stages.size(); ++stage)
            if (policy::find_next_clock(costs.replicas[stage]) == mhz)
                costs.replicas[stage].measured.push_back(policy::average_costs(steps[stage]));
    }
    return costs;
}

// Returns, per stage, the joules of a step in which all stages have the clock that a sweep finds for the stage,
// relative to the fewest joules of a step in which all stages have one of the swept clocks.
std::vector<double> compare_swept_clocks(const ClockedPlan& plan, const Forecast& forecast, unsigned seed,
                                         double noise) {
    const schedule::StepCosts swept =
        setup::make_measured_costs(sweep(plan, seed, noise), plan.plan, setup::find_unknown_device);
    const plan::Plan uniform = choose_energy(plan.plan, swept, make_v100_config(4, 8, Energy::uniform, "1f1b"),
                                             Energy::uniform, forecast.model);
    std::vector<double> ratios;
    const std::vector<policy::ClockedTeam> teams = setup::list_clocked_teams(uniform, plan.costs.clocks());
    for (std::size_t team = 0; team < teams.size(); ++team) {
        const auto find_joules = [&](int mhz) { return predict_at_clock(plan, plan.costs, mhz).joules[team]; };
        double least = find_joules(teams[team].clocks.front());
        for (const int mhz : policy::list_candidate_clocks(teams[team].clocks))
            least = std::min(least, find_joules(mhz));
        ratios.push_back(find_joules(teams[team].mhz.front()) / least);
    }
    return ratios;
}

TEST(Sweep, FindsTheClockOfLeastEnergy) {
    const Forecast forecast = make_forecast(make_v100_config(4, 8, Energy::baseline, "1f1b"));
    ClockedPlan plan = make_envelope(4, 8);
    plan.plan = forecast.plan;

    for (const double ratio : compare_swept_clocks(plan, forecast, 1, 0)) EXPECT_DOUBLE_EQ(ratio, 1);
    for (unsigned seed = 1; seed <= 100; ++seed)
        for (const double ratio : compare_swept_clocks(plan, forecast, seed, 0.02))
            EXPECT_LE(ratio, 1.015) << "seed " << seed;
}

std::vector<int> list_activations(const Forecast& forecast) {
    return forecast.plan.training.proof.peak_activations;
}

// Rank 0 needs most memory. With one byte less, it keeps one micro-batch less in flight.
TEST(ExtraForwards, AreLimitedByMemory) {
    PlanConfig config = make_v100_config(4, 16, Energy::envelope, "envpipe");
    const Forecast unlimited = make_forecast(config);
    const std::size_t needed = unlimited.memory.front().total();
    ASSERT_EQ(list_activations(unlimited), (std::vector<int>{7, 5, 3, 1}));

    config.run.layout.memory_limit = needed;
    EXPECT_EQ(list_activations(make_forecast(config)), (std::vector<int>{7, 5, 3, 1}));

    config.run.layout.memory_limit = needed - 1;
    const Forecast limited = make_forecast(config);
    EXPECT_EQ(list_activations(limited), (std::vector<int>{6, 5, 3, 1}));
    EXPECT_LT(limited.memory.front().total(), needed);

    const validation::ScratchFolder folder;
    nlohmann::json cluster = nlohmann::json::parse(validation::read_whole(config.run.costs.cluster));
    cluster["device"]["memory"] = needed - 1;
    config.run.layout.memory_limit = 0;
    config.run.costs.cluster = folder.write("small.json", cluster.dump());
    EXPECT_EQ(list_activations(make_forecast(config)), (std::vector<int>{6, 5, 3, 1}));
}

}  // namespace
}  // namespace trireme::tools

#include "trireme/setup/stage_costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/model/model.hpp"
#include "trireme/plan/profile.hpp"
#include "unit/plan/small_profile.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::grid;
using validation::ScratchFolder;
using validation::small_gpt2;
using validation::write_text;

// Writes a profile of small_gpt2(). Each of its 7 layers takes 1 second forward and 2 backward, or `half`
// seconds per half of a backward pass.
std::string profile_file(const ScratchFolder& folder, double half) {
    plan::Profile profile{.machine = "abacus",
                          .device = "cpu",
                          .model = "gpt2",
                          .dtype = "f32",
                          .microbatch = plan::make_equal_length_shape(1, 10)};
    for (const model::Layer& layer : build_layers(small_gpt2())) {
        plan::LayerProfile each{.name = find_kind(layer), .measured = profile.layers.size()};
        each.forward = 1;
        each.backward = 2;
        each.backward_input = each.backward_weight = half;
        for (const model::ParameterSpec& spec : list_parameters(layer)) each.parameters += 4 * spec.size();
        profile.layers.push_back(each);
    }
    return write_text(folder, "profile.json", to_json(profile));
}

config::RunConfig make_config(int pipe, const std::string& profile) {
    config::RunConfig config = grid(pipe, 1, 1);
    config.schedule.schedule = "auto";
    config.schedule.microbatches = 4;
    config.costs.profiles = {{profile}};
    return config;
}

bool has_halves(const plan::Plan& plan) {
    return std::any_of(
        plan.training.programs.begin(), plan.training.programs.end(), [](const schedule::Program& program) {
            return std::any_of(program.begin(), program.end(), [](const schedule::Instruction& each) {
                return each.op == schedule::Op::backward_input;
            });
        });
}

TEST(StageCosts, AreGivenOrElseMeasuredOrElseEqual) {
    const ScratchFolder folder;
    config::RunConfig config = make_config(2, profile_file(folder, 1));
    const plan::Plan plan = plan_run(config, small_gpt2(), 2);
    const auto forward = [&] { return compute_costs(config, small_gpt2(), plan).front().forward; };

    EXPECT_NEAR(forward(), static_cast<double>(plan.layout.stages.front().layers.count), 1e-4);
    config.costs.stages = {{.forward = 9}};
    EXPECT_EQ(forward(), 9);
    config.costs = {};
    EXPECT_EQ(forward(), 1);
}

TEST(StageCosts, AreThoseOfTheDeviceOfEachStage) {
    const ScratchFolder folder;
    config::RunConfig config = make_config(2, profile_file(folder, 1));
    const plan::Profile slow =
        validation::slower(plan::parse_profile(validation::read_whole(folder.file("profile.json")), ""), 3);
    config.costs.profiles.push_back({write_text(folder, "slow.json", to_json(slow)), config::RankSpan{1, 1}});
    const plan::Plan plan = plan_run(config, small_gpt2(), 2);

    const std::vector<schedule::StageCost> costs = compute_costs(config, small_gpt2(), plan);

    EXPECT_NEAR(costs[0].forward, static_cast<double>(plan.layout.stages[0].layers.count), 1e-4);
    EXPECT_NEAR(costs[1].forward, 3 * static_cast<double>(plan.layout.stages[1].layers.count), 1e-3);
}

TEST(StageCosts, MayBeGivenOnceForAllStagesOrOncePerStage) {
    const config::CostConfig costs{.stages = {{.forward = 2}, {.forward = 3}}};

    EXPECT_EQ(expand_cost_option(costs, 2)[1].forward, 3);
    EXPECT_EQ(expand_cost_option({}, 3).size(), 3U);
    EXPECT_EQ(
        catch_message<ConfigError>([&] { expand_cost_option(costs, 3); }),
        "--cost is given for 2 stages, but the layout has 3; give one cost for all stages, or one per stage");
}

TEST(SearchedPlan, SplitsBackwardPassesIfThatIsFasterByTheProfile) {
    const ScratchFolder folder;

    EXPECT_TRUE(has_halves(plan_run(make_config(2, profile_file(folder, 1)), small_gpt2(), 2)));
    EXPECT_FALSE(has_halves(plan_run(make_config(2, profile_file(folder, 2)), small_gpt2(), 2)));
}

TEST(SearchedPlan, IsAtLeastAsFastAsFixedSchedulesByTheProfile) {
    const ScratchFolder folder;
    for (const double half : {1.0, 1.1, 1.5}) {
        config::RunConfig config = make_config(3, profile_file(folder, half));
        const auto seconds = [&](const char* schedule) {
            config.schedule.schedule = schedule;
            const plan::Plan plan = plan_run(config, small_gpt2(), 3);
            return predict_step(plan.training.phases(), plan.training.shape,
                                compute_costs(config, small_gpt2(), plan))
                .seconds;
        };

        EXPECT_LE(seconds("auto"), seconds("1f1b")) << half;
        EXPECT_LE(seconds("auto"), seconds("gpipe")) << half;
    }
}

}  // namespace
}  // namespace trireme::setup

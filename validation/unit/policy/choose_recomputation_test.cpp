#include <gtest/gtest.h>

#include <random>

#include "trireme/policy/recompute.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/offload_times.hpp"

namespace trireme::policy {
namespace {

constexpr int stages = 2;
constexpr int microbatches = 3;
constexpr int blocks = 2;  // per stage

// A step of two stages on one rank each. A block may recompute nothing, some or all of its activations.
struct SmallStep {
    schedule::PipelineShape shape = schedule::make_grid_shape(stages, 1, 1, microbatches);
    std::vector<std::vector<schedule::StageCost>> costs;
    std::vector<TeamOptions> teams;
};

std::size_t draw(std::mt19937_64& random, std::size_t least, std::size_t most) {
    return least + random() % (most - least + 1);
}

// Returns the options of a micro-batch, sorted by time: all divisions of the blocks among three levels.
std::vector<PassOption> draw_options(std::mt19937_64& random) {
    const std::size_t size = draw(random, 1, 8);  // of the micro-batch
    std::vector<PassOption> options;
    for (int full = 0; full <= blocks; ++full) {
        for (int selective = 0; full + selective <= blocks; ++selective) {
            PassOption& option = options.emplace_back();
            const auto none = static_cast<std::size_t>(blocks - full - selective);
            option.levels = {plan::Recompute::full};
            option.extra.backward_input = static_cast<double>(size) * (0.15 * selective + 1.0 * full);
            option.bytes = {{.stash = 64 * size *
                                      (10 * none + 6 * static_cast<std::size_t>(selective) +
                                       static_cast<std::size_t>(full)),
                             .workspaces = {64 * size, 128 * size + (full > 0 ? 64 * 10 * size : 0), 0, 0}}};
        }
    }
    std::ranges::stable_sort(options, {}, [](const PassOption& option) { return option.extra.backward_input; });
    return options;
}

std::vector<std::size_t> list_bytes(const TeamOptions& team, const PassChoices& choices) {
    std::vector<std::size_t> bytes;
    for (const schedule::BufferUse& use : team.uses) {
        if (use.kind == schedule::BufferKind::rows) {
            bytes.push_back(team.row_bytes[0][static_cast<std::size_t>(use.taker.microbatch)]);
            continue;
        }
        const PassKey key{use.taker.stage, use.taker.microbatch};
        const PassBytes& pass = team.passes.at(key)[choices.at(key)].bytes[0];
        bytes.push_back(use.kind == schedule::BufferKind::stash
                            ? pass.stash
                            : pass.workspaces[static_cast<std::size_t>(use.taker.op)]);
    }
    return bytes;
}

std::size_t find_largest(const TeamOptions& team, const PassChoices& choices) {
    return place_buffers(team.uses, list_bytes(team, choices)).bytes;
}

// Calls `visit` with all choices of a team.
template <class Visit>
void visit_choices(const TeamOptions& team, Visit&& visit) {
    PassChoices choices;
    const auto choose = [&](auto&& self, auto pass) -> void {
        if (pass == team.passes.end()) return visit(choices);
        for (std::size_t option = 0; option < pass->second.size(); ++option) {
            choices[pass->first] = option;
            self(self, std::next(pass));
        }
    };
    choose(choose, team.passes.begin());
}

// The limit of each team is between the least that it can need and its need with the first options.
SmallStep draw_step(std::mt19937_64& random, const std::string& schedule) {
    SmallStep step;
    const std::vector<schedule::Program> programs =
        lower(generate(schedule::require_schedule(schedule), step.shape), step.shape);
    for (int stage = 0; stage < stages; ++stage) {
        TeamOptions& team = step.teams.emplace_back();
        team.uses = list_buffer_uses(programs[static_cast<std::size_t>(stage)], stage, step.shape);
        team.row_bytes = {std::vector<std::size_t>(microbatches, 64)};
        step.costs.emplace_back();
        PassChoices first;
        for (int m = 0; m < microbatches; ++m) {
            team.passes[{stage, m}] = draw_options(random);
            first[{stage, m}] = 0;
            const auto seconds = static_cast<double>(draw(random, 1, 8));
            step.costs.back().push_back(
                {.forward = seconds, .backward_input = seconds, .backward_weight = seconds});
        }
        std::size_t least = std::numeric_limits<std::size_t>::max();
        visit_choices(
            team, [&](const PassChoices& choices) { least = std::min(least, find_largest(team, choices)); });
        team.max_bytes = {draw(random, least, find_largest(team, first) - 1)};
    }
    return step;
}

schedule::StepClock make_clock(const SmallStep& step, const std::string& schedule) {
    return schedule::StepClock(generate_phases(schedule::require_schedule(schedule), step.shape), step.shape);
}

double predict_seconds(const SmallStep& step, const std::vector<PassChoices>& choices,
                       schedule::StepClock& clock) {
    std::vector<std::vector<schedule::StageCost>> costs = step.costs;
    for (std::size_t t = 0; t < step.teams.size(); ++t)
        for (const auto& [key, option] : choices[t])
            costs[t][static_cast<std::size_t>(key.second)].backward_input +=
                step.teams[t].passes.at(key)[option].extra.backward_input;
    return clock.predict_seconds(schedule::StepCosts(costs));
}

class ChosenRecomputation : public testing::TestWithParam<const char*> {};

TEST_P(ChosenRecomputation, TakesAsLongAsTheBestOfAllChoices) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 6; ++round) {
        const SmallStep step = draw_step(random, GetParam());
        schedule::StepClock clock = make_clock(step, GetParam());
        std::vector<std::vector<PassChoices>> fitting(stages);
        for (std::size_t t = 0; t < stages; ++t)
            visit_choices(step.teams[t], [&](const PassChoices& choices) {
                if (find_largest(step.teams[t], choices) <= step.teams[t].max_bytes[0])
                    fitting[t].push_back(choices);
            });
        double best = std::numeric_limits<double>::infinity();
        for (const PassChoices& first : fitting[0])
            for (const PassChoices& second : fitting[1])
                best = std::min(best, predict_seconds(step, {first, second}, clock));

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        EXPECT_DOUBLE_EQ(predict_seconds(step, chosen->teams, clock), best);
    }
}

// No pass could recompute less.
TEST_P(ChosenRecomputation, HasNoNeedlessPart) {
    std::mt19937_64 random(8);
    for (int round = 0; round < 30; ++round) {
        const SmallStep step = draw_step(random, GetParam());
        schedule::StepClock clock = make_clock(step, GetParam());

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        for (std::size_t t = 0; t < stages; ++t) {
            const TeamOptions& team = step.teams[t];
            EXPECT_LE(find_largest(team, chosen->teams[t]), team.max_bytes[0]);
            for (const auto& [key, option] : chosen->teams[t]) {
                PassChoices less = chosen->teams[t];
                for (less[key] = 0; less[key] < option; ++less[key])
                    EXPECT_GT(find_largest(team, less), team.max_bytes[0]);
            }
        }
    }
}

TEST_P(ChosenRecomputation, IsMissingIfNothingFits) {
    std::mt19937_64 random(9);
    SmallStep step = draw_step(random, GetParam());
    step.teams[1].max_bytes = {64};
    schedule::StepClock clock = make_clock(step, GetParam());

    EXPECT_FALSE(choose_recomputation(step.teams, step.costs, {}, clock));
}

// Returns the seconds of a step that offloads what its buffers need beyond the limits.
double predict_with_offload(const SmallStep& step, const std::vector<PassChoices>& choices,
                            schedule::StepClock& clock) {
    std::vector<std::vector<schedule::StageCost>> costs = step.costs;
    std::vector<schedule::OffloadTimes> offload;
    for (std::size_t t = 0; t < step.teams.size(); ++t) {
        const TeamOptions& team = step.teams[t];
        for (const auto& [key, option] : choices[t])
            costs[t][static_cast<std::size_t>(key.second)].backward_input +=
                team.passes.at(key)[option].extra.backward_input;
        const std::vector<std::size_t> bytes = list_bytes(team, choices[t]);
        offload.push_back(predict_offload_times(team.uses, bytes, place_buffers(team.uses, bytes),
                                                team.max_bytes[0], team.offload_time_per_byte));
    }
    return clock.predict_seconds(schedule::StepCosts(costs), offload);
}

// Links from fast ones, which make recomputation needless, to slow ones. Each team may offload a part of what
// it needs beyond its limit.
TEST_P(ChosenRecomputation, WithOffloadTakesAsLongAsTheBestOfAllChoices) {
    std::mt19937_64 random(10);
    int offloading = 0;
    for (const double time_per_byte : {0.0001, 0.001, 0.004, 0.02, 0.1}) {
        SmallStep step = draw_step(random, GetParam());
        schedule::StepClock clock = make_clock(step, GetParam());
        std::vector<std::vector<PassChoices>> fitting(stages);
        for (std::size_t t = 0; t < stages; ++t) {
            TeamOptions& team = step.teams[t];
            team.team = static_cast<int>(t);
            team.offload_time_per_byte = time_per_byte;
            team.offloadable_bytes = {64 * draw(random, 5, 60)};
            visit_choices(team, [&](const PassChoices& choices) {
                if (find_largest(team, choices) <= team.max_bytes[0] + team.offloadable_bytes[0])
                    fitting[t].push_back(choices);
            });
        }
        double best = std::numeric_limits<double>::infinity();
        for (const PassChoices& first : fitting[0])
            for (const PassChoices& second : fitting[1])
                best = std::min(best, predict_with_offload(step, {first, second}, clock));

        const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

        ASSERT_TRUE(chosen);
        const double seconds = predict_with_offload(step, chosen->teams, clock);
        EXPECT_DOUBLE_EQ(seconds, best);
        EXPECT_DOUBLE_EQ(chosen->offload_wait, seconds - predict_seconds(step, chosen->teams, clock));
        for (std::size_t t = 0; t < stages; ++t)
            offloading += find_largest(step.teams[t], chosen->teams[t]) > step.teams[t].max_bytes[0] ? 1 : 0;
    }
    EXPECT_GT(offloading, 0);
    EXPECT_LT(offloading, 5 * stages);
}

INSTANTIATE_TEST_SUITE_P(Schedules, ChosenRecomputation, testing::Values("gpipe", "1f1b"),
                         [](const auto& schedule) { return std::string("of_") + schedule.param; });

}  // namespace
}  // namespace trireme::policy

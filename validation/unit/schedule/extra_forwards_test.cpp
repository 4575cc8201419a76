// Tests the schedule of EnvPipe, which is 1F1B with extra forwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/every_shape.hpp"

namespace trireme::schedule {
namespace {

PipelineShape lengthen(PipelineShape shape, const std::vector<int>& extra_forwards) {
    shape.extra_forwards = extra_forwards;
    return shape;
}

std::vector<Program> make_envpipe_programs(const PipelineShape& shape) {
    return generate(require_schedule("envpipe"), shape);
}

Verdict check_envpipe(PipelineShape shape, int slots) {
    shape.slots = slots;
    return verify_programs(lower(make_envpipe_programs(shape), shape), shape);
}

int count_warm_up(const Program& program) {
    const auto first_backward = std::ranges::find(program, Op::backward, &Instruction::op);
    return static_cast<int>(first_backward - program.begin());
}

// Returns programs that begin with `warm_ups[s]` forwards in stage s.
std::vector<Program> make_programs(const std::vector<int>& warm_ups, int microbatches) {
    std::vector<Program> programs;
    for (const int warm_up : warm_ups) {
        const int stage = static_cast<int>(programs.size());
        Program& program = programs.emplace_back();
        int backwards = 0;
        for (int m = 0; m < microbatches; ++m) {
            program.push_back({Op::forward, stage, m});
            if (m + 1 >= warm_up) program.push_back({Op::backward, stage, backwards++});
        }
        while (backwards < microbatches) program.push_back({Op::backward, stage, backwards++});
    }
    return programs;
}

TEST(ExtraForwards, LengthenTheWarmUp) {
    const PipelineShape shape = lengthen(make_grid_shape(3, 1, 1, 5), {2, 1, 0});

    EXPECT_EQ(texts_of(require_schedule("envpipe"), shape),
              (std::vector<std::string>{"0F0 0F1 0F2 0F3 0F4 0B0 0B1 0B2 0B3 0B4",
                                        "1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1B3 1B4",
                                        "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2F4 2B4"}));
}

TEST(ExtraForwards, AddOneActivationEach) {
    const PipelineShape shape = make_grid_shape(4, 1, 1, 8);

    EXPECT_EQ(check_envpipe(shape, 1).proof.peak_activations, (std::vector<int>{4, 3, 2, 1}));
    EXPECT_EQ(check_envpipe(lengthen(shape, {3, 2, 1, 0}), 1).proof.peak_activations,
              (std::vector<int>{7, 5, 3, 1}));
}

TEST(ExtraForwards, OfLaterStagesLengthenTheWarmUpOfEarlierOnes) {
    const std::vector<Program> programs =
        make_envpipe_programs(lengthen(make_grid_shape(3, 1, 1, 8), {0, 2, 3}));

    std::vector<int> warm_ups;
    for (const Program& program : programs) warm_ups.push_back(count_warm_up(program));
    EXPECT_EQ(warm_ups, (std::vector<int>{6, 5, 4}));
}

TEST(ExtraForwards, EqualOneForwardOneBackwardIfThereAreNone) {
    for (const PipelineShape& shape : {make_grid_shape(3, 2, 1, 5), make_uneven_shape({3, 1, 2}, 7)}) {
        const std::vector<Program> programs = generate(require_schedule("1f1b"), shape);
        EXPECT_EQ(make_envpipe_programs(shape), programs);
        EXPECT_EQ(make_envpipe_programs(lengthen(shape, {0, 0, 0})), programs);
    }
}

// Replicas of a stage take turns, so that their numbers of micro-batches differ.
TEST(ExtraForwards, RunWithUnevenReplicas) {
    std::mt19937 draw(7);
    const auto draw_up_to = [&](int limit) { return std::uniform_int_distribution(0, limit)(draw); };
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<int> replicas;
        std::vector<int> extra_forwards;
        for (int stage = 2 + draw_up_to(3); stage > 0; --stage) {
            replicas.push_back(1 + draw_up_to(2));
            extra_forwards.push_back(draw_up_to(3));
        }
        const PipelineShape shape = make_uneven_shape(replicas, 1 + draw_up_to(11));
        const std::vector<Program> programs = make_envpipe_programs(lengthen(shape, extra_forwards));
        const std::vector<Program> of_1f1b = generate(require_schedule("1f1b"), shape);

        EXPECT_TRUE(check_envpipe(lengthen(shape, extra_forwards), 12).is_proved());
        for (std::size_t stage = 0; stage < replicas.size(); ++stage) {
            for (const int team : shape.holders[stage]) {
                const auto t = static_cast<std::size_t>(team);
                const int turns = shape.count_turns(team, static_cast<int>(stage));
                EXPECT_GE(count_warm_up(programs[t]),
                          std::min(turns, count_warm_up(of_1f1b[t]) + extra_forwards[stage]));
            }
        }
    }
}

// With k slots, a channel holds 2 k messages at its two ends. There is a channel in each direction.
TEST(WarmUps, RunIfTheyNeverRiseAndFallByAtMostFourPerSlot) {
    std::mt19937 draw(5);
    for (int trial = 0; trial < 3000; ++trial) {
        const int stages = std::uniform_int_distribution(2, 5)(draw);
        const int microbatches = std::uniform_int_distribution(1, 10)(draw);
        PipelineShape shape = make_grid_shape(stages, 1, 1, microbatches);
        shape.slots = std::uniform_int_distribution(1, 3)(draw);
        std::vector<int> warm_ups;
        for (int stage = 0; stage < stages; ++stage)
            warm_ups.push_back(std::uniform_int_distribution(1, microbatches)(draw));
        if (trial % 2 == 0) std::ranges::sort(warm_ups, std::greater{});
        bool must_run = true;
        for (std::size_t stage = 1; stage < warm_ups.size(); ++stage) {
            const int fall = warm_ups[stage - 1] - warm_ups[stage];
            must_run = must_run && fall >= 0 && fall <= 4 * shape.slots;
        }

        const std::vector<Program> programs = make_programs(warm_ups, microbatches);
        const bool runs =
            find_lowering_obstacle({.prologue = std::vector<Program>(programs.size()), .body = programs}, shape)
                .empty() &&
            verify_programs(lower(programs, shape), shape).is_proved();

        EXPECT_EQ(runs, must_run) << testing::PrintToString(warm_ups) << " with " << microbatches << ", slots "
                                  << shape.slots;
    }
}

}  // namespace
}  // namespace trireme::schedule

// Tests schedules that keep work in flight over the end of a step: what they repeat, which weights they use,
// and that any number of their steps is proved.
#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Texts = std::vector<std::string>;

PipelineShape of_many_steps(const Schedule& kind, PipelineShape shape, int steps) {
    shape.steps = steps;
    return apply_update_rule(kind, shape);
}

Verdict verdict_on(const Schedule& kind, const PipelineShape& shape, int steps) {
    const Phases phases = lower_phases(generate_phases(kind, shape), shape);
    return verify_programs(unroll(phases, shape, steps), of_many_steps(kind, shape, steps));
}

TEST(PipeDream, RepeatsAForwardAndABackwardWithOlderWeights) {
    const Phases phases = generate_phases(require_schedule("pipedream"), make_grid_shape(3, 1, 1, 1));

    EXPECT_EQ(texts_of(phases.prologue), (Texts{"0F0 0F1", "1F0", ""}));
    EXPECT_EQ(texts_of(phases.body),
              (Texts{"0F2 0B0@2 REDUCE0 STEP0", "1F1 1B0@1 REDUCE1 STEP1", "2F0 2B0 REDUCE2 STEP2"}));
    EXPECT_EQ(count_look_ahead_steps(phases, 1), 2);
}

TEST(PipeDream, UsesOneWeightVersionPerMicrobatchWithVerticalSync) {
    const Phases phases = generate_phases(require_schedule("pipedream-vertical"), make_grid_shape(3, 1, 1, 1));

    EXPECT_EQ(texts_of(phases.prologue),
              (Texts{"0F0 0F1", "1F0 1F1 1B0 REDUCE1", "2F0 2B0 REDUCE2 2F1 2B1 REDUCE2"}));
    EXPECT_EQ(texts_of(phases.body),
              (Texts{"0F2 0B0@2 REDUCE0 STEP0", "1F2 1B1@1 REDUCE1 STEP1", "2F2 2B2 REDUCE2 STEP2"}));
}

TEST(PipeDream2bw, DelaysEachUpdateByOneStep) {
    const Phases phases = generate_phases(require_schedule("pipedream-2bw"), make_grid_shape(2, 1, 1, 2));

    EXPECT_EQ(texts_of(phases.prologue), (Texts{"0F0 0F1 0B0", "1F0 1B0 1F1 1B1 REDUCE1"}));
    EXPECT_EQ(texts_of(phases.body),
              (Texts{"0F2 0B1@1 REDUCE0 0F3 0B2 STEP0", "1F2 1B2 1F3 1B3 REDUCE1 STEP1"}));
}

TEST(PipeDream, GivesEachRowOfAGridItsOwnMicrobatches) {
    const Phases phases = generate_phases(require_schedule("pipedream"), make_grid_shape(2, 2, 1, 1));

    EXPECT_EQ(texts_of(phases.prologue), (Texts{"0F0", "", "0F1", ""}));
    EXPECT_EQ(texts_of(phases.body), (Texts{"0F2 0B0@1 REDUCE0 STEP0", "1F0 1B0 REDUCE1 STEP1",
                                            "0F3 0B1@1 REDUCE0 STEP0", "1F1 1B1 REDUCE1 STEP1"}));
}

TEST(PipeDream2bw, RejectsFewerMicrobatchesThanItsStagesNeed) {
    EXPECT_EQ(
        validation::catch_message<ConfigError>(
            [] { generate_phases(require_schedule("pipedream-2bw"), make_grid_shape(4, 1, 1, 2)); }),
        "schedule pipedream-2bw uses the weights of one update ago, but with 2 micro-batches and 4 stages the "
        "first stage runs 2 steps ahead; use --microbatches 3, or --schedule pipedream-vertical");
}

class AsynchronousSchedule : public testing::TestWithParam<Schedule> {};

// Tests pipes of 1 to 8 stages, up to 3 replicas and up to 12 micro-batches, except shapes that 2BW rejects.
TEST_P(AsynchronousSchedule, IsProvedForAnyNumberOfSteps) {
    for (int pipe = 1; pipe <= 8; ++pipe) {
        for (int replicas = 1; replicas <= 3; ++replicas) {
            for (int each = 1; each <= 12; each += each < 4 ? 1 : 4) {
                const PipelineShape shape = make_grid_shape(pipe, replicas, 1, each);
                SCOPED_TRACE(cat("pipe ", pipe, " replicas ", replicas, " micro-batches ", each));
                if (GetParam() == require_schedule("pipedream-2bw") && each < pipe - 1) continue;
                const Phases phases = generate_phases(GetParam(), shape);
                for (const int steps : {1, 2, count_representative_steps(phases, shape.microbatches), 11}) {
                    const Verdict verdict = verdict_on(GetParam(), shape, steps);
                    ASSERT_TRUE(verdict.is_proved()) << steps << " steps: " << verdict.fault->what;
                }
            }
        }
    }
}

TEST_P(AsynchronousSchedule, IsProvedForUnequalReplicas) {
    for (const std::vector<int>& replicas :
         std::vector<std::vector<int>>{{3, 3, 2}, {2, 1}, {1, 2}, {2, 1, 1}}) {
        const PipelineShape shape = make_uneven_shape(replicas, 6);
        const Verdict verdict = verdict_on(GetParam(), shape, 8);

        EXPECT_TRUE(verdict.is_proved()) << verdict.fault->what;
    }
}

TEST_P(AsynchronousSchedule, HasNoBubbleOnceThePipelineIsFull) {
    for (const int pipe : {2, 4, 8}) {
        const PipelineShape shape = make_grid_shape(pipe, 1, 1, pipe);
        const std::vector<StageCost> costs(static_cast<std::size_t>(pipe));
        const Phases phases = lower_phases(generate_phases(GetParam(), shape), shape);
        const auto makespan = [&](int steps) {
            const PipelineShape many = of_many_steps(GetParam(), shape, steps);
            return predict(unroll(phases, shape, steps), many, costs).makespan;
        };

        EXPECT_EQ(makespan(21) - makespan(20), 3.0 * pipe);
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, AsynchronousSchedule,
                         testing::Values(require_schedule("pipedream"), require_schedule("pipedream-vertical"),
                                         require_schedule("pipedream-2bw")),
                         [](const auto& kind) {
                             std::string name = kind.param.name;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// Versions are counted as in Narayanan et al. (2019): a stage has one version for each stage from itself to the
// last.
TEST(WeightVersions, DecreaseTowardsTheLastStageInPipeDream) {
    const Proof proof = verdict_on(require_schedule("pipedream"), make_grid_shape(4, 1, 1, 1), 10).proof;

    for (int stage = 0; stage < 4; ++stage) {
        const auto s = static_cast<std::size_t>(stage);
        EXPECT_EQ(proof.weight_versions[s][s], 4 - stage);
        EXPECT_EQ(proof.peak_activations[s], 4 - stage);
        EXPECT_EQ(proof.peak_gradients[s], 1);
    }
}

TEST(WeightVersions, AreAtMostTwoInPipeDream2bw) {
    const Proof proof = verdict_on(require_schedule("pipedream-2bw"), make_grid_shape(4, 1, 1, 8), 10).proof;

    for (std::size_t stage = 0; stage < 4; ++stage) {
        EXPECT_EQ(proof.weight_versions[stage][stage], stage == 3 ? 1 : 2);
        EXPECT_EQ(proof.peak_activations[stage], static_cast<int>(4 - stage));
        EXPECT_EQ(proof.peak_gradients[stage], 2);
    }
}

TEST(WeightVersions, AreOneInOneForwardOneBackward) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 3);
    const Proof proof = verdict_on(require_schedule("1f1b"), shape, 1).proof;

    EXPECT_EQ(proof.weight_versions, (std::vector<std::vector<int>>{{1, 0}, {0, 1}}));
    EXPECT_EQ(proof.peak_gradients, (std::vector<int>{1, 1}));
}

std::string fault_of(const std::vector<std::string>& lines, PipelineShape shape) {
    std::string csv;
    for (const std::string& line : lines) {
        std::string cells = line;
        std::replace(cells.begin(), cells.end(), ' ', ',');
        csv += cells + '\n';
    }
    return verify_programs(parse_phases_csv(csv, "the test").body, shape).fault.value_or(Fault{}).what;
}

// Naive pipelining without a flush uses different weights in the two passes.
TEST(Weights, MustBeTheSameInBothPasses) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 1);
    shape.steps = 2;

    EXPECT_EQ(
        fault_of({"0F0 0F1 0B0 REDUCE0 STEP0 0B1 REDUCE0 STEP0"}, shape),
        "0B1, the 6th instruction of team 0, uses the weights of stage 0 after 1 update, but 0F1 uses them "
        "after 0 updates; both passes must use the same weights");
    EXPECT_EQ(fault_of({"0F0 0F1 0B0 REDUCE0 STEP0 0B1@1 REDUCE0 STEP0"}, shape), "");
}

TEST(Weights, MustMatchAcrossStagesUnlessUpdatedIndependently) {
    const Phases phases =
        lower_phases(generate_phases(require_schedule("pipedream"), make_grid_shape(2, 1, 1, 1)),
                     make_grid_shape(2, 1, 1, 1));
    PipelineShape shape = of_many_steps(require_schedule("pipedream"), make_grid_shape(2, 1, 1, 1), 3);
    shape.updates_stages_independently = false;

    const Verdict verdict = verify_programs(unroll(phases, make_grid_shape(2, 1, 1, 1), 3), shape);

    ASSERT_FALSE(verdict.is_proved());
    EXPECT_EQ(verdict.fault->what,
              "1F1, the 8th instruction of team 1, uses weights after 1 update, but 0F1 uses weights after 0 "
              "updates; all stages must use equally old weights for a micro-batch");
}

// A reduction does not progress while its team waits for a message. Here team 1 has no buffer for 1B2 before
// team 0 has read 1B1, which it does after its first STEP.
TEST(Updates, CanDeadlockWithTeamsWaitingForABuffer) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    shape.steps = 3;
    const Texts lines{
        "0F0 0SEND_F0 0F1 0SEND_F1 0F2 0SEND_F2 0RECV_B0 0B0 REDUCE0 STEP0 "
        "0RECV_B1 0B1@1 REDUCE0 STEP0 0RECV_B2 0B2@2 REDUCE0 STEP0",
        "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 REDUCE1 1F1 1RECV_F2 1B1 1SEND_B1 REDUCE1 1F2 1B2 1SEND_B2 REDUCE1 "
        "STEP1 STEP1 STEP1"};

    EXPECT_EQ(fault_of(lines, shape),
              "team 0 is stuck at STEP0, which waits for the STEPs of all teams; team 1 is "
              "stuck at 1B2, which waits for a free buffer for gradients to team 0 (the channel "
              "has 1)");
    shape.slots = 2;
    EXPECT_EQ(fault_of(lines, shape), "");
}

TEST(Collectives, AreRequiredOncePerStep) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 1);
    shape.steps = 2;

    EXPECT_EQ(fault_of({"0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0"}, shape),
              "team 0 holds stage 0, but its program of 7 instructions has STEP0 for only 1 of 2 "
              "steps");
    EXPECT_EQ(
        fault_of({"0F0 0B0 REDUCE0 REDUCE0 STEP0 0F1 0B1 STEP0"}, shape),
        "REDUCE0, the 4th instruction of team 0, needs 0B1 or 0W1 before it, but 0B1 is the 7th instruction");
    EXPECT_EQ(
        fault_of({"0F0 0B0 REDUCE0 STEP0 STEP0 0F1 0B1 REDUCE0"}, shape),
        "STEP0, the 5th instruction of team 0, needs REDUCE0 before it, but REDUCE0 is the 8th instruction");
}

}  // namespace
}  // namespace trireme::schedule

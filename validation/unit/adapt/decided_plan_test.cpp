#include "trireme/adapt/decided_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "error_message.hpp"
#include "trireme/setup/planning.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme {
namespace {

using validation::corpus_of_lengths;
using validation::message_of;
using validation::ScratchFolder;

constexpr int ranks = 4;

Layout two_stages(std::size_t cut) {
    return {.layers = 7,
            .stages = {{.layers = {0, cut},
                        .replicas = {{.ranks = {2, 0}, .shares = {1, 1}}, {.ranks = {3}, .shares = {1}}}},
                       {.layers = {cut, 7 - cut}, .replicas = {{.ranks = {1}, .shares = {1}}}}},
            .idle = {}};
}

class ADecidedPlan : public ::testing::Test {
protected:
    ADecidedPlan() {
        corpus_of_lengths(folder_, {5, 9, 3});
        config_.data.corpus = folder_.file("corpus.h5");
        config_.data.validation_share = 0;
        config_.model.name = "gpt2-tiny";
        config_.model.layers = 2;
        config_.model.width = 16;
        config_.model.heads = 4;
        config_.model.positions = 10;
        config_.run.steps = 10;
        config_.policy.decisions = "d.jsonl";
    }

    DecidedPlan plan_for(const Decision& decision) const {
        const auto setup = set_up(config_, ranks);
        return decided_plan(config_, setup, setup, ranks, decision);
    }
    std::string refusal(const Decision& decision) const {
        return message_of<ConfigError>([&] { plan_for(decision); });
    }

    ScratchFolder folder_;
    RunConfig config_;
};

TEST_F(ADecidedPlan, HasTheLayoutAndOtherwiseWhatThePlanBeforeItHad) {
    config_.schedule.schedule = "gpipe";
    config_.schedule.microbatches = 2;

    const DecidedPlan decided = plan_for({.step = 3, .layout = two_stages(4)});

    EXPECT_EQ(decided.plan.layout, two_stages(4));
    EXPECT_EQ(decided.plan.schedule, "gpipe");
    EXPECT_EQ(decided.plan.micro_batches(), 8);  // of four replicas on a grid
    EXPECT_EQ(decided.micro_batch_samples, 1U);
}

TEST_F(ADecidedPlan, HasTheScheduleAndTheMicroBatchesThatItNames) {
    const DecidedPlan decided =
        plan_for({.step = 3, .layout = two_stages(1), .micro_batches = 3, .schedule = "inter-layer"});

    EXPECT_EQ(decided.plan.schedule, "inter-layer");
    EXPECT_EQ(decided.plan.micro_batches(), 3);
    EXPECT_EQ(decided.micro_batch_samples, 3U);  // of eight
}

TEST_F(ADecidedPlan, IsRefusedWhereItDoesNotFitTheRun) {
    Layout too_few = two_stages(4);
    too_few.stages[0].replicas.pop_back();

    EXPECT_EQ(
        refusal({.step = 3, .layout = too_few}),
        "--decisions d.jsonl, step 3: rank 3 of 4 is nowhere in its layout; use every rank, call these idle, "
        "or start 3 ranks");
    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4), .micro_batches = 9}),
              "--decisions d.jsonl, step 3: --batch 8 is smaller than 9 micro-batches; each needs at least one "
              "sample");
    EXPECT_EQ(
        refusal({.step = 3, .layout = two_stages(4), .schedule = "1f2b"}).find("--decisions d.jsonl, step 3: "),
        0U);
}

TEST_F(ADecidedPlan, IsRefusedWhereAnotherOneWasRecorded) {
    const auto setup = set_up(config_, ranks);
    const std::string own = hash_of(setup.plan);
    const std::string next = hash_of(plan_for({.step = 3, .layout = two_stages(4)}).plan);
    const std::string advice =
        " when the decision was recorded; use the options of that run, or remove \"from\" and \"to\"";

    EXPECT_NO_THROW(plan_for({.step = 3, .layout = two_stages(4), .from = own, .to = next}));
    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4), .from = next}),
              cat("--decisions d.jsonl, step 3: the plan before it is ", own, ", and was ", next, advice));
    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4), .to = own}),
              cat("--decisions d.jsonl, step 3: the plan after it is ", next, ", and was ", own, advice));
}

TEST_F(ADecidedPlan, IsRefusedWhereStagesMayHaveBeenUpdatedUnlikeOften) {
    config_.model.tied = false;
    config_.layout.pipe = 4;
    config_.schedule.schedule = "pipedream";
    EXPECT_NO_THROW(plan_for({.step = 3, .layout = two_stages(4)}));

    config_.run.on_nan = OnNan::skip;

    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4)}),
              "--decisions d.jsonl, step 3: schedule pipedream may skip updates of single stages with "
              "--on-nan skip, and such a state cannot be moved; use --on-nan stop");
}

// The largest of what any rank holds at any time, by the parts of the state that are there then.
TEST_F(ADecidedPlan, NeedsTheOldPartsThatHaveNotGoneAndTheNewOnesThatHaveCome) {
    config_.layout.shard_optimizer = false;
    const auto setup = set_up(config_, ranks);
    const DecidedPlan decided = plan_for({.step = 3, .layout = two_stages(6)});
    const SizedPlan from = setup;
    const SizedPlan to = decided.sized(setup);
    const GradientPlan held = gradient_plan(from);
    const GradientPlan to_hold = gradient_plan(to);
    const std::size_t before = plan_memory(from, &config_.optimizer, held, 1).parameters;
    const std::size_t after = plan_memory(to, &config_.optimizer, to_hold, 1).parameters;
    ASSERT_LT(after, before);  // a rank that keeps its last layer

    // Values and two moments, each of `before` bytes until it has moved, and then of `after`.
    EXPECT_EQ(moving_bytes({from, held, to, to_hold}, config_, 1), 3 * before + after);
    EXPECT_EQ(moving_bytes({to, to_hold, from, held}, config_, 1), after + 3 * before);
}

// Old moments are there until the first step with the new plan updates.
TEST_F(ADecidedPlan, NeedsTheOldMomentsBesideAWholeStepWhereTheyFollow) {
    const auto setup = set_up(config_, ranks);
    const DecidedPlan decided = plan_for({.step = 3, .layout = two_stages(4)});
    const SizedPlan to = decided.sized(setup);
    const GradientPlan held = gradient_plan(setup);
    const GradientPlan to_hold = gradient_plan(to);
    config_.policy.move = MoveWay::overlap;

    EXPECT_EQ(moving_bytes({setup, held, to, to_hold}, config_, 1),
              plan_memory(setup, &config_.optimizer, held, 1).optimizer +
                  plan_memory(to, &config_.optimizer, to_hold, 1).total());
}

TEST_F(ADecidedPlan, IsRefusedWhereMomentsCannotFollow) {
    config_.policy.move = MoveWay::overlap;
    EXPECT_NO_THROW(plan_for({.step = 3, .layout = two_stages(4)}));

    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4), .schedule = "pipedream-2bw"}),
              "--decisions d.jsonl, step 3: schedule pipedream-2bw keeps micro-batches in flight across "
              "steps, so moments cannot follow during a step; use --move stop");
}

TEST_F(ADecidedPlan, KeepsItsWayToTheMemoryLimit) {
    const auto free = set_up(config_, ranks);
    const DecidedPlan decided = plan_for({.step = 3, .layout = two_stages(4)});
    const SizedPlan from = free;
    const SizedPlan to = decided.sized(free);
    const GradientPlan held = gradient_plan(from);
    const GradientPlan to_hold = gradient_plan(to);
    std::size_t moving = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        moving = std::max(moving, moving_bytes({from, held, to, to_hold}, config_, rank));
    }

    config_.layout.memory_limit = moving + (std::size_t{2} << 20);
    EXPECT_EQ(plan_for({.step = 3, .layout = two_stages(4)}).elements_in_flight, (std::size_t{2} << 20) / 4);

    config_.layout.memory_limit = moving + (std::size_t{1} << 20) - 1;
    EXPECT_NE(refusal({.step = 3, .layout = two_stages(4)})
                  .find(" bytes during the change to this plan, but --memory-limit is "),
              std::string::npos)
        << refusal({.step = 3, .layout = two_stages(4)});
}

TEST_F(ADecidedPlan, IsRefusedBehindTheLastStep) {
    const auto setup = set_up(config_, ranks);
    config_.policy.decisions =
        folder_.write("late.jsonl", json_of(Decision{.step = 10, .layout = two_stages(4)}));

    EXPECT_EQ(
        message_of<ConfigError>([&] { recorded_plans(config_, setup, ranks); }),
        cat("--decisions ", config_.policy.decisions,
            ", step 10: the run has 10 steps, and none after this one; remove the line, or train longer"));
}

TEST_F(ADecidedPlan, FollowsTheOneBeforeIt) {
    const auto setup = set_up(config_, ranks);
    config_.policy.decisions =
        folder_.write("two.jsonl", json_of(Decision{.step = 2, .layout = two_stages(4), .micro_batches = 5}) +
                                       "\n" + json_of(Decision{.step = 4, .layout = two_stages(2)}));

    const RecordedPlans recorded = recorded_plans(config_, setup, ranks);

    ASSERT_EQ(recorded.plans.size(), 2U);
    EXPECT_EQ(recorded.plans[1].plan.layout, two_stages(2));
    EXPECT_EQ(recorded.plans[1].plan.micro_batches(), 5);
}

}  // namespace
}  // namespace trireme

#include "trireme/adapt/plan_transition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "error_message.hpp"
#include "trireme/adapt/resumed_plan.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/planning.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::adapt {
namespace {

using validation::catch_message;
using validation::make_corpus_with_lengths;
using validation::ScratchFolder;

constexpr int ranks = 4;

layout::Layout two_stages(std::size_t cut) {
    return {.layers = 7,
            .stages = {{.layers = {0, cut},
                        .replicas = {{.ranks = {2, 0}, .shares = {1, 1}}, {.ranks = {3}, .shares = {1}}}},
                       {.layers = {cut, 7 - cut}, .replicas = {{.ranks = {1}, .shares = {1}}}}},
            .idle = {}};
}

class TransitionBetweenPlans : public ::testing::Test {
protected:
    TransitionBetweenPlans() {
        make_corpus_with_lengths(folder_, {5, 9, 3});
        config_.data.corpus = folder_.file("corpus.h5");
        config_.data.validation_fraction = 0;
        config_.model.name = "gpt2-tiny";
        config_.model.layers = 2;
        config_.model.width = 16;
        config_.model.heads = 4;
        config_.model.positions = 10;
        config_.run.steps = 10;
        config_.policy.decisions = "d.jsonl";
    }

    // Returns the plan to which the decision leads from the plan of the options.
    setup::PlanState plan_for(const plan::Decision& decision) const {
        const auto setup = setup::set_up(config_, ranks);
        return plan_transition(setup.job, setup.current, decision).to;
    }
    std::string refusal(const plan::Decision& decision) const {
        return catch_message<ConfigError>([&] { plan_for(decision); });
    }

    ScratchFolder folder_;
    config::RunConfig config_;
};

TEST_F(TransitionBetweenPlans, ChangesTheLayoutAndKeepsTheRest) {
    config_.schedule.schedule = "gpipe";
    config_.schedule.microbatches = 2;

    const setup::PlanState decided = plan_for({.step = 3, .layout = two_stages(4)});

    EXPECT_EQ(decided.plan.layout, two_stages(4));
    EXPECT_EQ(decided.plan.schedule, "gpipe");
    EXPECT_EQ(decided.plan.microbatches(), 8);  // 2 for each of four replicas on a grid
    EXPECT_EQ(decided.microbatch_samples, 1U);
}

TEST_F(TransitionBetweenPlans, TakesTheScheduleAndMicrobatchesOfTheDecision) {
    const setup::PlanState decided =
        plan_for({.step = 3, .layout = two_stages(1), .microbatches = 3, .schedule = "inter-layer"});

    EXPECT_EQ(decided.plan.schedule, "inter-layer");
    EXPECT_EQ(decided.plan.microbatches(), 3);
    EXPECT_EQ(decided.microbatch_samples, 3U);  // 8 samples in 3 micro-batches
}

TEST_F(TransitionBetweenPlans, IsRejectedIfItDoesNotFitTheRun) {
    layout::Layout too_few = two_stages(4);
    too_few.stages[0].replicas.pop_back();

    EXPECT_EQ(refusal({.step = 3, .layout = too_few}),
              "--decisions d.jsonl, step 3: the new layout does not name rank 3 of 4; add every rank to a "
              "replica or to \"idle\", or start only 3 ranks");
    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4), .microbatches = 9}),
              "--decisions d.jsonl, step 3: --batch 8 is smaller than 9 micro-batches; raise it, because each "
              "micro-batch needs a sample");
    EXPECT_EQ(
        refusal({.step = 3, .layout = two_stages(4), .schedule = "1f2b"}).find("--decisions d.jsonl, step 3: "),
        0U);
}

TEST_F(TransitionBetweenPlans, IsRejectedIfThePlansDifferFromTheRecordedOnes) {
    const auto setup = setup::set_up(config_, ranks);
    const std::string own = compute_hash(setup.current.plan);
    const std::string next = compute_hash(plan_for({.step = 3, .layout = two_stages(4)}).plan);
    const std::string advice =
        " in the recorded run; use the options of that run, or remove \"from\" and \"to\"";

    EXPECT_NO_THROW(plan_for({.step = 3, .layout = two_stages(4), .from = own, .to = next}));
    EXPECT_EQ(
        refusal({.step = 3, .layout = two_stages(4), .from = next}),
        cat("--decisions d.jsonl, step 3: the plan before the change is ", own, ", but was ", next, advice));
    EXPECT_EQ(
        refusal({.step = 3, .layout = two_stages(4), .to = own}),
        cat("--decisions d.jsonl, step 3: the plan after the change is ", next, ", but was ", own, advice));
}

TEST_F(TransitionBetweenPlans, IsRejectedIfStagesMayHaveUnequalNumbersOfUpdates) {
    config_.model.tied = false;
    config_.layout.pipe = 4;
    config_.schedule.schedule = "pipedream";
    EXPECT_NO_THROW(plan_for({.step = 3, .layout = two_stages(4)}));

    config_.run.on_nan = config::OnNan::skip;

    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4)}),
              "--decisions d.jsonl, step 3: with --on-nan skip, schedule pipedream may skip updates of "
              "single stages, so the state cannot be moved to another plan; use --on-nan stop");
}

// The peak counts the old parts of the state that have not moved yet and the new parts that exist already.
TEST_F(TransitionBetweenPlans, CountsUnmovedOldPartsAndReceivedNewPartsAsMemory) {
    config_.layout.shard_optimizer = false;
    const auto [job, first, origin, keeps_pruning] = setup::set_up(config_, ranks);
    const PlanTransition there = plan_transition(job, first, {.step = 3, .layout = two_stages(6)});
    const std::size_t before =
        setup::predict_rank_memory({job, first}, &config_.optimizer, first.gradients, 1).parameters;
    const std::size_t after =
        setup::predict_rank_memory({job, there.to}, &config_.optimizer, there.to.gradients, 1).parameters;
    ASSERT_LT(after, before);  // rank 1 keeps only its last layer
    const PlanTransition back{.from = there.to, .to = first};

    // Values and two moments take `before` bytes each until they have moved, and `after` bytes from then on.
    EXPECT_EQ(there.predict_moving_bytes(job, 1), 3 * before + after);
    EXPECT_EQ(back.predict_moving_bytes(job, 1), after + 3 * before);

    // State that may be offloaded is in one buffer, so that a moment which has moved does not free its memory.
    setup::PlanState from = first;
    from.step_limits.assign(ranks, {.bytes = 1024, .offloadable_bytes = 2 * before});
    const PlanTransition with_offload{.from = from, .to = there.to};
    EXPECT_EQ(with_offload.predict_moving_bytes(job, 1), 3 * before + 2 * after);
}

TEST_F(TransitionBetweenPlans, KeepsParametersInPlaceIfBlocksFreezeInTheSameLayout) {
    config_.layout.shard_optimizer = false;
    const auto [job, first, origin, keeps_pruning] = setup::set_up(config_, ranks);
    const PlanTransition there =
        plan_transition(job, first, {.step = 3, .layout = first.plan.layout, .frozen = 1});

    EXPECT_TRUE(there.moves_state);
    EXPECT_EQ(there.moves.values.count_local_elements() + there.moves.values.count_sent_elements(), 0U);
    std::size_t parameters = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const setup::RankMemory before =
            setup::predict_rank_memory({job, first}, &config_.optimizer, first.gradients, rank);
        parameters += before.parameters;
        EXPECT_LE(there.predict_moving_bytes(job, rank),
                  before.parameters + before.optimizer + before.optimizer / 2);
    }
    EXPECT_EQ(there.count_bytes_in_place(job), parameters);
    EXPECT_GT(there.count_kept_bytes(job), parameters);  // moments of blocks that are still trained
}

// The two moments of rank 3, which has the most parameters, are copied to the disk and back.
TEST_F(TransitionBetweenPlans, PredictsTheTimeForStateThatMayBeOffloaded) {
    config_.layout.shard_optimizer = false;
    config_.policy.elastic = config::Elastic::length;
    config_.layout.memory_limit = std::size_t{1} << 30;
    const auto [job, first, origin, keeps_pruning] = setup::set_up(config_, ranks);
    PlanTransition there = plan_transition(job, first, {.step = 3, .layout = two_stages(6)});
    EXPECT_EQ(predict_offload_seconds(job, there.from, there.to),
              0);  // the limit is large enough for all steps

    there.to.step_limits.assign(ranks, {.bytes = 1024, .offloadable_bytes = 1});

    const std::size_t after =
        setup::predict_rank_memory({job, there.to}, &config_.optimizer, there.to.gradients, 3).parameters;
    EXPECT_DOUBLE_EQ(predict_offload_seconds(job, there.from, there.to),
                     2 * 2 * static_cast<double>(after) / 1e9);
}

// The old moments stay in memory until the first update under the new plan.
TEST_F(TransitionBetweenPlans, CountsOldMomentsPlusAFullStepIfMomentsMoveLater) {
    config_.policy.move = config::MoveMethod::overlap;
    const auto [job, first, origin, keeps_pruning] = setup::set_up(config_, ranks);
    const PlanTransition there = plan_transition(job, first, {.step = 3, .layout = two_stages(4)});

    EXPECT_EQ(
        there.predict_moving_bytes(job, 1),
        setup::predict_rank_memory({job, first}, &config_.optimizer, first.gradients, 1).optimizer +
            setup::predict_rank_memory({job, there.to}, &config_.optimizer, there.to.gradients, 1).total());
}

TEST_F(TransitionBetweenPlans, IsRejectedIfMomentsCannotMoveLater) {
    config_.policy.move = config::MoveMethod::overlap;
    EXPECT_NO_THROW(plan_for({.step = 3, .layout = two_stages(4)}));

    EXPECT_EQ(refusal({.step = 3, .layout = two_stages(4), .schedule = "pipedream-2bw"}),
              "--decisions d.jsonl, step 3: schedule pipedream-2bw keeps micro-batches in flight across "
              "steps, so --move overlap cannot move the optimizer state during a step; use --move stop");
}

TEST_F(TransitionBetweenPlans, KeepsItsMovesWithinTheMemoryLimit) {
    const plan::Decision decision{.step = 3, .layout = two_stages(4)};
    const auto limited_elements = [&] {
        const auto setup = setup::set_up(config_, ranks);
        return plan_transition(setup.job, setup.current, decision).max_elements_in_flight;
    };
    const auto free = setup::set_up(config_, ranks);
    const PlanTransition there = plan_transition(free.job, free.current, decision);
    std::size_t moving = 0;
    for (int rank = 0; rank < ranks; ++rank)
        moving = std::max(moving, there.predict_moving_bytes(free.job, rank));

    config_.layout.memory_limit = moving + (std::size_t{2} << 20);
    EXPECT_EQ(limited_elements(), (std::size_t{2} << 20) / 4);

    config_.layout.memory_limit = moving + (std::size_t{1} << 20) - 1;
    EXPECT_NE(refusal(decision).find(" bytes during the change to this plan, but --memory-limit is "),
              std::string::npos)
        << refusal(decision);
}

TEST_F(TransitionBetweenPlans, MovesNothingIfOnlySharesOfWorkChange) {
    config_.layout.tensor = ranks;
    config_.policy.straggler = config::StragglerPolicy::resize;
    const auto setup = setup::set_up(config_, ranks);

    const PlanTransition transition = plan_transition(
        setup.job, setup.current, {.step = 3, .layout = setup.current.plan.layout, .skipped = {0, 0.5, 0, 0}});

    EXPECT_FALSE(transition.moves_state);
    EXPECT_EQ(transition.count_moved_bytes(setup.job) + transition.count_kept_bytes(setup.job), 0U);
    EXPECT_EQ(transition.to.plan.skipped, (std::vector<double>{0, 0.5, 0, 0}));
}

TEST_F(TransitionBetweenPlans, IsRejectedAfterTheLastStep) {
    config_.policy.decisions =
        folder_.write("late.jsonl", to_json(plan::Decision{.step = 10, .layout = two_stages(4)}));
    auto setup = setup::set_up(config_, ranks);

    EXPECT_EQ(
        catch_message<ConfigError>([&] { choose_first_plan(setup, 0); }),
        cat("--decisions ", config_.policy.decisions,
            " changes the plan after step 10, but the run ends after step 10; remove this decision, or train "
            "longer"));
}

// A run that resumes after step 3 has applied the first decision; the second one starts from its plan.
TEST_F(TransitionBetweenPlans, StartsFromThePlanOfThePreviousDecision) {
    config_.policy.decisions = folder_.write(
        "two.jsonl", to_json(plan::Decision{.step = 2, .layout = two_stages(4), .microbatches = 5}) + "\n" +
                         to_json(plan::Decision{.step = 4, .layout = two_stages(2)}));
    auto setup = setup::set_up(config_, ranks);
    setup.job.completed_steps = 3;

    const RecordedChanges left = choose_first_plan(setup, 0);

    EXPECT_EQ(setup.current.plan.layout, two_stages(4));
    ASSERT_EQ(left.decisions.size(), 1U);
    EXPECT_GT(left.memory.rank, 0U);
    const PlanTransition second = plan_transition(setup.job, setup.current, left.decisions.front());
    EXPECT_EQ(second.to.plan.layout, two_stages(2));
    EXPECT_EQ(second.to.plan.microbatches(), 5);
}

}  // namespace
}  // namespace trireme::adapt

#include "trireme/adapt/plan_chooser.hpp"

#include <gtest/gtest.h>

#include "unit/data/small_corpus.hpp"

namespace trireme::adapt {
namespace {

using validation::make_corpus_with_lengths;
using validation::ScratchFolder;

// Two tensor ranks; rank 1 is four times as slow as rank 0.
class MigrationPolicy : public ::testing::Test {
protected:
    MigrationPolicy() {
        make_corpus_with_lengths(folder_, {5, 9, 3});
        config_.data.corpus = folder_.file("corpus.h5");
        config_.data.validation_fraction = 0;
        config_.model.name = "gpt2-tiny";
        config_.model.layers = 2;
        config_.model.width = 16;
        config_.model.heads = 4;
        config_.model.positions = 10;
        config_.layout.tensor = 2;
        config_.run.steps = 100;
        config_.policy.straggler = config::StragglerPolicy::migrate;
        config_.policy.look_every = 5;
        setup_.emplace(setup::set_up(config_, 2));
        deciding_.emplace(setup_->job, setup_->current, setup_->origin, std::vector<plan::Decision>{});
    }

    // Observes five steps in which rank 1 computes the fraction `part` of the matmul work of both ranks. Each
    // rank holds half of it.
    void take_steps(double seconds, double part) {
        for (int step = 0; step < 5; ++step, ++steps_) {
            records::StepOutcome outcome;
            outcome.step = steps_;
            outcome.seconds = seconds;
            for (const auto& [share, pace] : {std::pair{1 - part, 1.0}, std::pair{part, 4.0}}) {
                const double flops = 2e9 * share;
                outcome.ranks.push_back({.matmuls = 1e-9 * flops * pace,
                                         .matmul_flops = flops,
                                         .full_flops = 1e9,
                                         .expected_matmuls = 1e-9 * flops,
                                         .matmul_calls = 1});
            }
            deciding_->observe(outcome);
        }
    }

    // Returns the decision after the observed steps and applies it to the plan.
    std::optional<plan::Decision> decide() {
        std::optional<Choice> choice = deciding_->choose(steps_);
        if (!choice) return std::nullopt;
        setup_->current = std::move(choice->transition.to);
        deciding_->note_change(*choice, {});
        return choice->decision;
    }

    std::optional<plan::Decision> begin_migration() {
        take_steps(4, 0.5);
        take_steps(4, 0.5);
        return decide();
    }

    ScratchFolder folder_;
    config::RunConfig config_;
    std::optional<trireme::setup::Setup> setup_;
    std::optional<PlanChooser> deciding_;
    std::size_t steps_ = 0;
};

TEST_F(MigrationPolicy, KeepsAMigrationThatShortensSteps) {
    const std::optional<plan::Decision> migration = begin_migration();
    ASSERT_TRUE(migration);
    EXPECT_EQ(migration->migrations.front().from, 1);

    take_steps(2, 0.2);

    decide();
    EXPECT_FALSE(setup_->current.plan.migrations.empty());
}

TEST_F(MigrationPolicy, RevertsAMigrationThatDoesNotShortenSteps) {
    ASSERT_TRUE(begin_migration());
    take_steps(4, 0.2);

    const std::optional<plan::Decision> revert = decide();

    ASSERT_TRUE(revert);
    EXPECT_TRUE(setup_->current.plan.migrations.empty());
    EXPECT_EQ(revert->reason,
              "the migration is undone: the same work took 4 s per step without it and 4 s with it");

    take_steps(4, 0.5);
    EXPECT_FALSE(decide());
    EXPECT_EQ(deciding_->take_refusal(),
              "a migration was undone after step 15, and no rank's slowness has changed since then");
    take_steps(4, 0.5);
    EXPECT_FALSE(decide());
    EXPECT_EQ(deciding_->take_refusal(), "");  // reported once
}

TEST_F(MigrationPolicy, GivesWayToRecordedDecisions) {
    config_.policy.decisions = "decisions.jsonl";
    setup_.emplace(setup::set_up(config_, 2));
    layout::Layout uneven = setup_->current.plan.layout;
    uneven.stages.front().replicas.front().shares = {3, 1};
    PlanChooser chooser(setup_->job, setup_->current, setup_->origin, {{.step = 5, .layout = uneven}});

    EXPECT_FALSE(chooser.choose(4));
    EXPECT_FALSE(chooser.choose(10));
    const std::optional<Choice> choice = chooser.choose(5);

    ASSERT_TRUE(choice);
    EXPECT_TRUE(choice->is_recorded);
    EXPECT_EQ(choice->decision.policy, "recorded");
    EXPECT_EQ(choice->transition.to.plan.layout, uneven);
}

}  // namespace
}  // namespace trireme::adapt

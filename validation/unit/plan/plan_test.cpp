#include "trireme/plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::plan {
namespace {

void expect_shape(const schedule::PipelineShape& shape, const schedule::PipelineShape& expected) {
    EXPECT_EQ(shape.teams, expected.teams);
    EXPECT_EQ(shape.microbatches, expected.microbatches);
    EXPECT_EQ(shape.holders, expected.holders);
    EXPECT_EQ(shape.executor, expected.executor);
    EXPECT_EQ(shape.is_training, expected.is_training);
}

void expect_proved(const ProvedPrograms& programs) {
    schedule::PipelineShape shape = programs.shape;
    shape.steps = count_representative_steps(programs.phases(), shape.microbatches);
    const schedule::Verdict verdict =
        verify_programs(unroll(programs.phases(), programs.shape, shape.steps), shape);
    ASSERT_TRUE(verdict.is_proved()) << verdict.fault->what;
    EXPECT_EQ(programs.proof.peak_activations, verdict.proof.peak_activations);
    EXPECT_EQ(programs.proof.peak_activations_of_stage, verdict.proof.peak_activations_of_stage);
}

TEST(Plan, HasNoMessagesForOneRank) {
    const Plan plan = make_plan({.layout = even_grid({}), .microbatches = 2});

    EXPECT_EQ(to_csv(plan.training.programs), "0F0,0B0,0F1,0B1,REDUCE0,STEP0\n");
    EXPECT_EQ(to_csv(plan.evaluation.programs), "0F0,0F1\n");
    EXPECT_EQ(plan.microbatches(), 2);
    EXPECT_EQ(plan.training.proof.peak_activations, std::vector<int>{1});
}

TEST(Plan, HasTheShapeOfItsGrid) {
    const Plan plan = make_plan({.layout = even_grid({.pipe = 2, .data = 3, .tensor = 2}), .microbatches = 4});

    expect_shape(plan.training.shape, schedule::make_grid_shape(2, 3, 1, 4));
    expect_shape(plan.evaluation.shape, schedule::make_grid_shape(2, 3, 1, 4, false));
    expect_proved(plan.training);
    expect_proved(plan.evaluation);
    EXPECT_EQ(plan.microbatches(), 12);
    EXPECT_EQ(plan.find_team(9), 3);  // rank (1 * 3 + 1) * 2 + 1: the last stage of row 1
}

TEST(Plan, AssignsEachTeamOneStagePerChunk) {
    const Plan plan = make_plan({.layout = even_grid({.pipe = 2, .data = 2, .chunks = 3}),
                                 .schedule = "interleaved",
                                 .microbatches = 4});

    expect_shape(plan.training.shape, schedule::make_grid_shape(2, 2, 3, 4));
    expect_proved(plan.training);
    expect_proved(plan.evaluation);
    EXPECT_EQ(plan.teams[1].stages, (std::vector<int>{1, 3, 5}));
}

TEST(Plan, AssignsEachTeamTwoMirroredStagesInAV) {
    const layout::Layout layout =
        even_grid({.pipe = 3, .data = 2, .chunks = 2, .placement = layout::ChunkPlacement::v_shaped});

    const Plan plan = make_plan({.layout = layout, .schedule = "zb-v", .microbatches = 6});
    const Plan in_all =
        make_plan({.layout = layout, .schedule = "zb-v", .microbatches = 12, .is_per_replica = false});

    expect_shape(plan.training.shape, schedule::make_v_shape(3, 2, 6));
    expect_shape(plan.evaluation.shape, schedule::make_v_shape(3, 2, 6, false));
    expect_proved(plan.training);
    expect_proved(plan.evaluation);
    EXPECT_EQ(plan.teams[1].stages, (std::vector<int>{1, 4}));
    EXPECT_EQ(plan.training.proof.peak_activations, std::vector<int>(6, 6));
    EXPECT_EQ(compute_hash(in_all), compute_hash(plan));
    EXPECT_EQ(
        refusal_of_plan({.layout = layout, .schedule = "zb-v", .microbatches = 5, .is_per_replica = false}),
        "--microbatches 5 cannot be divided evenly among the 2 replicas of a layout with several stages per "
        "rank; use a multiple of 2");
}

TEST(Plan, HasTheFewestSlotsThatCauseNoWaiting) {
    const layout::Layout layout = even_grid({.pipe = 2, .chunks = 2});
    const auto slots = [&](int microbatches) {
        const Plan plan = make_plan({.layout = layout, .schedule = "looped-bfs", .microbatches = microbatches});
        expect_proved(plan.training);
        EXPECT_EQ(plan.evaluation.shape.slots, 1);
        const std::vector<schedule::StageCost> costs(4);
        const int idle = 3;  // one forward and backward pass of a chunk
        EXPECT_EQ(predict(plan.training.programs, plan.training.shape, costs).makespan,
                  6 * microbatches + idle);
        return plan.training.shape.slots;
    };

    EXPECT_EQ(slots(2), 1);
    EXPECT_EQ(slots(4), 2);
    EXPECT_EQ(slots(5), 3);
    EXPECT_EQ(slots(24), 16);
}

TEST(Plan, SplitsTotalMicrobatchesAmongReplicasOfAGrid) {
    const layout::Layout layout = even_grid({.pipe = 2, .data = 2});

    const Plan even = make_plan({.layout = layout, .microbatches = 6, .is_per_replica = false});
    const Plan odd = make_plan({.layout = layout, .microbatches = 5, .is_per_replica = false});

    expect_shape(even.training.shape, schedule::make_grid_shape(2, 2, 1, 3));
    EXPECT_EQ(odd.microbatches(), 5);
    EXPECT_EQ(odd.training.shape.executor[0], (std::vector<int>{0, 2, 0, 2, 0}));
    expect_proved(odd.training);
}

TEST(Plan, AssignsMicrobatchesRoundRobinToUnequalReplicas) {
    const Plan plan = make_plan({.layout = uneven_layout({3, 3, 2}), .microbatches = 12});

    EXPECT_EQ(plan.microbatches(), 12);
    for (int m = 0; m < 12; ++m) {
        for (int s = 0; s < 3; ++s) {
            const int replica = m % (s == 2 ? 2 : 3);
            EXPECT_EQ(plan.training.shape.find_executor(s, m), find_team(plan.teams, plan.layout, s, replica));
        }
    }
    expect_proved(plan.training);
    expect_proved(plan.evaluation);
}

TEST(Plan, AssignsMoreMicrobatchesToReplicasWithMoreTurns) {
    layout::Layout layout = even_grid({.pipe = 2, .data = 2});
    layout.stages[0].replicas[1].turns = 3;

    const Plan plan = make_plan({.layout = layout, .microbatches = 4});

    const schedule::PipelineShape& shape = plan.training.shape;
    const int slow = find_team(plan.teams, layout, 0, 0);
    const int fast = find_team(plan.teams, layout, 0, 1);
    EXPECT_EQ(shape.executor[0], (std::vector<int>{fast, fast, slow, fast}));
    EXPECT_EQ(shape.count_turns(find_team(plan.teams, layout, 1, 0), 1), 2)
        << "the other stage keeps its turns";
    expect_proved(plan.training);
    expect_proved(plan.evaluation);
    EXPECT_NE(compute_hash(plan),
              compute_hash(make_plan({.layout = even_grid({.pipe = 2, .data = 2}), .microbatches = 4})));
}

TEST(Plan, HasAGridShapeForEqualTurns) {
    layout::Layout layout = even_grid({.pipe = 2, .data = 2});
    for (layout::ReplicaLayout& replica : layout.stages[1].replicas) replica.turns = 2;

    expect_shape(make_plan({.layout = layout, .microbatches = 3}).training.shape,
                 schedule::make_grid_shape(2, 2, 1, 3));
}

TEST(Plan, RejectsUnevenTurnsForSeveralStagesOnARank) {
    layout::Layout layout = even_grid({.pipe = 2, .data = 2, .chunks = 2});
    layout.stages[0].replicas[1].turns = 3;

    EXPECT_EQ(
        refusal_of_plan({.layout = layout, .schedule = "interleaved", .microbatches = 4}),
        "replicas of a layout with several stages per rank must have equal numbers of turns; omit \"turns\"");
}

TEST(Plan, IsProvedForTwoReplicasThatFeedOne) {
    for (const char* schedule : {"inter-layer", "gpipe", "1f1b"}) {
        const Plan plan = make_plan({.layout = uneven_layout({2, 1}), .schedule = schedule, .microbatches = 5});

        expect_proved(plan.training);
        expect_proved(plan.evaluation);
    }
}

TEST(Plan, AssignsNoTeamToIdleRanks) {
    layout::Layout layout = uneven_layout({2, 1});
    layout.idle = {3};

    const Plan plan = make_plan({.layout = layout});

    EXPECT_EQ(plan.teams.size(), 3U);
    EXPECT_EQ(plan.find_team(3), -1);
}

TEST(Plan, TakesOneRecomputeModeForAllStagesOrOnePerStage) {
    const layout::Layout layout = uneven_layout({1, 1});
    const std::vector<Recompute> each{Recompute::full, Recompute::none};

    EXPECT_EQ(make_plan({.layout = layout}).recompute, std::vector<Recompute>(2, Recompute::none));
    EXPECT_EQ(make_plan({.layout = layout, .recompute = {Recompute::full}}).recompute,
              std::vector<Recompute>(2, Recompute::full));
    EXPECT_EQ(make_plan({.layout = layout, .recompute = each}).recompute, each);
    EXPECT_EQ(
        refusal_of_plan({.layout = layout, .recompute = {Recompute::full, Recompute::full, Recompute::none}}),
        "--recompute has 3 values, but the layout has 2 stages; give one value for all stages, or one value "
        "per stage");
}

TEST(Plan, RaisesRecomputationAsFarAsBackwardPassesAllow) {
    const layout::Layout layout = even_grid({.pipe = 2});
    const std::vector<Recompute> mixed{Recompute::none, Recompute::selective};
    const Plan whole = make_plan({.layout = layout, .microbatches = 4, .recompute = mixed});
    const Plan split =
        make_plan({.layout = layout, .schedule = "zb-h1", .microbatches = 4, .recompute = mixed});

    EXPECT_EQ(raise_recomputation(whole, Recompute::none).recompute, mixed);
    EXPECT_EQ(raise_recomputation(whole, Recompute::full).recompute,
              std::vector<Recompute>(2, Recompute::full));
    EXPECT_FALSE(has_split_backward(split, 0));
    EXPECT_TRUE(has_split_backward(split, 1));
    EXPECT_EQ(raise_recomputation(split, Recompute::full).recompute,
              (std::vector{Recompute::full, Recompute::selective}));
}

// Returns the seconds of a step of the plan, with the costs of the wish.
double duration(const PlanWish& wish) {
    const Plan plan = make_plan(wish);
    expect_proved(plan.training);
    expect_proved(plan.evaluation);
    return predict_step(plan.training.phases(), plan.training.shape, wish.costs).seconds;
}

bool is_made(const PlanWish& wish) {
    try {
        make_plan(wish);
        return true;
    } catch (const ConfigError&) {
        return false;
    }
}

TEST(Plan, TakesNoLongerWithScheduleAutoThanWithOthers) {
    std::vector<PlanWish> wishes{{.layout = even_grid({.pipe = 3}), .microbatches = 6},
                                 {.layout = even_grid({.pipe = 2, .data = 2}), .microbatches = 4},
                                 {.layout = even_grid({.pipe = 2, .chunks = 2}), .microbatches = 5},
                                 {.layout = uneven_layout({2, 1, 3}), .microbatches = 7}};
    for (PlanWish& wish : wishes) {
        const int stages = static_cast<int>(wish.layout.stages.size());
        for (int s = 0; s < stages; ++s) wish.costs.push_back({2.0 + s, 3, 4.0 - s, 0.5, 1, 0.25});
        int others = 0;
        for (const schedule::Schedule& each : schedule::list_schedules()) {
            const std::string schedule = each.name;
            PlanWish other = wish;
            other.schedule = schedule;
            PlanWish searched = wish;
            searched.schedule = "auto";
            if (schedule::require_schedule(schedule).stashes_weights || !is_made(other)) continue;
            EXPECT_LE(duration(searched), duration(other)) << schedule;
            ++others;
        }
        EXPECT_GE(others, 2);
    }
}

TEST(Plan, EvaluatesWithScheduleAutoAsWithFixedSchedules) {
    const layout::Layout layout = even_grid({.pipe = 2, .chunks = 2});
    const Plan fixed = make_plan({.layout = layout, .schedule = "interleaved", .microbatches = 5});

    const Plan searched = make_plan({.layout = layout,
                                     .schedule = "auto",
                                     .microbatches = 5,
                                     .costs = {{.forward = 9}, {}, {.send = 3}, {}}});

    EXPECT_EQ(to_csv(searched.evaluation.programs), to_csv(fixed.evaluation.programs));
    EXPECT_EQ(searched.evaluation.shape.slots, fixed.evaluation.shape.slots);
}

TEST(Plan, AcceptsAnyLayoutWithScheduleAuto) {
    layout::Layout there_and_back = uneven_layout({1, 2, 1});
    there_and_back.stages[2].replicas = there_and_back.stages[0].replicas;
    there_and_back.idle = {3};

    const Plan plan = make_plan({.layout = there_and_back, .schedule = "auto", .microbatches = 4});

    EXPECT_EQ(plan.teams.size(), 3U);
    expect_proved(plan.training);
    expect_proved(plan.evaluation);
}

bool has_halves(const schedule::Program& program) {
    return std::any_of(program.begin(), program.end(), [](const schedule::Instruction& each) {
        return each.op == schedule::Op::backward_input;
    });
}

TEST(Plan, SplitsBackwardPassesOnlyWhereAllowed) {
    const PlanWish free{.layout = even_grid({.pipe = 2}), .schedule = "auto", .microbatches = 4};
    PlanWish forbidden = free;
    forbidden.may_split = {true, false};
    PlanWish recomputed = free;
    recomputed.recompute = {Recompute::full, Recompute::selective};

    EXPECT_TRUE(has_halves(make_plan(free).training.programs[1]));
    EXPECT_FALSE(has_halves(make_plan(forbidden).training.programs[1]));
    EXPECT_FALSE(has_halves(make_plan(recomputed).training.programs[0]));
}

TEST(Plan, KeepsActivationsWithinTheGivenBounds) {
    PlanWish wish{.layout = even_grid({.pipe = 3}), .schedule = "auto", .microbatches = 6};
    wish.max_activations = {2, 2, 1};

    EXPECT_EQ(make_plan(wish).training.proof.peak_activations, wish.max_activations);
    wish.schedule = "1f1b";
    EXPECT_TRUE(validation::says(refusal_of_plan(wish), "schedule 1f1b cannot be run: 0F2"));
    EXPECT_TRUE(
        validation::says(refusal_of_plan(wish), "would raise the in-flight micro-batches of the team to 3"));
}

TEST(Plan, RejectsAScheduleThatDoesNotSupportTheLayout) {
    const layout::Layout chunks = even_grid({.pipe = 2, .chunks = 2});

    EXPECT_TRUE(validation::says(refusal_of_plan({.layout = chunks}), "--schedule interleaved or looped-bfs"));
    EXPECT_TRUE(validation::says(refusal_of_plan({.layout = uneven_layout({2, 1}), .schedule = "interleaved"}),
                                 "needs a grid"));
    EXPECT_TRUE(validation::says(refusal_of_plan({.layout = chunks, .schedule = "interleave"}),
                                 "did you mean interleaved?"));
    EXPECT_TRUE(validation::says(refusal_of_plan({.layout = chunks, .schedule = "zb-v"}), "needs a V"));
    EXPECT_TRUE(validation::says(refusal_of_plan({.layout = chunks, .schedule = "zb-h2"}), "use --chunks 1"));
    EXPECT_TRUE(validation::says(
        refusal_of_plan({.layout = even_grid({.pipe = 2, .data = 2}),
                         .schedule = "zb-h1",
                         .microbatches = 5,
                         .is_per_replica = false}),
        "needs a grid whose replicas have equal numbers of micro-batches, but the layout has 5"));
}

TEST(Plan, RejectsAnInvalidNumberOfMicrobatches) {
    const layout::Layout layout = even_grid({.pipe = 2, .data = 2});

    EXPECT_EQ(refusal_of_plan({.layout = layout, .microbatches = 0}),
              "--microbatches 0 cannot be used; it must be from 1 to 32768");
    EXPECT_EQ(refusal_of_plan({.layout = layout, .microbatches = 2000000000}),
              "--microbatches 2000000000 cannot be used; it must be from 1 to 32768");
}

TEST(Plan, HasAHashOfAllItsContents) {
    const PlanWish wish{.layout = even_grid({.pipe = 2}), .microbatches = 4};
    std::vector<PlanWish> others(7, wish);
    others[0].layout.stages[0].replicas[0].shares = {3};
    others[1].schedule = "gpipe";
    others[2].microbatches = 5;
    others[3].recompute = {Recompute::full};
    others[4].cuts_rows = true;
    others[5].shards_optimizer = false;
    others[6].layout = uneven_layout({1, 2});
    std::vector<std::string> names{compute_hash(make_plan(wish))};

    for (const PlanWish& other : others) names.push_back(compute_hash(make_plan(other)));

    EXPECT_EQ(names[0], compute_hash(make_plan(wish)));
    EXPECT_EQ(names[0].size(), 16U);
    EXPECT_EQ(names[0].find_first_not_of("0123456789abcdef"), std::string::npos);
    for (std::size_t i = 0; i < names.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) EXPECT_NE(names[i], names[k]) << i << " and " << k;
    }
}

TEST(Plan, IsWrittenAsOneLineOfJson) {
    const Plan plan = make_plan({.layout = even_grid({}), .shards_optimizer = false});

    EXPECT_EQ(to_json(plan),
              R"({"layout":{"layers":2,"stages":[{"layers":[0,2],"replicas":[{"ranks":[0]}]}],"idle":[]},)"
              R"("recompute":["none"],"cuts_rows":false,"shards_optimizer":false,"schedule":"1f1b",)"
              R"("micro_batches":1,"training":{"slots":1,"programs":["0F0 0B0 REDUCE0 STEP0"]},)"
              R"("evaluation":{"slots":1,"programs":["0F0"]}})");
}

}  // namespace
}  // namespace trireme::plan

// Equal rows of a grid are processed once, with the same results as if each row were processed.
#include "schedule/programs/equal_rows.hpp"

#include <gtest/gtest.h>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {
namespace {

constexpr int rows = 3;

struct Subject {
    Schedule kind;
    PipelineShape shape;
};

std::vector<Subject> kinds_and_shapes() {
    std::vector<Subject> all;
    for (const Schedule& kind : {schedule_named("inter-layer"), schedule_named("gpipe"), schedule_named("1f1b"),
                                 schedule_named("zb-h1"), schedule_named("zb-h2"), schedule_named("pipedream"),
                                 schedule_named("pipedream-2bw")}) {
        all.push_back({kind, grid_shape(3, rows, 1, 4)});
    }
    for (const Schedule& kind : {schedule_named("interleaved"), schedule_named("looped-bfs")})
        all.push_back({kind, grid_shape(2, rows, 2, 4)});
    all.push_back({schedule_named("zb-v"), v_shape(2, rows, 4)});
    for (Subject& subject : all) subject.shape = with_updates_of(subject.kind, subject.shape);
    return all;
}

// Sets bounds that no team reaches and that differ per team, so that no two rows of the shape are equal.
PipelineShape with_unlike_rows(PipelineShape shape) {
    for (int team = 0; team < shape.teams; ++team) shape.most_activations.push_back(1000 + team);
    return shape;
}

std::vector<StageCost> costs_of(const PipelineShape& shape) {
    std::vector<StageCost> costs;
    for (int stage = 0; stage < shape.stages(); ++stage) {
        const double factor = 1 + 0.1 * stage;
        costs.push_back({factor, 1.3 * factor, 0.7 * factor, 0.05, 0.2, 0.1});
    }
    return costs;
}

bool are_equal(const Span& a, const Span& b) {
    return a.instruction == b.instruction && a.begin == b.begin && a.end == b.end;
}

TEST(EqualRows, AreFoundInEveryScheduleOfAGrid) {
    for (const auto& [kind, shape] : kinds_and_shapes()) {
        const std::vector<Program> programs = lower_phases(generate_phases(kind, shape), shape).body;

        const std::optional<FirstRow> first = first_of_equal_rows(programs, shape);

        ASSERT_TRUE(first) << kind.name;
        EXPECT_EQ(first->rows, rows);
        EXPECT_EQ(first->shape.teams, shape.teams / rows);
        EXPECT_EQ(first->shape.microbatches, 4);
        EXPECT_EQ(first->programs_of_all(), programs) << kind.name;
    }
}

TEST(EqualRows, AreNotThereWhereOneProgramDiffers) {
    const PipelineShape shape = grid_shape(2, rows, 1, 4);
    std::vector<Program> programs = lower(generate(schedule_named("gpipe"), shape), shape);
    ASSERT_TRUE(first_of_equal_rows(programs, shape));

    std::swap(programs.back()[1], programs.back()[2]);

    EXPECT_FALSE(first_of_equal_rows(programs, shape));
}

TEST(EqualRows, AreNotThereInOneRowOrInUnevenStages) {
    const PipelineShape one = grid_shape(2, 1, 1, 4);
    const PipelineShape uneven = uneven_shape({2, 1}, 4);
    const PipelineShape in_turns = uneven_shape({2, 2}, 4);  // replicas alternate: rows are not blocks

    EXPECT_FALSE(first_of_equal_rows(generate(schedule_named("gpipe"), one), one));
    EXPECT_FALSE(first_of_equal_rows(generate(schedule_named("gpipe"), uneven), uneven));
    EXPECT_FALSE(first_of_equal_rows(generate(schedule_named("gpipe"), in_turns), in_turns));
}

TEST(EqualRows, AreLoweredProvedAndTimedAsIfEachRowWereLookedAt) {
    for (const auto& [kind, shape] : kinds_and_shapes()) {
        for (const int slots : {1, 3}) {
            PipelineShape with_slots = shape;
            with_slots.slots = slots;
            const Phases compute = generate_phases(kind, shape);
            if (!obstacle_to_lowering(compute, with_slots).empty()) continue;
            const Phases phases = lower_phases(compute, with_slots);
            PipelineShape many = with_slots;
            many.steps = enough_steps(phases, shape.microbatches) + 1;
            const PipelineShape unlike = with_unlike_rows(many);
            const std::vector<Program> programs = unrolled(phases, with_slots, many.steps);
            ASSERT_TRUE(first_of_equal_rows(programs, many)) << kind.name;
            ASSERT_FALSE(first_of_equal_rows(programs, unlike)) << kind.name;

            EXPECT_EQ(lower_phases(compute, with_unlike_rows(with_slots)).body, phases.body) << kind.name;
            const Verdict once = check(programs, many);
            const Verdict each = check(programs, unlike);
            ASSERT_EQ(once.is_proved(), each.is_proved()) << kind.name;
            if (!once.is_proved()) continue;
            EXPECT_EQ(once.proof.peak_activations, each.proof.peak_activations) << kind.name;
            EXPECT_EQ(once.proof.peak_of_stage, each.proof.peak_of_stage) << kind.name;
            EXPECT_EQ(once.proof.peak_gradients, each.proof.peak_gradients) << kind.name;
            EXPECT_EQ(once.proof.weight_versions, each.proof.weight_versions) << kind.name;

            const Prediction of_one = predict(programs, many, costs_of(shape));
            const Prediction of_all = predict(programs, unlike, costs_of(shape));
            EXPECT_EQ(of_one.makespan, of_all.makespan) << kind.name;
            EXPECT_EQ(of_one.busy, of_all.busy) << kind.name;
            EXPECT_EQ(of_one.peak_activations, of_all.peak_activations) << kind.name;
            ASSERT_EQ(of_one.spans.size(), of_all.spans.size()) << kind.name;
            for (std::size_t team = 0; team < of_all.spans.size(); ++team) {
                EXPECT_TRUE(std::ranges::equal(of_one.spans[team], of_all.spans[team], are_equal))
                    << kind.name << ", team " << team;
            }
        }
    }
}

TEST(EqualRows, NameAFaultWithTheNumbersOfAllTeams) {
    const PipelineShape shape = grid_shape(2, 2, 1, 2);
    std::vector<Program> programs = lower(generate(schedule_named("gpipe"), shape), shape);
    for (Program& program : programs) program.pop_back();  // removes the STEP
    ASSERT_TRUE(first_of_equal_rows(programs, shape));

    const Verdict once = check(programs, shape);
    const Verdict each = check(programs, with_unlike_rows(shape));

    ASSERT_FALSE(once.is_proved());
    EXPECT_EQ(once.fault->what, each.fault->what);
}

}  // namespace
}  // namespace trireme::schedule

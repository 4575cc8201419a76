// Equal rows of a grid are processed once, with the same results as if each row were processed.
#include "schedule/programs/equal_replicas.hpp"

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
    for (const Schedule& kind : {require_schedule("inter-layer"), require_schedule("gpipe"),
                                 require_schedule("1f1b"), require_schedule("zb-h1"), require_schedule("zb-h2"),
                                 require_schedule("pipedream"), require_schedule("pipedream-2bw")}) {
        all.push_back({kind, make_grid_shape(3, rows, 1, 4)});
    }
    for (const Schedule& kind : {require_schedule("interleaved"), require_schedule("looped-bfs")})
        all.push_back({kind, make_grid_shape(2, rows, 2, 4)});
    all.push_back({require_schedule("zb-v"), make_v_shape(2, rows, 4)});
    for (Subject& subject : all) subject.shape = apply_update_rule(subject.kind, subject.shape);
    return all;
}

// Sets bounds that no team reaches and that differ per team, so that no two rows of the shape are equal.
PipelineShape with_distinct_rows(PipelineShape shape) {
    for (int team = 0; team < shape.teams; ++team) shape.max_activations.push_back(1000 + team);
    return shape;
}

std::vector<StageCost> make_costs(const PipelineShape& shape) {
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

TEST(EqualRows, AreFoundForEveryGridSchedule) {
    for (const auto& [kind, shape] : kinds_and_shapes()) {
        const std::vector<Program> programs = lower_phases(generate_phases(kind, shape), shape).body;

        const std::optional<FirstReplica> first = find_equal_replicas(programs, shape);

        ASSERT_TRUE(first) << kind.name;
        EXPECT_EQ(first->replicas, rows);
        EXPECT_EQ(first->shape.teams, shape.teams / rows);
        EXPECT_EQ(first->shape.microbatches, 4);
        EXPECT_EQ(first->make_all_programs(), programs) << kind.name;
    }
}

TEST(EqualRows, AreNotFoundIfOneProgramDiffers) {
    const PipelineShape shape = make_grid_shape(2, rows, 1, 4);
    std::vector<Program> programs = lower(generate(require_schedule("gpipe"), shape), shape);
    ASSERT_TRUE(find_equal_replicas(programs, shape));

    std::swap(programs.back()[1], programs.back()[2]);

    EXPECT_FALSE(find_equal_replicas(programs, shape));
}

TEST(EqualRows, AreNotFoundInOneRowOrUnevenStages) {
    const PipelineShape one = make_grid_shape(2, 1, 1, 4);
    const PipelineShape uneven = make_uneven_shape({2, 1}, 4);
    const PipelineShape in_turns = make_uneven_shape({2, 2}, 4);  // replicas alternate: rows are not blocks

    EXPECT_FALSE(find_equal_replicas(generate(require_schedule("gpipe"), one), one));
    EXPECT_FALSE(find_equal_replicas(generate(require_schedule("gpipe"), uneven), uneven));
    EXPECT_FALSE(find_equal_replicas(generate(require_schedule("gpipe"), in_turns), in_turns));
}

TEST(EqualRows, GiveTheSameResultsAsProcessingEveryRow) {
    for (const auto& [kind, shape] : kinds_and_shapes()) {
        for (const int slots : {1, 3}) {
            PipelineShape with_slots = shape;
            with_slots.slots = slots;
            const Phases compute = generate_phases(kind, shape);
            if (!find_lowering_obstacle(compute, with_slots).empty()) continue;
            const Phases phases = lower_phases(compute, with_slots);
            PipelineShape many = with_slots;
            many.steps = count_representative_steps(phases, shape.microbatches) + 1;
            const PipelineShape distinct = with_distinct_rows(many);
            const std::vector<Program> programs = unroll(phases, with_slots, many.steps);
            ASSERT_TRUE(find_equal_replicas(programs, many)) << kind.name;
            ASSERT_FALSE(find_equal_replicas(programs, distinct)) << kind.name;

            EXPECT_EQ(lower_phases(compute, with_distinct_rows(with_slots)).body, phases.body) << kind.name;
            const Verdict once = verify_programs(programs, many);
            const Verdict each = verify_programs(programs, distinct);
            ASSERT_EQ(once.is_proved(), each.is_proved()) << kind.name;
            if (!once.is_proved()) continue;
            EXPECT_EQ(once.proof.peak_activations, each.proof.peak_activations) << kind.name;
            EXPECT_EQ(once.proof.peak_activations_of_stage, each.proof.peak_activations_of_stage) << kind.name;
            EXPECT_EQ(once.proof.peak_gradients, each.proof.peak_gradients) << kind.name;
            EXPECT_EQ(once.proof.weight_versions, each.proof.weight_versions) << kind.name;

            const Prediction of_one = predict(programs, many, make_costs(shape));
            const Prediction of_all = predict(programs, distinct, make_costs(shape));
            EXPECT_EQ(of_one.makespan, of_all.makespan) << kind.name;
            EXPECT_EQ(of_one.busy_times, of_all.busy_times) << kind.name;
            ASSERT_EQ(of_one.spans.size(), of_all.spans.size()) << kind.name;
            for (std::size_t team = 0; team < of_all.spans.size(); ++team) {
                EXPECT_TRUE(std::ranges::equal(of_one.spans[team], of_all.spans[team], are_equal))
                    << kind.name << ", team " << team;
            }
        }
    }
}

TEST(EqualRows, GiveTheSameFaultAsProcessingEveryRow) {
    const PipelineShape shape = make_grid_shape(2, 2, 1, 2);
    std::vector<Program> programs = lower(generate(require_schedule("gpipe"), shape), shape);
    for (Program& program : programs) program.pop_back();  // removes the STEP
    ASSERT_TRUE(find_equal_replicas(programs, shape));

    const Verdict once = verify_programs(programs, shape);
    const Verdict each = verify_programs(programs, with_distinct_rows(shape));

    ASSERT_FALSE(once.is_proved());
    EXPECT_EQ(once.fault->what, each.fault->what);
}

}  // namespace
}  // namespace trireme::schedule

#include "schedule/check/program_clock.hpp"

#include <gtest/gtest.h>

#include "trireme/schedule/lower.hpp"
#include "unit/schedule/drawn_costs.hpp"
#include "unit/schedule/programs_as_text.hpp"
#include "unit/schedule/sound_programs.hpp"

namespace trireme::schedule {
namespace {

double measured(const std::vector<Program>& programs, const PipelineShape& shape,
                const std::vector<StageCost>& costs) {
    const StageHoldings holdings(shape);
    ProgramClock clock(shape, holdings, costs);
    return compute_duration(programs, clock);
}

// The results agree bit for bit, with random costs and with some backwards split.
TEST(ProgramClock, MatchesPredictWithEnoughSlots) {
    Draw draw(RandomKey{20261122}.then("clock"));
    for (const auto& subjects : {one_row(), two_rows(), uneven_stages(), forward_only_subjects()}) {
        for (const Subject& subject : subjects) {
            if (subject.shape.steps > 1 || subject.shape.updates_stages_independently)
                continue;  // the clock covers one step
            const std::vector<Program> compute = extract_compute(draw_sound_programs(subject, draw));
            const PipelineShape shape = with_enough_slots(subject.shape);
            const std::vector<StageCost> costs = draw_costs(shape, draw);

            const double predicted = predict(lower(compute, shape), shape, costs).makespan;

            EXPECT_EQ(measured(compute, shape, costs), predicted) << subject.name;
        }
    }
}

TEST(ProgramClock, ReportsThatDeadlockedProgramsNeverEnd) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    const std::vector<StageCost> costs(2);

    EXPECT_EQ(measured(programs_of({"0F0 0B0 0F1 0B1", "1F1 1B1 1F0 1B0"}), shape, costs), never);
    EXPECT_EQ(measured(programs_of({"0F0 0B0 0F1 0B1", "1F0 1B0 1F1 1B1"}), shape, costs), 12);
}

TEST(ProgramClock, ReportsWhenAndWhereWorkBecomesReady) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    const std::vector<StageCost> costs(2, {.forward = 2, .backward_input = 3, .send = 0.5});
    const StageHoldings holdings(shape);
    ProgramClock clock(shape, holdings, costs);

    const Delivery activation = clock.execute(0, {Op::forward, 0, 0});
    EXPECT_EQ(activation.team, 1);
    EXPECT_EQ(activation.time, 2.5);
    EXPECT_EQ(activation.work, (Instruction{Op::forward, 1, 0}));
    const Delivery last = clock.execute(1, {Op::forward, 1, 0});
    EXPECT_EQ(last.team, 1);
    EXPECT_EQ(last.time, 4.5);
    EXPECT_EQ(last.work, (Instruction{Op::backward, 1, 0}));
    const Delivery gradient = clock.execute(1, {Op::backward_input, 1, 0});
    EXPECT_EQ(gradient.team, 0);
    EXPECT_EQ(gradient.time, 8);
    EXPECT_EQ(clock.execute(1, {Op::backward_weight, 1, 0}).team, -1);
    EXPECT_EQ(clock.execute(0, {Op::backward, 0, 0}).team, -1);
    EXPECT_EQ(clock.compute_end(), 12);
}

}  // namespace
}  // namespace trireme::schedule

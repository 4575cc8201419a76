// Tests schedules with backward passes in halves. schedule_property_test.cpp tests their time and memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/schedule/every_shape.hpp"

namespace trireme::schedule {
namespace {

using validation::catch_message;
using validation::says;

std::string refusal_of(const Schedule& kind, const PipelineShape& shape) {
    return catch_message<ConfigError>([&] { generate(kind, shape); });
}

TEST(ZeroBubbleH1, MatchesTheDiagramInItsSource) {
    const std::vector<std::string> programs = texts_of(require_schedule("zb-h1"), make_grid_shape(3, 1, 1, 4));

    EXPECT_EQ(programs[0], "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
    EXPECT_EQ(programs[1], "1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3");
    EXPECT_EQ(programs[2], "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3");
}

TEST(ZeroBubbleH2, MatchesTheDiagramInItsSource) {
    const std::vector<std::string> programs = texts_of(require_schedule("zb-h2"), make_grid_shape(3, 1, 1, 5));

    EXPECT_EQ(programs[0], "0F0 0F1 0F2 0F3 0F4 0B0 0B1 0B2 0B3 0B4");
    EXPECT_EQ(programs[1], "1F0 1F1 1F2 1I0 1F3 1I1 1F4 1I2 1W0 1I3 1W1 1I4 1W2 1W3 1W4");
    EXPECT_EQ(programs[2], "2F0 2I0 2F1 2I1 2F2 2I2 2F3 2I3 2F4 2I4 2W0 2W1 2W2 2W3 2W4");
}

TEST(ZeroBubbleV, MatchesTheDiagramInItsSource) {
    const std::vector<std::string> programs = texts_of(require_schedule("zb-v"), make_v_shape(2, 1, 3));

    EXPECT_EQ(programs[0], "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0B0 3F2 3I2 3W2 0B1 0B2");
    EXPECT_EQ(programs[1], "1F0 2F0 1F1 2F1 2B0 1F2 1I0 1W0 2F2 2B1 1I1 2I2 1I2 1W1 2W2 1W2");
}

TEST(ZeroBubbleV, HandlesFewerMicrobatchesThanTeams) {
    const std::vector<std::string> programs = texts_of(require_schedule("zb-v"), make_v_shape(2, 1, 1));

    EXPECT_EQ(programs[0], "0F0 3F0 3I0 3W0 0B0");
    EXPECT_EQ(programs[1], "1F0 2F0 2B0 1I0 1W0");
}

// If two neighbouring stages lie on one team, the later stage reads what the earlier one keeps until its weight
// half is done.
TEST(ZeroBubbleV, RunsNeighbouringWeightHalvesInGradientOrder) {
    for (const GridSize& n : list_grids(2, 2)) {
        const Program last = generate(require_schedule("zb-v"), make_v_shape(n.pipe, 1, n.microbatches)).back();
        for (int m = 0; m < n.microbatches; ++m) {
            const auto place = [&](int stage) {
                return std::find_if(last.begin(), last.end(), [&](const Instruction& i) {
                    return (i.op == Op::backward || i.op == Op::backward_weight) && i.stage == stage &&
                           i.microbatch == m;
                });
            };
            EXPECT_LT(place(n.pipe), place(n.pipe - 1)) << n.text() << ", micro-batch " << m;
        }
    }
}

// Halves pay only if a neighbour waits for the input half.
TEST(ZeroBubble, DoesNotSplitBackwardsOnASingleTeam) {
    EXPECT_EQ(texts_of(require_schedule("zb-h1"), make_grid_shape(1, 1, 1, 2))[0], "0F0 0B0 0F1 0B1");
    EXPECT_EQ(texts_of(require_schedule("zb-h2"), make_grid_shape(1, 1, 1, 2))[0], "0F0 0B0 0F1 0B1");
    EXPECT_EQ(texts_of(require_schedule("zb-v"), make_v_shape(1, 1, 2))[0], "0F0 1F0 1B0 0F1 0B0 1F1 1B1 0B1");
}

TEST(ZeroBubble, IsProvedWithOneSlot) {
    for (const GridSize& n : list_grids(1, 1)) {
        EXPECT_EQ(fault_of(require_schedule("zb-h1"), make_grid_shape(n.pipe, 2, 1, n.microbatches)), "")
            << n.text();
        EXPECT_EQ(fault_of(require_schedule("zb-h2"), make_grid_shape(n.pipe, 2, 1, n.microbatches)), "")
            << n.text();
        EXPECT_EQ(fault_of(require_schedule("zb-v"), make_v_shape(n.pipe, 2, n.microbatches)), "") << n.text();
    }
}

// The last team executes both its stages without a pause. Before and after that, a micro-batch passes the other
// teams.
TEST(ZeroBubbleV, TakesTheShortestForwardOnlyTimeWithOneSlot) {
    for (const GridSize& n : list_grids(1, 1)) {
        const PipelineShape shape = make_v_shape(n.pipe, 2, n.microbatches, false);
        const std::vector<StageCost> costs(static_cast<std::size_t>(shape.stages()));

        const Prediction prediction =
            predict(lower(generate(require_schedule("zb-v"), shape), shape), shape, costs);

        EXPECT_EQ(prediction.makespan, 2 * n.microbatches + 2 * (n.pipe - 1)) << n.text();
    }
}

TEST(ZeroBubbleV, IsTheOnlyScheduleForVShapes) {
    for (const Schedule& each : list_schedules()) {
        const std::string name = each.name;
        const Schedule kind = require_schedule(name);
        if (kind == require_schedule("zb-v")) continue;
        EXPECT_TRUE(says(refusal_of(kind, make_v_shape(3, 2, 4)), "--schedule zb-v"));
    }
}

TEST(ZeroBubbleV, RejectsOtherShapesWithTheNearestV) {
    const std::string expected =
        "schedule zb-v needs a V, where rank r of a replica holds stages r and 2 x pipe - 1 - r, and replicas "
        "have equal numbers of micro-batches, but the layout has ";

    EXPECT_EQ(
        refusal_of(require_schedule("zb-v"), make_grid_shape(2, 2, 2, 3)),
        expected +
            "6 micro-batches on 4 stages (replicas 2, 2, 2, 2); use --pipe 2 --data 2 in place of the layout");
    EXPECT_EQ(
        refusal_of(require_schedule("zb-v"), make_uneven_shape({1, 2}, 3)),
        expected + "3 micro-batches on 2 stages (replicas 1, 2); use --pipe 2 --data 1 in place of the layout");
}

}  // namespace
}  // namespace trireme::schedule

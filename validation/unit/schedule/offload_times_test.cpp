#include "trireme/schedule/offload_times.hpp"

#include <gtest/gtest.h>

#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {
namespace {

Instruction parse(const char* text) { return parse_instruction(text, "the test"); }

TEST(OffloadTimes, FollowFromTheUseOfMemory) {
    const Program program{parse("0F0"), parse("0F1"), parse("0B0"), parse("0B1")};
    // The stash of micro-batch 1, which is above that of micro-batch 0, is in the place of the state.
    const std::vector<BufferUse> uses{
        {BufferKind::workspace, program[0], 0, 1}, {BufferKind::stash, program[0], 0, 3},
        {BufferKind::workspace, program[1], 1, 2}, {BufferKind::stash, program[1], 1, 4},
        {BufferKind::workspace, program[2], 2, 3}, {BufferKind::workspace, program[3], 3, 4}};
    const std::vector<std::size_t> bytes{64, 128, 64, 128, 64, 64};
    const BufferPlacement placement{.offsets = {0, 64, 0, 192, 0, 0}, .bytes = 320};

    const OffloadTimes times = predict_offload_times(uses, bytes, placement, 192, 0.5);

    EXPECT_EQ(times.begins, (std::map<Instruction, double>{{program[1], 64.0}}));
    EXPECT_EQ(times.returns, (std::map<Instruction, double>{{program[3], 64.0}}));
}

// The second half of the state begins to return after the first pass, and the first half at the end.
TEST(OffloadTimes, CountEachPieceFromItsLastUse) {
    const Program program{parse("0F0"), parse("0B0"), parse("0F1"), parse("0B1")};
    const std::vector<BufferUse> uses{{BufferKind::workspace, program[0], 0, 1},
                                      {BufferKind::workspace, program[1], 1, 2},
                                      {BufferKind::workspace, program[2], 2, 3},
                                      {BufferKind::workspace, program[3], 3, 4}};
    const std::vector<std::size_t> bytes{128, 64, 64, 64};

    const OffloadTimes times =
        predict_offload_times(uses, bytes, {.offsets = {0, 0, 0, 0}, .bytes = 128}, 0, 1);

    EXPECT_EQ(times.begins, (std::map<Instruction, double>{{program[0], 128.0}}));
    EXPECT_EQ(times.returns, (std::map<Instruction, double>{{program[0], 128.0}, {program[3], 64.0}}));
}

TEST(OffloadTimes, AreEmptyIfTheStateStays) {
    const Program program{parse("0F0"), parse("0B0")};
    const std::vector<BufferUse> uses{{BufferKind::workspace, program[0], 0, 1},
                                      {BufferKind::workspace, program[1], 1, 2}};

    const OffloadTimes times = predict_offload_times(uses, {64, 64}, {.offsets = {0, 0}, .bytes = 64}, 64, 1);

    EXPECT_TRUE(times.begins.empty());
    EXPECT_TRUE(times.returns.empty());
}

TEST(OffloadTimes, DelayPassesAndUpdates) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    StepClock clock(lower_phases(generate_phases(require_schedule("gpipe"), shape), shape), shape);
    const StepCosts costs(std::vector<StageCost>(2));  // each pass takes 1, a backward 2
    const double without = clock.predict_seconds(costs);
    const Instruction first = parse("1F0");
    const Instruction last = parse("0B1");

    // The forward of stage 1 begins at 1, and the last backward of stage 0 ends with the step.
    EXPECT_EQ(clock.predict_seconds(costs, {{}, {.begins = {{first, 1.0}}, .returns = {}}}), without);
    EXPECT_EQ(clock.predict_seconds(costs, {{}, {.begins = {{first, 3.5}}, .returns = {}}}), without + 2.5);
    EXPECT_EQ(clock.predict_seconds(costs, {{.begins = {}, .returns = {{last, 3.0}}}}), without + 3);
    EXPECT_EQ(clock.predict_seconds(costs), without);
}

}  // namespace
}  // namespace trireme::schedule

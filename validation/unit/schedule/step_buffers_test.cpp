#include "trireme/schedule/step_buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "trireme/base/error.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

std::vector<BufferUse> list_uses(const std::string& schedule, const PipelineShape& shape, int team) {
    const std::vector<Program> programs = lower(generate(require_schedule(schedule), shape), shape);
    return list_buffer_uses(programs[static_cast<std::size_t>(team)], team, shape);
}

std::vector<std::size_t> count_rows(const std::string& schedule, const PipelineShape& shape) {
    std::vector<std::size_t> counts;
    for (int team = 0; team < shape.teams; ++team)
        counts.push_back(count_buffers_in_use(list_uses(schedule, shape, team), BufferKind::rows));
    return counts;
}

using Counts = std::vector<std::size_t>;

TEST(StepBuffers, HaveNoRowsWithoutNeighbours) {
    EXPECT_EQ(count_rows("1f1b", make_grid_shape(1, 2, 1, 3)), (Counts{0, 0}));
}

// The first stage needs a buffer for the incoming gradient. The last stage needs buffers for its current input,
// the next input, and the gradient that it computes.
TEST(StepBuffers, HoldInputsAndGradients) {
    EXPECT_EQ(count_rows("1f1b", make_grid_shape(2, 1, 1, 4)), (Counts{1, 3}));
}

TEST(StepBuffers, HoldInputsOfAllForwardsInGPipe) {
    EXPECT_EQ(count_rows("gpipe", make_grid_shape(2, 1, 1, 4)), (Counts{1, 5}));
}

TEST(StepBuffers, FreeReadInputsInForwardOnlyPrograms) {
    EXPECT_EQ(count_rows("gpipe", make_grid_shape(2, 1, 1, 4, false)), (Counts{0, 1}));
}

// The last team sends gradients to two teams, and each of the two channels has a slot.
TEST(StepBuffers, HoldTheSlotsOfEachNeighbour) {
    EXPECT_EQ(count_rows("inter-layer", make_uneven_shape({1, 1}, 4)), (Counts{1, 3}));
    EXPECT_EQ(count_rows("inter-layer", make_uneven_shape({2, 1}, 4)), (Counts{1, 1, 5}));
}

// Team 0 holds stages 0 and 2, team 1 holds stage 1.
TEST(StepBuffers, CoverAllStagesOfATeam) {
    PipelineShape shape = make_grid_shape(1, 1, 3, 1);
    shape.teams = 2;
    shape.holders = {{0}, {1}, {0}};
    shape.executor = {{0}, {1}, {0}};
    const Program first =
        lower({{{Op::forward, 0, 0}, {Op::forward, 2, 0}, {Op::backward, 2, 0}, {Op::backward, 0, 0}},
               {{Op::forward, 1, 0}, {Op::backward, 1, 0}}},
              shape)
            .front();

    EXPECT_EQ(count_buffers_in_use(list_buffer_uses(first, 0, shape), BufferKind::rows), 3U);
}

// A forward of the first stage keeps its stash until the gradient has come back.
TEST(StepBuffers, KeepAsManyStashesAsMicrobatchesAreInFlight) {
    const PipelineShape shape = make_grid_shape(4, 1, 1, 8);
    for (int team = 0; team < 4; ++team) {
        EXPECT_EQ(count_buffers_in_use(list_uses("1f1b", shape, team), BufferKind::stash),
                  static_cast<std::size_t>(4 - team));
        EXPECT_EQ(count_buffers_in_use(list_uses("gpipe", shape, team), BufferKind::stash), 8U);
        EXPECT_EQ(count_buffers_in_use(list_uses("1f1b", shape, team), BufferKind::workspace), 1U);
    }
}

// An output in an evaluation is freed when the next message needs the slot.
TEST(StepBuffers, KeepOutputsOfAnEvaluationUntilTheyAreSent) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 4, false);

    EXPECT_EQ(count_buffers_in_use(list_uses("gpipe", shape, 0), BufferKind::stash), 1U);
    EXPECT_EQ(count_buffers_in_use(list_uses("gpipe", shape, 1), BufferKind::stash), 1U);
}

TEST(StepBuffers, SkipEmptyMicrobatches) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 3);
    const std::vector<Program> programs = lower(generate(require_schedule("gpipe"), shape), shape);

    const std::vector<BufferUse> uses = list_buffer_uses(programs[1], 1, shape, {false, true, false});

    EXPECT_EQ(count_buffers_in_use(uses, BufferKind::stash), 2U);
    EXPECT_TRUE(std::ranges::none_of(uses, [](const BufferUse& use) { return use.taker.microbatch == 1; }));
}

PipelineShape train_from(PipelineShape shape, int first_trained_stage) {
    shape.first_trained_stage = first_trained_stage;
    return shape;
}

// Returns the stashes and rows of `program`, such as "stash 0F0 [0, 2)".
std::vector<std::string> list_tensors(const char* program, int team, const PipelineShape& shape) {
    std::vector<std::string> texts;
    for (const BufferUse& use : list_buffer_uses(program_of(program), team, shape)) {
        if (use.kind == BufferKind::workspace) continue;
        texts.push_back(cat(use.kind == BufferKind::stash ? "stash " : "rows ", to_string(use.taker), " [",
                            use.begin, ", ", use.end, ")"));
    }
    return texts;
}

TEST(StepBuffers, HoldTheOutputOfAFrozenStageUntilItIsSent) {
    const PipelineShape shape = train_from(make_grid_shape(2, 1, 1, 2), 1);
    PipelineShape two_slots = shape;
    two_slots.slots = 2;

    EXPECT_EQ(list_tensors("0F0 0SEND_F0 0F1 0SEND_F1", 0, shape),
              (std::vector<std::string>{"stash 0F0 [0, 2)", "stash 0F1 [2, 4)"}));
    EXPECT_EQ(list_tensors("0F0 0SEND_F0 0F1 0SEND_F1", 0, two_slots),
              (std::vector<std::string>{"stash 0F0 [0, 4)", "stash 0F1 [2, 4)"}));
}

// Both stages of team 0 send to team 1 over one channel. The forward of the frozen stage needs the slot of the
// trained stage's output, which the backward still reads.
TEST(StepBuffers, HoldTheOutputOfATrainedStageWhenAFrozenStageNeedsItsSlot) {
    const PipelineShape shape = train_from(make_grid_shape(2, 1, 2, 2), 1);

    EXPECT_EQ(list_tensors("0F0 0SEND_F0 2RECV_F0 2F0 2SEND_F0 0F1 0SEND_F1 2RECV_B0 2B0 2SEND_B0", 0, shape),
              (std::vector<std::string>{"stash 0F0 [0, 3)", "rows 2RECV_F0 [2, 9)", "stash 2F0 [3, 9)",
                                        "stash 0F1 [5, 10)", "rows 2RECV_B0 [7, 9)", "rows 2B0 [8, 10)"}));
}

// The backward of a trained stage reads the input of the stage.
TEST(StepBuffers, HoldTheOutputOfAFrozenStageUntilTheSameTeamHasReadIt) {
    EXPECT_EQ(list_tensors("0F0 1F0 2F0 2B0 REDUCE2 STEP2", 0, train_from(make_grid_shape(1, 1, 3, 1), 2)),
              (std::vector<std::string>{"stash 0F0 [0, 2)", "stash 1F0 [1, 4)", "stash 2F0 [2, 4)"}));
    EXPECT_EQ(list_tensors("0F0 1F0 1I0 1W0 REDUCE1 STEP1", 0, train_from(make_grid_shape(1, 1, 2, 1), 1)),
              (std::vector<std::string>{"stash 0F0 [0, 4)", "stash 1F0 [1, 4)"}));
}

TEST(StepBuffers, HaveNoGradientForAFrozenStage) {
    const PipelineShape row = make_grid_shape(3, 1, 1, 1);

    EXPECT_EQ(list_tensors("2RECV_F0 2F0 2B0 REDUCE2 STEP2", 2, train_from(row, 2)),
              (std::vector<std::string>{"rows 2RECV_F0 [0, 3)", "stash 2F0 [1, 3)"}));
    EXPECT_EQ(list_tensors("1RECV_F0 1F0 1SEND_F0 1RECV_B0 1B0 REDUCE1 STEP1", 1, train_from(row, 1)),
              (std::vector<std::string>{"rows 1RECV_F0 [0, 5)", "stash 1F0 [1, 5)", "rows 1RECV_B0 [3, 5)"}));
    EXPECT_EQ(list_tensors("1RECV_F0 1F0 2F0 2SEND_F0 2RECV_B0 2B0 REDUCE2 STEP2", 1,
                           train_from(make_v_shape(2, 1, 1), 2)),
              (std::vector<std::string>{"rows 1RECV_F0 [0, 2)", "stash 1F0 [1, 6)", "stash 2F0 [2, 6)",
                                        "rows 2RECV_B0 [4, 6)"}));
}

// 1f1b begins no micro-batch of the next step before its STEP. With speculative updates, zb-h1 begins the next
// step between STEP and VALIDATE. PipeDream keeps micro-batches of several steps in flight.
TEST(StepBuffers, AreCommonToStepsOnlyIfAnUpdateLeavesMicrobatchesInFlight) {
    PipelineShape shape = make_grid_shape(3, 1, 1, 4);
    for (const auto& [name, are_common] : {std::pair{"gpipe", false},
                                           {"1f1b", false},
                                           {"zb-h1", false},
                                           {"pipedream", true},
                                           {"pipedream-2bw", true}}) {
        const Schedule& schedule = require_schedule(name);
        shape.has_speculative_updates = schedule.splits_backward;
        shape.updates_stages_independently = schedule.updates_stages_independently;
        EXPECT_EQ(have_steps_common_buffers(lower_phases(generate_phases(schedule, shape), shape), 4),
                  are_common)
            << name;
    }
}

std::size_t find_max_live(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes) {
    std::size_t max_live = 0;
    for (const BufferUse& moment : uses) {
        std::size_t live = 0;
        for (std::size_t i = 0; i < uses.size(); ++i) {
            if (uses[i].begin <= moment.begin && moment.begin < uses[i].end) live += bytes[i];
        }
        max_live = std::max(max_live, live);
    }
    return max_live;
}

void expect_disjoint(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                     const BufferPlacement& placement) {
    for (std::size_t a = 0; a < uses.size(); ++a) {
        EXPECT_EQ(placement.offsets[a] % 64, 0U);
        EXPECT_LE(placement.offsets[a] + bytes[a], placement.bytes);
        for (std::size_t b = 0; b < a; ++b) {
            if (!uses[a].overlaps(uses[b])) continue;
            EXPECT_TRUE(placement.offsets[a] + bytes[a] <= placement.offsets[b] ||
                        placement.offsets[b] + bytes[b] <= placement.offsets[a]);
        }
    }
}

// Returns the size of the smallest block, by first fit in all orders.
std::size_t find_smallest_block(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes) {
    std::vector<std::size_t> order(uses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t smallest = std::numeric_limits<std::size_t>::max();
    do {
        std::vector<std::size_t> offsets(uses.size(), 0);
        std::size_t size = 0;
        for (std::size_t k = 0; k < order.size(); ++k) {
            std::vector<std::size_t> ends{0};
            for (std::size_t p = 0; p < k; ++p)
                if (uses[order[k]].overlaps(uses[order[p]]))
                    ends.push_back(offsets[order[p]] + bytes[order[p]]);
            std::ranges::sort(ends);
            for (const std::size_t end : ends) {
                const bool is_free =
                    std::none_of(order.begin(), order.begin() + static_cast<long>(k), [&](std::size_t p) {
                        return uses[order[k]].overlaps(uses[p]) && offsets[p] < end + bytes[order[k]] &&
                               end < offsets[p] + bytes[p];
                    });
                if (!is_free) continue;
                offsets[order[k]] = end;
                break;
            }
            size = std::max(size, offsets[order[k]] + bytes[order[k]]);
        }
        smallest = std::min(smallest, size);
    } while (std::ranges::next_permutation(order).found);
    return smallest;
}

TEST(BufferPlacementSize, IsWithinATenthOfTheSmallestForFewBuffers) {
    std::mt19937 random(7);
    double worst = 1;
    for (int round = 0; round < 60; ++round) {
        const std::size_t count = 3 + random() % 6;
        std::vector<BufferUse> uses;
        std::vector<std::size_t> bytes;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t begin = random() % 10;
            uses.push_back({.taker = {}, .begin = begin, .end = begin + 1 + random() % 6});
            bytes.push_back(64 * (1 + random() % 20));
        }
        std::ranges::sort(uses, {}, &BufferUse::begin);
        const BufferPlacement placement = place_buffers(uses, bytes);
        expect_disjoint(uses, bytes, placement);
        EXPECT_GE(placement.bytes, find_max_live(uses, bytes));
        worst = std::max(worst, static_cast<double>(placement.bytes) /
                                    static_cast<double>(find_smallest_block(uses, bytes)));
    }
    EXPECT_LE(worst, 1.1);
}

// One long micro-batch among 15 short ones needs little more than the short ones.
TEST(BufferPlacementSize, FollowsTheSizesOfTheStep) {
    const PipelineShape shape = make_grid_shape(4, 1, 1, 16);
    for (const char* const schedule : {"gpipe", "1f1b"}) {
        for (int team = 0; team < 4; ++team) {
            const std::vector<BufferUse> uses = list_uses(schedule, shape, team);
            std::vector<std::size_t> bytes;
            for (const BufferUse& use : uses)
                bytes.push_back((use.kind == BufferKind::rows ? 1000 : 10'000) *
                                (use.taker.microbatch == 5 ? 8 : 1));
            const BufferPlacement placement = place_buffers(uses, bytes);
            expect_disjoint(uses, bytes, placement);
            EXPECT_LE(static_cast<double>(placement.bytes),
                      1.02 * static_cast<double>(find_max_live(uses, bytes)));
        }
    }
}

TEST(PlacedBuffers, FitIntoABlockExactlyIfTheirPlacementDoes) {
    std::mt19937 random(3);
    const std::vector<BufferUse> uses = list_uses("1f1b", make_grid_shape(4, 1, 1, 8), 1);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<std::size_t> bytes;
        for (std::size_t i = 0; i < uses.size(); ++i) bytes.push_back(random() % 5000);
        const std::size_t needed = place_buffers(uses, bytes).bytes;

        for (const std::size_t limit : {needed / 2, needed - 64, needed - 1, needed, needed + 1, 2 * needed})
            EXPECT_EQ(can_place_buffers(uses, bytes, limit), limit >= needed) << trial;
    }
}

}  // namespace
}  // namespace trireme::schedule

#include "trireme/schedule/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/schedule/every_shape.hpp"

namespace trireme::schedule {
namespace {

using validation::catch_message;
using validation::says;

constexpr int more_slots_than_needed = 100;

std::string refusal_of(const Schedule& kind, const PipelineShape& shape) {
    return catch_message<ConfigError>([&] { generate(kind, shape); });
}

Prediction prediction_of(const Schedule& kind, PipelineShape shape, const StageCost& cost) {
    shape.slots = more_slots_than_needed;
    const std::vector<StageCost> costs(static_cast<std::size_t>(shape.stages()), cost);
    return predict(lower(generate(kind, shape), shape), shape, costs);
}

// Returns the smallest group of micro-batches, at least `pipe`, that leaves none or at least `pipe` for the
// last group.
int group_size(int pipe, int microbatches) {
    for (int size = pipe; size < microbatches; ++size) {
        if (microbatches % size == 0 || microbatches % size >= pipe) return size;
    }
    return microbatches;
}

TEST(InterLayer, RunsMicrobatchesOneAfterTheOther) {
    const std::vector<std::string> programs =
        texts_of(require_schedule("inter-layer"), make_grid_shape(2, 1, 1, 2));

    EXPECT_EQ(programs[0], "0F0 0B0 0F1 0B1");
    EXPECT_EQ(programs[1], "1F0 1B0 1F1 1B1");
}

TEST(GPipe, RunsEveryForwardBeforeAnyBackward) {
    const std::vector<std::string> programs = texts_of(require_schedule("gpipe"), make_grid_shape(2, 1, 1, 3));

    EXPECT_EQ(programs[0], "0F0 0F1 0F2 0B0 0B1 0B2");
    EXPECT_EQ(programs[1], "1F0 1F1 1F2 1B0 1B1 1B2");
}

TEST(OneForwardOneBackward, MatchesTheDiagramInItsSource) {
    const std::vector<std::string> programs = texts_of(require_schedule("1f1b"), make_grid_shape(3, 1, 1, 4));

    EXPECT_EQ(programs[0], "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
    EXPECT_EQ(programs[1], "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
    EXPECT_EQ(programs[2], "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

TEST(Interleaved, MatchesTheDiagramInItsSource) {
    const std::vector<std::string> programs =
        texts_of(require_schedule("interleaved"), make_grid_shape(2, 1, 2, 4));

    EXPECT_EQ(programs[0], "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
    EXPECT_EQ(programs[1], "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
}

TEST(LoopedBfs, MatchesTheDiagramInItsSource) {
    const std::vector<std::string> programs =
        texts_of(require_schedule("looped-bfs"), make_grid_shape(2, 1, 2, 2));

    EXPECT_EQ(programs[0], "0F0 0F1 2F0 2F1 2B1 2B0 0B1 0B0");
    EXPECT_EQ(programs[1], "1F0 1F1 3F0 3F1 3B1 3B0 1B1 1B0");
}

TEST(Generate, GivesEachGridRowItsOwnMicrobatches) {
    const std::vector<std::string> straight = texts_of(require_schedule("1f1b"), make_grid_shape(2, 2, 1, 2));
    const std::vector<std::string> looped =
        texts_of(require_schedule("looped-bfs"), make_grid_shape(2, 2, 2, 1));

    const std::vector<std::string> v = texts_of(require_schedule("zb-v"), make_v_shape(2, 2, 1));

    EXPECT_EQ(straight[0], "0F0 0F1 0B0 0B1");
    EXPECT_EQ(straight[2], "0F2 0F3 0B2 0B3");
    EXPECT_EQ(straight[3], "1F2 1B2 1F3 1B3");
    EXPECT_EQ(looped[1], "1F0 3F0 3B0 1B0");
    EXPECT_EQ(looped[3], "1F1 3F1 3B1 1B1");
    EXPECT_EQ(v[3], "1F1 2F1 2B1 1I1 1W1");
}

TEST(OneForwardOneBackward, WarmsUpWithOneForwardPerLaterTeam) {
    for (const GridSize& n : list_grids(1, 1)) {
        const auto programs = generate(require_schedule("1f1b"), make_grid_shape(n.pipe, 1, 1, n.microbatches));

        for (int team = 0; team < n.pipe; ++team) {
            const Program& program = programs[static_cast<std::size_t>(team)];
            const auto first_backward = std::find_if(program.begin(), program.end(),
                                                     [](const Instruction& i) { return i.op == Op::backward; });
            EXPECT_EQ(first_backward - program.begin(), std::min(n.pipe - team, n.microbatches)) << n.text();
        }
    }
}

TEST(OneForwardOneBackward, ScalesItsWarmUpByTheRatioOfReplicas) {
    // The warm-up by hand: w = 0 at the last stage, then ceil(1 x 2 / 3) = 1, then ceil(2 x 3 / 3) = 2.
    const std::vector<std::string> narrowing =
        texts_of(require_schedule("1f1b"), make_uneven_shape({3, 3, 2}, 12));
    // One replica feeds three: ceil(1 x 3 / 1) = 3.
    const std::vector<std::string> widening = texts_of(require_schedule("1f1b"), make_uneven_shape({1, 3}, 6));

    EXPECT_EQ(narrowing[0], "0F0 0F3 0F6 0B0 0F9 0B3 0B6 0B9");
    EXPECT_EQ(narrowing[4], "1F1 1F4 1B1 1F7 1B4 1F10 1B7 1B10");
    EXPECT_EQ(narrowing[7], "2F1 2B1 2F3 2B3 2F5 2B5 2F7 2B7 2F9 2B9 2F11 2B11");
    EXPECT_EQ(widening[0], "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0F5 0B2 0B3 0B4 0B5");
    EXPECT_EQ(widening[3], "1F2 1B2 1F5 1B5");
}

TEST(OneForwardOneBackward, FollowsTheExecutorOfEachMicrobatch) {
    PipelineShape shape = make_uneven_shape({2, 1}, 4);
    shape.executor[0] = {0, 0, 0, 1};  // turns 3 : 1

    const std::vector<std::string> programs = texts_of(require_schedule("1f1b"), shape);

    EXPECT_EQ(programs[0], "0F0 0F1 0B0 0F2 0B1 0B2");
    EXPECT_EQ(programs[1], "0F3 0B3");
    EXPECT_EQ(fault_of(require_schedule("1f1b"), shape), "");
}

TEST(Interleaved, EqualsOneForwardOneBackwardForOneChunk) {
    for (const GridSize& n : list_grids(1, 1)) {
        const PipelineShape shape = make_grid_shape(n.pipe, 2, 1, n.microbatches);

        EXPECT_EQ(generate(require_schedule("interleaved"), shape), generate(require_schedule("1f1b"), shape))
            << n.text();
    }
}

TEST(Generate, NeedsOneSlotForSingleChunkSchedulesOnEveryGrid) {
    for (const GridSize& n : list_grids(1, 1)) {
        const PipelineShape shape = make_grid_shape(n.pipe, 2, 1, n.microbatches);
        for (const Schedule& kind : {require_schedule("inter-layer"), require_schedule("gpipe"),
                                     require_schedule("1f1b"), require_schedule("looped-bfs")}) {
            EXPECT_EQ(fault_of(kind, shape), "") << kind.name << ", " << n.text();
        }
    }
}

TEST(Generate, NeedsOneSlotForSingleChunkSchedulesOnUnequalReplicas) {
    for (const PipelineShape& shape : list_uneven_shapes(true)) {
        for (const Schedule& kind :
             {require_schedule("inter-layer"), require_schedule("gpipe"), require_schedule("1f1b")}) {
            EXPECT_EQ(fault_of(kind, shape), "") << kind.name << ", " << describe_uneven_shape(shape);
        }
    }
}

// A group may hold up to two micro-batches per team of the row, more than one slot carries.
TEST(Interleaved, NeedsAtMostThreeSlotsAndOneIfGroupsHavePipeSize) {
    for (const GridSize& n : list_grids(2, 3)) {
        const int slots = find_min_slots(require_schedule("interleaved"),
                                         make_grid_shape(n.pipe, 1, n.chunks, n.microbatches));

        const bool is_even = n.microbatches <= n.pipe || group_size(n.pipe, n.microbatches) == n.pipe;
        EXPECT_LE(slots, is_even ? 1 : 3) << n.text();
    }
}

// The first team executes all its forwards of a chunk before it reads what the last team sends.
TEST(LoopedBfs, NeedsOneMoreSlotPerTwoMicrobatchesOfATeam) {
    for (const GridSize& n : list_grids(2, 3)) {
        const int slots = find_min_slots(require_schedule("looped-bfs"),
                                         make_grid_shape(n.pipe, 1, n.chunks, n.microbatches));

        EXPECT_EQ(slots, n.pipe == 1 ? 1 : n.microbatches / (2 * n.pipe) + 1) << n.text();
    }
}

TEST(Generate, NeedsOneSlotForForwardOnlyPrograms) {
    for (const GridSize& n : list_grids(1, 3)) {
        const PipelineShape shape = make_grid_shape(n.pipe, 2, n.chunks, n.microbatches, false);
        EXPECT_EQ(fault_of(require_schedule("interleaved"), shape), "") << n.text();
    }
    for (const PipelineShape& shape : list_uneven_shapes(false)) {
        EXPECT_EQ(fault_of(require_schedule("gpipe"), shape), "") << describe_uneven_shape(shape);
    }
}

TEST(Generate, RunsForwardOnlyMicrobatchesInGroups) {
    const std::vector<std::string> looped =
        texts_of(require_schedule("looped-bfs"), make_grid_shape(2, 1, 2, 5, false));
    const std::vector<std::string> uneven =
        texts_of(require_schedule("1f1b"), make_uneven_shape({2, 1}, 3, false));
    const std::vector<std::string> v = texts_of(require_schedule("zb-v"), make_v_shape(2, 1, 4, false));

    EXPECT_EQ(looped[0], "0F0 0F1 2F0 2F1 0F2 0F3 2F2 2F3 0F4 2F4");
    EXPECT_EQ(uneven[0], "0F0 0F2");
    EXPECT_EQ(uneven[2], "1F0 1F1 1F2");
    EXPECT_EQ(v[0], "0F0 0F1 0F2 3F0 0F3 3F1 3F2 3F3");
    EXPECT_EQ(v[1], "1F0 2F0 1F1 2F1 1F2 2F2 1F3 2F3");
}

// Idle time without costs of communication; the unit is a forward and a backward of one chunk.
TEST(Generate, MatchesTheClosedFormOfIdleTime) {
    const StageCost cost{.forward = 3, .backward_input = 2, .backward_weight = 3};
    for (const GridSize& n : list_grids(1, 3)) {
        const PipelineShape shape = make_grid_shape(n.pipe, 1, n.chunks, n.microbatches);
        const int waits_before_chunks = (n.chunks - 1) * std::max(0, n.pipe - n.microbatches);
        const double idle = 8.0 * (n.pipe - 1 + waits_before_chunks);

        EXPECT_EQ(prediction_of(require_schedule("interleaved"), shape, cost).compute_idle_time(0), idle)
            << n.text();
        EXPECT_EQ(prediction_of(require_schedule("looped-bfs"), shape, cost).compute_idle_time(0), idle)
            << n.text();
        if (n.chunks > 1) continue;
        EXPECT_EQ(prediction_of(require_schedule("gpipe"), shape, cost).compute_idle_time(0), idle) << n.text();
        EXPECT_EQ(prediction_of(require_schedule("1f1b"), shape, cost).compute_idle_time(0), idle) << n.text();
        const double others = 8.0 * n.microbatches * (n.pipe - 1);
        EXPECT_EQ(prediction_of(require_schedule("inter-layer"), shape, cost).compute_idle_time(0), others)
            << n.text();
    }
}

TEST(Generate, MatchesTheClosedFormOfPeakActivations) {
    for (const GridSize& n : list_grids(1, 3)) {
        PipelineShape shape = make_grid_shape(n.pipe, 1, n.chunks, n.microbatches);
        shape.slots = more_slots_than_needed;
        const auto peak_of = [&](const Schedule& kind, int team) {
            const Verdict verdict = verify_programs(lower(generate(kind, shape), shape), shape);
            return verdict.proof.peak_activations[static_cast<std::size_t>(team)];
        };
        const int all = n.microbatches * n.chunks;
        const int group = group_size(n.pipe, n.microbatches);
        for (const int team : {0, n.pipe - 1}) {
            const int teams_after = n.pipe - 1 - team;
            const int ahead = n.chunks == 1 ? teams_after : 2 * teams_after + (n.chunks - 1) * group;
            EXPECT_EQ(peak_of(require_schedule("interleaved"), team), std::min(ahead + 1, all)) << n.text();
            EXPECT_EQ(peak_of(require_schedule("looped-bfs"), team), all) << n.text();
        }
    }
}

TEST(Generate, RejectsChunksAndSuggestsAlternatives) {
    for (const Schedule& kind :
         {require_schedule("inter-layer"), require_schedule("gpipe"), require_schedule("1f1b"),
          require_schedule("zb-h1"), require_schedule("zb-h2")}) {
        const std::string message = refusal_of(kind, make_grid_shape(4, 2, 3, 8));

        EXPECT_TRUE(says(message, cat("schedule ", kind.name, " needs one stage per rank")));
        EXPECT_TRUE(says(message, "pipe 4 with chunks 3 puts 3 stages on each rank"));
        EXPECT_TRUE(says(message, "use --chunks 1, or --schedule interleaved or looped-bfs"));
    }
}

TEST(Generate, RejectsGridSchedulesForUnequalReplicas) {
    for (const Schedule& kind :
         {require_schedule("interleaved"), require_schedule("zb-h1"), require_schedule("zb-h2")}) {
        EXPECT_EQ(
            refusal_of(kind, make_uneven_shape({3, 3, 2}, 12)),
            cat("schedule ", kind.name,
                " needs a grid whose replicas have equal numbers of micro-batches, but the layout has 12 "
                "micro-batches on 3 stages (replicas 3, 3, 2); use --pipe 3 --data 2 in place of the layout, "
                "or --schedule 1f1b or gpipe"));
    }
}

TEST(Generate, RejectsTeamsWithSeveralStagesOutsideAGrid) {
    const PipelineShape shape{
        .teams = 2, .microbatches = 1, .holders = {{0}, {1}, {1}}, .executor = {{0}, {1}, {1}}};

    EXPECT_TRUE(says(refusal_of(require_schedule("gpipe"), shape),
                     "this layout of 3 stages puts several stages on a rank"));
    EXPECT_TRUE(says(refusal_of(require_schedule("gpipe"), shape), "--schedule FILE.csv"));
    EXPECT_TRUE(says(refusal_of(require_schedule("looped-bfs"), shape), "use --pipe 2 --data 1"));
}

TEST(Generate, RejectsEmptyShapes) {
    PipelineShape empty = make_grid_shape(2, 1, 1, 1);
    empty.microbatches = 0;
    empty.executor = {{}, {}};

    EXPECT_TRUE(says(refusal_of(require_schedule("gpipe"), empty), "(teams 2, stages 2, micro-batches 0)"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] { make_grid_shape(0, 1, 1, 4); }), "pipe 0"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] { make_grid_shape(2, 1, 1, 0); }), "micro-batches 0"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] { make_v_shape(2, 0, 1); }), "data 0, chunks 2"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] {
                         make_uneven_shape({2, 0}, 4);
                     }),
                     "replicas of the smallest stage: 0"));
}

TEST(Generate, ThrowsBugErrorIfAnExecutorIsNoHolder) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    shape.executor[1][0] = 0;

    EXPECT_TRUE(
        says(catch_message<BugError>([&] { generate(require_schedule("gpipe"), shape); }), "name a holder"));
}

TEST(ScheduleName, ResolvesToItsSchedule) {
    for (const Schedule& each : list_schedules()) EXPECT_EQ(require_schedule(each.name), each);
}

TEST(ScheduleName, IsRejectedWithAListOfSchedulesIfUnknown) {
    const std::string message = catch_message<ConfigError>([] { require_schedule("interleave"); });

    EXPECT_TRUE(says(message, "there is no schedule 'interleave'; the schedules are "));
    for (const Schedule& each : list_schedules()) EXPECT_TRUE(says(message, each.name));
}

}  // namespace
}  // namespace trireme::schedule

#include "trireme/schedule/row_buffers.hpp"

#include <gtest/gtest.h>

#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::schedule {
namespace {

std::vector<std::size_t> buffers_of(const Schedule& kind, const PipelineShape& shape) {
    std::vector<std::size_t> most;
    const std::vector<Program> programs = lower(generate(kind, shape), shape);
    for (std::size_t team = 0; team < programs.size(); ++team) {
        most.push_back(count_row_buffers(programs[team], static_cast<int>(team), shape));
    }
    return most;
}

using Counts = std::vector<std::size_t>;

TEST(RowBufferCount, IsZeroWithoutNeighbours) {
    EXPECT_EQ(buffers_of(require_schedule("1f1b"), make_grid_shape(1, 2, 1, 3)), (Counts{0, 0}));
}

// The first stage needs a buffer for the incoming gradient. The last stage needs buffers for its current input,
// the next input, and the gradient that it computes.
TEST(RowBufferCount, IncludesInputsAndGradients) {
    EXPECT_EQ(buffers_of(require_schedule("1f1b"), make_grid_shape(2, 1, 1, 4)), (Counts{1, 3}));
}

TEST(RowBufferCount, IncludesInputsOfAllForwardsInGPipe) {
    EXPECT_EQ(buffers_of(require_schedule("gpipe"), make_grid_shape(2, 1, 1, 4)), (Counts{1, 5}));
}

TEST(RowBufferCount, ExcludesReadInputsInForwardOnlyPrograms) {
    EXPECT_EQ(buffers_of(require_schedule("gpipe"), make_grid_shape(2, 1, 1, 4, false)), (Counts{0, 1}));
}

// The last team sends gradients to two teams, and each of the two channels has a slot.
TEST(RowBufferCount, IncludesTheSlotsOfEachNeighbour) {
    EXPECT_EQ(buffers_of(require_schedule("inter-layer"), make_uneven_shape({1, 1}, 4)), (Counts{1, 3}));
    EXPECT_EQ(buffers_of(require_schedule("inter-layer"), make_uneven_shape({2, 1}, 4)), (Counts{1, 1, 5}));
}

// Team 0 holds stages 0 and 2, team 1 holds stage 1.
TEST(RowBufferCount, IncludesAllStagesOfATeam) {
    PipelineShape shape = make_grid_shape(1, 1, 3, 1);
    shape.teams = 2;
    shape.holders = {{0}, {1}, {0}};
    shape.executor = {{0}, {1}, {0}};
    const Program first =
        lower({{{Op::forward, 0, 0}, {Op::forward, 2, 0}, {Op::backward, 2, 0}, {Op::backward, 0, 0}},
               {{Op::forward, 1, 0}, {Op::backward, 1, 0}}},
              shape)
            .front();

    EXPECT_EQ(count_row_buffers(first, 0, shape), 3U);
}

}  // namespace
}  // namespace trireme::schedule

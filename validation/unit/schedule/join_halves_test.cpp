#include "schedule/search/join_halves.hpp"

#include <gtest/gtest.h>

#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

std::vector<std::string> joined(const std::vector<Program>& programs, const PipelineShape& shape,
                                std::size_t attempts = 100) {
    const StageHoldings holdings(shape);
    const std::vector<StageCost> costs(shape.holders.size());
    ProgramClock clock(shape, holdings, costs);
    std::vector<std::string> texts;
    for (const Program& program : join_halves(programs, clock, attempts)) {
        texts.push_back(to_string(program));
    }
    return texts;
}

using Texts = std::vector<std::string>;

TEST(JoinedHalves, AreOnlyAdjacentHalves) {
    const auto programs = programs_of({"0F0 0F1 0I0 0W0 0I1 0W1"});
    const auto deferred = programs_of({"0F0 0F1 0I0 0I1 0W0 0W1"});

    EXPECT_EQ(joined(programs, make_grid_shape(1, 1, 1, 2)), Texts{"0F0 0F1 0B0 0B1"});
    EXPECT_EQ(joined(deferred, make_grid_shape(1, 1, 1, 2)), Texts{"0F0 0F1 0I0 0I1 0W0 0W1"});
}

//   team 0   F0 F1    I0 W0 I1 W1
//   team 1      F0 I0 W0 F1 I1 W1
//
// Team 0 needs both gradients as soon as they arrive; no team needs the gradients of team 0.
TEST(JoinedHalves, DelayNoOtherTeam) {
    const auto programs = programs_of({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1W0 1F1 1I1 1W1"});

    EXPECT_EQ(joined(programs, make_grid_shape(2, 1, 1, 2)), (Texts{"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1I1 1W1"}));
}

TEST(JoinedHalves, AreLimitedByTheNumberOfAttempts) {
    const auto programs = programs_of({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1W0 1F1 1I1 1W1"});

    EXPECT_EQ(joined(programs, make_grid_shape(2, 1, 1, 2), 1),
              (Texts{"0F0 0F1 0B0 0B1", "1F0 1I0 1W0 1F1 1I1 1W1"}));
    EXPECT_EQ(joined(programs, make_grid_shape(2, 1, 1, 2), 0),
              (Texts{"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1W0 1F1 1I1 1W1"}));
}

}  // namespace
}  // namespace trireme::schedule

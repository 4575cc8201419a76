#include "schedule/search/order_search.hpp"

#include <gtest/gtest.h>

#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

constexpr std::size_t many = 1000;

std::vector<Program> moved(const std::vector<Program>& programs, const PipelineShape& shape,
                           const std::vector<StageCost>& stage_costs) {
    const StageHoldings holdings(shape);
    ProgramClock clock(shape, holdings, stage_costs);
    return improve_order(programs, shape, clock, many);
}

// Team 0 waits for 1I1, and then reduces its gradients.
const std::vector<Program> waiting = programs_of({"0F0 0F1 0B0 0B1", "1F0 1I0 1W0 1F1 1I1 1W1"});
const std::vector<StageCost> costs{{.reduce = 3}, {.backward_weight = 2}};

TEST(OrderSearch, MovesWorkEarlierIfOtherTeamsWaitForIt) {
    const std::vector<Program> better = moved(waiting, make_grid_shape(2, 1, 1, 2), costs);

    EXPECT_EQ(to_string(better[0]), "0F0 0F1 0B0 0B1");
    const std::string text = to_string(better[1]);
    EXPECT_LT(text.find("1I1"), text.find("1W0")) << text;
}

TEST(OrderSearch, KeepsProgramsThatCannotBeShortened) {
    const auto programs = programs_of({"0F0 0F1 0I0 0W0 0I1 0W1"});

    EXPECT_EQ(moved(programs, make_grid_shape(1, 1, 1, 2), {{}}), programs);
}

TEST(OrderSearch, KeepsActivationLimitsOfTheShape) {
    PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    shape.max_activations = {2, 1};

    EXPECT_EQ(moved(waiting, shape, costs), waiting);
}

}  // namespace
}  // namespace trireme::schedule

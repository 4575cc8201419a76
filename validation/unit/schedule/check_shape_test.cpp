#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"

namespace trireme::schedule {
namespace {

TEST(Check, RejectsInconsistentShapes) {
    const std::vector<Program> programs{{{Op::forward, 0, 0}}};
    PipelineShape shape = make_grid_shape(1, 1, 1, 2, false);
    shape.executor[0].pop_back();

    EXPECT_THROW(verify_programs(programs, shape), BugError);
    shape.executor[0] = {0, 1};
    EXPECT_THROW(verify_programs(programs, shape), BugError);
    shape.executor[0] = {0, 0};
    shape.holders[0] = {0, 0};
    EXPECT_THROW(verify_programs(programs, shape), BugError);
    shape.holders[0] = {0};
    shape.slots = 0;
    EXPECT_THROW(verify_programs(programs, shape), BugError);
    shape.slots = 1;
    shape.max_activations = {1, 1};
    EXPECT_THROW(verify_programs(programs, shape), BugError);
    shape.max_activations = {};
    shape.has_speculative_updates = shape.updates_stages_independently = true;
    EXPECT_THROW(verify_programs(programs, shape), BugError);
}

}  // namespace
}  // namespace trireme::schedule

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/setup/step_planner.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::setup {
namespace {

// The first of two steps has four samples of 100 tokens, and the second one four samples of 10 tokens. Two
// micro-batches of at most 100 tokens do not hold the first step.
TEST(ComingSteps, AreCheckedFromTheFirstOneThatRemains) {
    Job job;
    job.config.run.batch = 4;
    job.config.data.order = data::SampleOrder::corpus;
    job.samples.train = std::vector<data::Sample>(8, {.length = 10});
    for (std::size_t s = 0; s < 4; ++s) job.samples.train[s].length = 100;
    job.samples.max_length = 100;
    job.steps = 2;
    const PlanState current{
        .plan =
            plan::make_plan({.layout = {.layers = 1, .stages = {{{0, 1}, {{{0}, {1}}}}}}, .microbatches = 2}),
        .samples = {.batch = 4, .first_batch = 4, .all = 8},
        .max_microbatch_rows = 100};

    EXPECT_TRUE(
        validation::says(validation::catch_message<ConfigError>([&] { check_coming_steps(job, current); }),
                         "step 1 needs 4 micro-batches"));
    job.completed_steps = 1;
    check_coming_steps(job, current);
}

}  // namespace
}  // namespace trireme::setup

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::plan {
namespace {

Plan make_envpipe_plan() {
    return make_plan({.layout = even_grid({.pipe = 3}), .schedule = "envpipe", .microbatches = 6});
}

TEST(ExtraForwards, ChangeTheOrderAndTheHashOfAPlan) {
    Plan plan = make_envpipe_plan();
    const std::string hash = compute_hash(plan);

    set_extra_forwards({2, 1, 0}, plan);

    EXPECT_EQ(plan.training.proof.peak_activations, (std::vector<int>{5, 3, 1}));
    EXPECT_NE(compute_hash(plan), hash);
    EXPECT_NE(to_json(plan).find(R"("extra_forwards":[2,1,0])"), std::string::npos);
}

// A stage that runs n micro-batches further ahead gets n more slots.
TEST(ExtraForwards, GetSlotsForTheMessagesThatAreAhead) {
    Plan plan = make_envpipe_plan();
    const int slots = plan.training.shape.slots;

    set_extra_forwards({3, 1, 0}, plan);

    EXPECT_EQ(plan.training.shape.slots, slots + 2);
}

TEST(ExtraForwards, MustFitThePlan) {
    const auto refuse = [](const std::vector<int>& extra_forwards, Plan plan) {
        return validation::catch_message<ConfigError>([&] { set_extra_forwards(extra_forwards, plan); });
    };

    EXPECT_EQ(refuse({1, 0, 0}, make_plan({.layout = even_grid({.pipe = 3}), .microbatches = 6})),
              "\"extra_forwards\" needs schedule envpipe, but the schedule is 1f1b");
    EXPECT_EQ(refuse({1, 0}, make_envpipe_plan()),
              "\"extra_forwards\" has 2 numbers, but the layout has 3 stages; give one number per stage");
}

}  // namespace
}  // namespace trireme::plan

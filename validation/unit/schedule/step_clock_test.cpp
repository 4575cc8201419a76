#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/schedule/catalog.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/schedule/drawn_costs.hpp"

namespace trireme::schedule {
namespace {

using CostTable = std::vector<std::vector<StageCost>>;  // [stage][micro-batch]

// The phases of a schedule on 1-4 stages and 1-2 replicas.
struct ClockedPlan {
    std::string name;
    PipelineShape shape;
    Phases phases;
};

std::vector<ClockedPlan> plan_schedules(const std::vector<std::string>& names) {
    std::vector<ClockedPlan> plans;
    for (const std::string& name : names) {
        for (int pipe = 1; pipe <= 4; ++pipe) {
            for (int replicas = 1; replicas <= 2; ++replicas) {
                for (const int microbatches_each : {pipe, 2 * pipe + 1}) {
                    const Schedule& schedule = require_schedule(name);
                    const PipelineShape shape = with_enough_slots(
                        apply_update_rule(schedule, make_grid_shape(pipe, replicas, 1, microbatches_each)));
                    plans.push_back({.name = cat(name, ", pipe ", pipe, ", replicas ", replicas,
                                                 ", micro-batches ", microbatches_each),
                                     .shape = shape,
                                     .phases = lower_phases(generate_phases(schedule, shape), shape)});
                }
            }
        }
    }
    return plans;
}

// Returns random costs of every micro-batch. Those of the update are equal for all micro-batches of a stage.
CostTable draw_microbatch_costs(const PipelineShape& shape, Draw& draw, bool has_messages, bool has_updates) {
    CostTable costs(shape.holders.size());
    for (std::vector<StageCost>& stage : costs) {
        const double reduce = has_updates ? 0.1 * draw.within(0, 30) : 0;
        const double step = has_updates ? 0.1 * draw.within(0, 30) : 0;
        for (int m = 0; m < shape.microbatches; ++m)
            stage.push_back({.forward = 0.1 * draw.within(1, 30),
                             .backward_input = 0.1 * draw.within(1, 30),
                             .backward_weight = 0.1 * draw.within(1, 30),
                             .send = has_messages ? 0.1 * draw.within(0, 30) : 0,
                             .reduce = reduce,
                             .step = step});
    }
    return costs;
}

// Predicts a step that begins and ends with an empty pipeline.
double predict_single_step(const ClockedPlan& plan, const StepCosts& costs) {
    return predict(unroll(plan.phases, plan.shape, 1), plan.shape, costs).makespan;
}

// Returns the costs without those of the micro-batches `empty`.
CostTable remove_costs(CostTable costs, const std::vector<bool>& empty) {
    for (std::vector<StageCost>& stage : costs)
        for (std::size_t m = 0; m < empty.size(); ++m)
            if (empty[m]) stage[m] = {.forward = 0, .backward_input = 0, .backward_weight = 0};
    return costs;
}

TEST(StepClock, PredictsStepsThatDoNotOverlap) {
    Draw draw(RandomKey{20261128}.then("steps"));
    for (const ClockedPlan& plan : plan_schedules({"1f1b", "gpipe"})) {
        StepClock clock(plan.phases, plan.shape);
        for (const bool has_messages : {false, true}) {
            for (int trial = 0; trial < 5; ++trial) {
                const StepCosts costs(draw_microbatch_costs(plan.shape, draw, has_messages, true));

                EXPECT_NEAR(clock.predict_seconds(costs), predict_step(plan.phases, plan.shape, costs).seconds,
                            1e-9)
                    << plan.name << ", messages " << has_messages;
            }
        }
    }
}

// The steps of zb-h1 overlap, so that predict_step() predicts one of many steps. The receives of the body
// follow the forwards of the prologue. Some messages therefore start later than the clock assumes.
TEST(StepClock, PredictsASingleStepWithSplitBackwards) {
    Draw draw(RandomKey{20261128}.then("halves"));
    for (const ClockedPlan& plan : plan_schedules({"zb-h1"})) {
        StepClock clock(plan.phases, plan.shape);
        for (int trial = 0; trial < 5; ++trial) {
            const StepCosts costs(draw_microbatch_costs(plan.shape, draw, false, false));
            const StepCosts costs_with_messages(draw_microbatch_costs(plan.shape, draw, true, false));

            EXPECT_NEAR(clock.predict_seconds(costs), predict_single_step(plan, costs), 1e-9) << plan.name;
            EXPECT_LE(clock.predict_seconds(costs_with_messages),
                      predict_single_step(plan, costs_with_messages) + 1e-9)
                << plan.name;
        }
    }
}

TEST(StepClock, PredictsShorterStepsForMicrobatchesWithoutCosts) {
    Draw draw(RandomKey{20261128}.then("zero"));
    for (const ClockedPlan& plan : plan_schedules({"1f1b", "gpipe", "zb-h1"})) {
        StepClock clock(plan.phases, plan.shape);
        for (std::size_t m = 0; m < static_cast<std::size_t>(plan.shape.microbatches); ++m) {
            std::vector<bool> empty(static_cast<std::size_t>(plan.shape.microbatches));
            empty[m] = true;
            const CostTable costs = draw_microbatch_costs(plan.shape, draw, false, false);
            const double seconds = clock.predict_seconds(StepCosts(costs));

            EXPECT_LE(clock.predict_seconds(StepCosts(remove_costs(costs, empty))), seconds + 1e-9)
                << plan.name << ", without " << m;
        }
    }
}

// No team executes an empty micro-batch or waits for it.
TEST(StepClock, SkipsEmptyMicrobatches) {
    Draw draw(RandomKey{20261128}.then("empty"));
    for (const ClockedPlan& plan : plan_schedules({"1f1b", "gpipe", "zb-h1"})) {
        StepClock clock(plan.phases, plan.shape);
        for (int trial = 0; trial < 5; ++trial) {
            std::vector<bool> empty(static_cast<std::size_t>(plan.shape.microbatches));
            for (std::size_t m = 1; m < empty.size(); ++m) empty[m] = draw.one_in(3);
            const CostTable costs = remove_costs(draw_microbatch_costs(plan.shape, draw, false, false), empty);
            const StepCosts costs_with_empty(costs, empty);

            EXPECT_NEAR(clock.predict_seconds(costs_with_empty), predict_single_step(plan, costs_with_empty),
                        1e-9)
                << plan.name << ", empty " << testing::PrintToString(empty);
        }
    }
}

}  // namespace
}  // namespace trireme::schedule

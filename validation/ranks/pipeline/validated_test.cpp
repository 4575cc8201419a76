// Programs with speculative updates. After an invalid update the forwards that used it run again, and their
// messages carry the new results.
#include <gtest/gtest.h>

#include "ranks/pipeline/bench.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::pipeline {
namespace {

constexpr int steps = 4;

Trial validated_trial(schedule::Schedule schedule, const schedule::PipelineShape& shape) {
    Trial trial{.schedule = schedule,
                .shape = apply_update_rule(schedule, shape),
                .teams = make_teams(std::vector<int>(static_cast<std::size_t>(shape.teams), 1))};
    for (int m = 0; m < steps * shape.microbatches; ++m) {
        trial.rows.push_back(static_cast<std::size_t>(m * 5 % 7));  // every seventh micro-batch is empty
    }
    return trial;
}

std::vector<Trial> validated() {
    std::vector<Trial> trials;
    for (const schedule::Schedule& kind :
         {schedule::require_schedule("zb-h1"), schedule::require_schedule("zb-h2")}) {
        for (const int pipe : {2, 3, 4, 8})
            trials.push_back(validated_trial(kind, schedule::make_grid_shape(pipe, 1, 1, 7)));
        trials.push_back(validated_trial(kind, schedule::make_grid_shape(4, 1, 1, 2)));
        trials.push_back(validated_trial(kind, schedule::make_grid_shape(2, 2, 1, 3)));
        trials.push_back(validated_trial(kind, schedule::make_grid_shape(4, 2, 1, 5)));
    }
    for (const int pipe : {2, 3, 4, 8})
        trials.push_back(
            validated_trial(schedule::require_schedule("zb-v"), schedule::make_v_shape(pipe, 1, 6)));
    trials.push_back(validated_trial(schedule::require_schedule("zb-v"), schedule::make_v_shape(2, 2, 3)));
    return trials;
}

// Returns programs with the smallest sufficient number of slots.
TrialPrograms prove_steps(const Trial& trial) {
    TrialPrograms result{trial.shape, {}};
    for (int slots = 1; slots <= 8; ++slots) {
        schedule::PipelineShape one_step = trial.shape;
        one_step.slots = slots;
        const schedule::Phases phases = lower_phases(generate_phases(trial.schedule, one_step), one_step);
        result.shape = one_step;
        result.shape.steps = steps;
        result.programs = unroll(phases, one_step, steps);
        if (verify_programs(result.programs, result.shape).is_proved()) return result;
    }
    throw BugError(trial.name());
}

TEST(ValidatedUpdates, RepeatForwardsAfterARolledBackUpdate) {
    int executed = 0;
    for (const Trial& trial : validated()) {
        if (trial.ranks() > world_size()) continue;
        ++executed;
        SCOPED_TRACE(trial.name());
        if (!Bench::is_needed(trial)) continue;
        const TrialPrograms proved = prove_steps(trial);
        Bench bench(trial);
        const schedule::Program& program = proved.programs[static_cast<std::size_t>(bench.team())];
        for (const bool are_rolled_back : {false, true}) {
            Engine engine = bench.engine(proved.shape);
            CountingWorker worker = bench.worker(proved.shape, are_rolled_back);
            engine.execute(program, worker);
            worker.expect_all_done(program);
            EXPECT_EQ(worker.rollbacks(), are_rolled_back ? steps / 2 : 0);
        }
    }
    EXPECT_GT(executed, 0);
}

}  // namespace
}  // namespace trireme::pipeline

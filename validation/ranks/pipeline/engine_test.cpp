// Every message carries the expected numbers, for all schedules, replicas and teams.
#include "trireme/pipeline/engine.hpp"

#include <gtest/gtest.h>

#include "ranks/pipeline/bench.hpp"

namespace trireme::pipeline {
namespace {

// Executes training and evaluation alternately, twice, as a run does.
void execute_in_turn(const Trial& trial) {
    const TrialPrograms training = prove(trial, true);
    const TrialPrograms evaluation = prove(trial, false);
    Bench bench(trial);
    const auto team = static_cast<std::size_t>(bench.team());
    Engine trains = bench.engine(training.shape);
    Engine evaluates = bench.engine(evaluation.shape);
    for (int turn = 0; turn < 2; ++turn) {
        CountingWorker worker = bench.worker(training.shape);
        trains.execute(training.programs[team], worker);
        worker.expect_all_done(training.programs[team]);

        CountingWorker forward_worker = bench.worker(evaluation.shape);
        evaluates.execute(evaluation.programs[team], forward_worker);
        forward_worker.expect_all_done(evaluation.programs[team]);
    }
}

// Executes the trials for which the job has enough ranks.
void execute_all(const std::vector<Trial>& trials) {
    int executed = 0;
    for (const Trial& trial : trials) {
        if (trial.ranks() > world_size()) continue;
        ++executed;
        SCOPED_TRACE(trial.name());
        if (Bench::is_needed(trial)) execute_in_turn(trial);
    }
    EXPECT_GT(executed, 0);
}

TEST(Engine, ExecutesEverySchedule) { execute_all(every_schedule()); }

TEST(Engine, ExecutesUnevenReplicas) {
    if (world_size() < 3) GTEST_SKIP() << "uneven replicas need three ranks";
    execute_all(uneven_replicas());
}

TEST(Engine, ExecutesTeamsOfDifferentSizes) {
    if (world_size() < 3) GTEST_SKIP() << "teams of different sizes need three ranks";
    execute_all(find_teams_of_ranks());
}

TEST(Engine, SkipsEmptyMicrobatchesAndHandlesLargeOnes) { execute_all(empty_and_large()); }

TEST(Engine, ExecutesSplitBackwardPasses) { execute_all(split_backward_trials()); }

}  // namespace
}  // namespace trireme::pipeline

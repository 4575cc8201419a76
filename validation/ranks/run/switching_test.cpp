// A run that changes its plan a hundred times leaks neither groups nor memory, and its losses stay the same.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <fstream>

#include "ranks/comm/live_handles.hpp"
#include "ranks/mover/random_layouts.hpp"
#include "ranks/run/started_run.hpp"

namespace trireme::run {
namespace {

using validation::make_random_layout;
using validation::StartedRun;

// Returns the size of the address space.
std::size_t mapped_bytes() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * 4096;
}

class RunWithManyPlans : public StartedRun {
protected:
    RunWithManyPlans() : StartedRun({5, 9, 3}) {
        config_.model.width = 64;
        config_.model.heads = 4;
        config_.model.positions = 10;
        config_.precision.device = config::DeviceKind::reference;
        staging_ = adapt::make_staging_memory(config::MoveMethod::twins, session_, watchdog_.wait_policy());
        start();
    }

    records::StepOutcome step() {
        trainer_->begin_segment(steps_, steps_ + 1);
        ++steps_;
        return trainer_->step().front();
    }

    records::PlanChange change_to(std::uint64_t layout) {
        const LayoutBounds bounds{.ranks = static_cast<std::size_t>(session_.size()),
                                  .layers = 7,
                                  .max_shares = 4,
                                  .max_replicas = 3};
        const plan::Decision decision{
            .step = steps_, .layout = make_random_layout(layout, bounds), .microbatches = 2};
        adapt::PlanTransition transition = adapt::plan_transition(setup_->job, setup_->current, decision);
        return carry_out_transition(transition, running());
    }

    using LayoutBounds = validation::LayoutBounds;
    static constexpr std::array ways_{config::MoveMethod::stop, config::MoveMethod::overlap,
                                      config::MoveMethod::twins};

    std::size_t steps_ = 0;
};

TEST_F(RunWithManyPlans, FreesGroupsAndMemoryOfFinishedPlans) {
    constexpr std::uint64_t layouts = 10;
    std::vector<int> handles;
    std::vector<std::size_t> mapped;
    for (int round = 0; round < 10; ++round) {
        for (std::uint64_t layout = 0; layout < layouts; ++layout) {
            setup_->job.config.policy.move = ways_[layout % ways_.size()];
            change_to(layout);
        }
        step();
        handles.push_back(comm::live_handles());
        mapped.push_back(mapped_bytes());
    }

    EXPECT_EQ(handles, std::vector<int>(handles.size(), handles.front()));
    // A rank that holds the whole model has 2 MB of parameters, gradients and moments. If one layout leaked
    // them, 16 MB would be lost in the last eight rounds.
    EXPECT_LT(mapped.back(), mapped[1] + (std::size_t{16} << 20));
}

// Each step has the loss of a run that never changes its plan.
TEST_F(RunWithManyPlans, HasTheLossesOfARunWithoutPlanChanges) {
    std::vector<double> staying;
    for (int number = 0; number < 24; ++number) staying.push_back(step().loss);

    for (const config::MoveMethod way : ways_) {
        steps_ = 0;
        setup_->job.config.policy.move = way;
        start_again();
        for (std::uint64_t number = 0; number < staying.size(); ++number) {
            EXPECT_NEAR(step().loss, staying[number], 1e-5 * staying[number]) << "step " << number;
            if (number % 2 == 0) change_to(number / 2);
        }
    }
}

}  // namespace
}  // namespace trireme::run

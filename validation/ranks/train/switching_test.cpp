// A run that changes its plan a hundred times leaves nothing behind.
#include "train/switching.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <fstream>

#include "ranks/comm/live_handles.hpp"
#include "ranks/mover/random_layouts.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme {
namespace {

using validation::corpus_of_lengths;
using validation::random_layout;
using validation::ScratchFolder;

// Of address space.
std::size_t mapped_bytes() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * 4096;
}

class ARunOfManyPlans : public ::testing::Test {
protected:
    ARunOfManyPlans() {
        corpus_of_lengths(folder_, {5, 9, 3});
        config_.data.corpus = folder_.file("corpus.h5");
        config_.data.validation_share = 0;
        config_.model.name = "gpt2-tiny";
        config_.model.layers = 2;
        config_.model.width = 64;
        config_.model.heads = 4;
        config_.model.positions = 10;
        config_.precision.device = DeviceKind::reference;
        config_.run.batch = 8;
        config_.run.steps = 1000;
        config_.run.stall_timeout = 20;
        setup_.emplace(set_up(config_, session_.size()));
        gradients_ = gradient_plan(*setup_);
        start_trainer(running());
        trainer_->fill();
    }
    ~ARunOfManyPlans() override { trainer_.reset(); }

    RunningPlan running() {
        return {.config = config_,
                .session = session_,
                .control = *control_,
                .mover = *mover_,
                .watchdog = watchdog_,
                .setup = *setup_,
                .gradients = gradients_,
                .trainer = trainer_,
                .nodes = nodes_,
                .twin = twin_.get()};
    }

    StepOutcome step() {
        trainer_->begin_stretch(steps_, steps_ + 1);
        ++steps_;
        return trainer_->step().front();
    }

    PlanChange change_to(std::uint64_t layout) {
        const LayoutBounds bounds{.ranks = static_cast<std::size_t>(session_.size()),
                                  .layers = 7,
                                  .most_shares = 4,
                                  .most_replicas = 3};
        const Decision decision{.step = steps_, .layout = random_layout(layout, bounds), .micro_batches = 2};
        return switch_to(decided_plan(config_, *setup_, *setup_, session_.size(), decision), running());
    }

    using LayoutBounds = validation::LayoutBounds;
    static constexpr std::array ways_{MoveWay::stop, MoveWay::overlap, MoveWay::twins};

    int arguments_ = 0;
    char** words_ = nullptr;
    Session session_{arguments_, words_};
    Watchdog watchdog_{session_, 20};
    std::unique_ptr<Communicator> control_ = session_.all_ranks("control", watchdog_.patience());
    std::unique_ptr<Communicator> mover_ = session_.all_ranks("mover", watchdog_.patience());
    const std::vector<int>& nodes_ = session_.nodes();
    std::unique_ptr<NodeMemory> twin_ = make_twin(MoveWay::twins, session_, watchdog_.patience());
    ScratchFolder folder_;
    RunConfig config_;
    std::optional<trireme::Setup> setup_;
    GradientPlan gradients_;
    std::optional<RankTrainer> trainer_;
    std::size_t steps_ = 0;
};

TEST_F(ARunOfManyPlans, KeepsNoGroupsAndNoMemoryOfThoseThatAreOver) {
    constexpr std::uint64_t layouts = 10;
    std::vector<int> handles;
    std::vector<std::size_t> mapped;
    for (int round = 0; round < 10; ++round) {
        for (std::uint64_t layout = 0; layout < layouts; ++layout) {
            config_.policy.move = ways_[layout % ways_.size()];
            change_to(layout);
        }
        step();
        handles.push_back(live_handles());
        mapped.push_back(mapped_bytes());
    }

    EXPECT_EQ(handles, std::vector<int>(handles.size(), handles.front()));
    // Parameters, gradients and moments of the ranks of a process that works alone are 2 MB: 16 for each
    // layout.
    EXPECT_LT(mapped.back(), mapped[1] + (std::size_t{16} << 20));
}

// As if it had stayed: each step is that of a run that has never been elsewhere.
TEST_F(ARunOfManyPlans, TrainsOnWhereItWas) {
    std::vector<double> staying;
    for (int number = 0; number < 24; ++number) staying.push_back(step().loss);

    for (const MoveWay way : ways_) {
        trainer_.reset();
        steps_ = 0;
        config_.policy.move = way;
        start_trainer(running());
        trainer_->fill();
        for (std::uint64_t number = 0; number < staying.size(); ++number) {
            EXPECT_NEAR(step().loss, staying[number], 1e-5 * staying[number]) << "step " << number;
            if (number % 2 == 0) change_to(number / 2);
        }
    }
}

}  // namespace
}  // namespace trireme

// Starts runs of a small model on the ranks of a job, as `train` does.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "trireme/adapt/switching.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::validation {

class StartedRun : public ::testing::Test {
protected:
    // The model has two blocks; the corpus has samples of the given lengths.
    explicit StartedRun(const std::vector<std::size_t>& lengths) {
        make_corpus_with_lengths(folder_, lengths);
        config_.data.corpus = folder_.file("corpus.h5");
        config_.data.validation_fraction = 0;
        config_.model.name = "gpt2-tiny";
        config_.model.layers = 2;
        config_.run.batch = 8;
        config_.run.steps = 1000;
        config_.run.stall_timeout = stall_seconds;
    }
    ~StartedRun() override { trainer_.reset(); }

    // Starts a run with the present configuration.
    void start() {
        setup_.emplace(setup::set_up(config_, session_.size()));
        setup_->job.nodes = session_.nodes();
        start_again();
    }

    // Starts again from the initial values, in the present plan.
    void start_again() {
        trainer_.reset();
        start_trainer(running());
        trainer_->fill({});
    }

    adapt::RunningPlan running() {
        return {.job = setup_->job,
                .current = setup_->current,
                .session = session_,
                .control = *control_,
                .mover = *mover_,
                .watchdog = watchdog_,
                .trainer = trainer_,
                .staging_memory = staging_.get()};
    }

    static constexpr double stall_seconds = 60;
    int arguments_ = 0;
    char** words_ = nullptr;
    comm::Session session_{arguments_, words_};
    rank::Watchdog watchdog_{session_, stall_seconds};
    std::unique_ptr<comm::Communicator> control_ =
        session_.make_group_of_all_ranks("control", watchdog_.wait_policy());
    std::unique_ptr<comm::Communicator> mover_ =
        session_.make_group_of_all_ranks("mover", watchdog_.wait_policy());
    std::unique_ptr<comm::NodeMemory> staging_;  // null unless a test makes one
    ScratchFolder folder_;
    config::RunConfig config_;
    std::optional<trireme::setup::Setup> setup_;
    std::optional<rank::RankTrainer> trainer_;
};

}  // namespace trireme::validation

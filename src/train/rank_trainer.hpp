// A rank's part of a training run: its part of the model, and what it does in a step.
#pragma once

#include <optional>
#include <vector>

#include "train/evaluation.hpp"
#include "train/rank_model.hpp"
#include "trireme/data/sampler.hpp"
#include "trireme/optim/optimizer.hpp"

namespace trireme {

// How much a step had to do.
struct StepSize {
    std::size_t tokens = 0;        // rows of real samples, over all replicas
    std::size_t targets = 0;       // terms of the loss
    double square_length_sum = 0;  // of the samples
};

// What came of a step. Equal on all ranks.
struct StepOutcome {
    double loss = 0;  // per target
    double gradient_norm = 0;
    double rate = 0;
    bool is_skipped = false;  // something was not finite, and the update was left out
    StepSize size = {};
    std::size_t padded_tokens = 0;              // computed, over all replicas
    double seconds = 0;                         // of the slowest rank
    double compute_seconds = 0;                 // in kernels; mean over the ranks
    std::vector<double> compute_of_ranks = {};  // seconds, where there are several
    double wait_seconds = 0;                    // for other ranks; mean over the ranks
    std::size_t peak_bytes = 0;                 // resident since the start; of the largest rank
};

class RankTrainer {
public:
    // Everything but the groups outlives it.
    RankTrainer(const RunConfig& config, const Setup& setup, const GradientPlan& gradients, int rank,
                RankGroups groups, int threads);

    // Of the parameters. Communicates nothing.
    void fill() { model_.fill(stream_, config_.run.seed); }

    // Collective over `control`. Step number `step` (from 0).
    StepOutcome step(std::size_t step, Communicator& control);

    // Collective over `control`. On the validation samples.
    Evaluation evaluate(Communicator& control);

    std::string position() const { return model_.position(); }

    // Collective over `control`. Rank 0 has the writer.
    void save(CheckpointWriter* writer, Communicator& control) const { model_.save(writer, control); }

private:
    StepOutcome begin_step(std::size_t step, const std::vector<SampleVisit>& visits);
    std::vector<Batch> build_batches(const std::vector<SampleVisit>& visits) const;
    void update(StepOutcome& outcome, Communicator& control);
    void apply(const StepOutcome& outcome);
    void observe(StepOutcome& outcome, double begin, std::size_t padded_tokens, Communicator& control) const;

    const RunConfig& config_;
    const Setup& setup_;
    Stream stream_;
    RankModel model_;
    std::optional<GradientExchange> exchange_;  // none, like what follows: the rank is idle
    std::optional<Optimizer> optimizer_;
    std::optional<Arena> scratch_;
    Sampler sampler_;
};

}  // namespace trireme

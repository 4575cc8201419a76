// What a run achieved, beside what the machine could have done.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "train/replica.hpp"

namespace trireme {

// Arithmetic that a model needs for one token of training: 6 for every parameter that multiplies, and the
// products of attention. `square_length_sum / tokens` is the mean length that a token's sample has.
struct ModelFlops {
    double matrix_parameters = 0;  // N: without tables that are only looked up
    double attention_factor = 0;   // layers * width

    // attention = 12 counts the whole square of scores, 6 the half that a causal model needs
    double of_step(std::size_t tokens, double square_length_sum, double attention = 12) const;
};

ModelFlops model_flops(const ModelConfig& model);

// What summary.json and the last lines on the console say.
struct Figures {
    std::size_t steps = 0;
    std::size_t skipped_steps = 0;
    std::optional<double> first_loss;  // none where every step was skipped
    std::optional<double> last_loss;   // mean of the last tenth of the steps
    std::optional<double> validation_loss;
    double seconds = 0;  // of all steps
    std::size_t tokens = 0;
    std::size_t padded_tokens = 0;
    double flops = 0;  // of the model, not of the machine
    double causal_flops = 0;
    double peak_flops = 0;       // FMA rate of all ranks together, measured
    double compute_seconds = 0;  // mean over the ranks
    double wait_seconds = 0;     // mean over the ranks
    int ranks = 1;
    std::size_t predicted_bytes = 0;  // per rank
    std::size_t grown_bytes = 0;      // per rank: the most that was resident, less what was before
    std::string complaint;            // why the run is INVALID; empty: VALID

    double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
    double mfu() const { return flops / (seconds * peak_flops); }
    double mfu_causal() const { return causal_flops / (seconds * peak_flops); }
    double bubble() const { return 1 - compute_seconds / seconds; }
};

// Adds up the steps of a run.
class FigureSum {
public:
    FigureSum(const ModelFlops& flops, double peak_flops, int ranks);
    void add(const StepOutcome& outcome);
    Figures finish(std::optional<double> validation_loss) const;

private:
    ModelFlops flops_;
    Figures figures_;
    std::vector<double> losses_;
};

}  // namespace trireme

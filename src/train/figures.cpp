#include "train/figures.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/model/model.hpp"

namespace trireme {
namespace {

double mean_of_last(const std::vector<double>& values, std::size_t count) {
    const auto begin = values.end() - static_cast<std::ptrdiff_t>(count);
    return std::accumulate(begin, values.end(), 0.0) / static_cast<double>(count);
}

std::string judge(const Figures& figures) {
    if (figures.skipped_steps > 0) {
        return cat(figures.skipped_steps, " of ", figures.steps,
                   " steps were skipped: their loss was not finite");
    }
    if (figures.validation_loss && !std::isfinite(*figures.validation_loss)) {
        return "the validation loss is not finite";
    }
    if (figures.steps > 1 && *figures.last_loss >= *figures.first_loss) {
        return cat("the loss did not fall: ", *figures.first_loss, " at first, ", *figures.last_loss,
                   " at last");
    }
    return {};
}

}  // namespace

double ModelFlops::of_step(std::size_t tokens, double square_length_sum, double attention) const {
    return 6 * matrix_parameters * static_cast<double>(tokens) +
           attention * attention_factor * square_length_sum;
}

ModelFlops model_flops(const ModelConfig& model) {
    const std::size_t looked_up = model.width * (model.positions + (model.tied ? 0 : model.vocabulary));
    return {.matrix_parameters = static_cast<double>(parameter_count(model) - looked_up),
            .attention_factor = static_cast<double>(model.layers * model.width)};
}

FigureSum::FigureSum(const ModelFlops& flops, double peak_flops, int ranks) : flops_(flops) {
    figures_.peak_flops = peak_flops;
    figures_.ranks = ranks;
}

void FigureSum::add(const StepOutcome& outcome) {
    figures_.steps += 1;
    figures_.skipped_steps += outcome.is_skipped ? 1 : 0;
    figures_.seconds += outcome.seconds;
    figures_.tokens += outcome.tokens;
    figures_.padded_tokens += outcome.padded_tokens;
    figures_.flops += flops_.of_step(outcome.tokens, outcome.square_length_sum);
    figures_.causal_flops += flops_.of_step(outcome.tokens, outcome.square_length_sum, 6);
    figures_.compute_seconds += outcome.compute_seconds;
    figures_.wait_seconds += outcome.wait_seconds;
    if (!outcome.is_skipped) losses_.push_back(outcome.loss);
}

Figures FigureSum::finish(std::optional<double> validation_loss) const {
    Figures figures = figures_;
    if (!losses_.empty()) {
        figures.first_loss = losses_.front();
        figures.last_loss = mean_of_last(losses_, std::max<std::size_t>(1, losses_.size() / 10));
    }
    figures.validation_loss = validation_loss;
    figures.complaint = judge(figures);
    return figures;
}

}  // namespace trireme

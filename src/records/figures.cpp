#include "trireme/records/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/base/numbers.hpp"
#include "trireme/model/model.hpp"

namespace trireme::records {
namespace {

double mean_of_last(const std::vector<double>& values, std::size_t count) {
    const auto begin = values.end() - static_cast<std::ptrdiff_t>(count);
    return std::accumulate(begin, values.end(), 0.0) / static_cast<double>(count);
}

bool has_not_fallen(const Figures& figures) {
    return figures.first_loss && *figures.last_loss >= *figures.first_loss;
}

// In so few steps the loss changes more by the choice of samples than by learning.
bool is_too_short_to_judge(const Figures& figures) {
    constexpr std::size_t fewest = 10;
    return figures.judged_steps < fewest;
}

std::string judge(const Figures& figures) {
    if (figures.skipped_steps > 0) {
        return cat(figures.skipped_steps, " of ", figures.steps,
                   " steps were skipped: their loss was not finite");
    }
    if (figures.validation && !std::isfinite(figures.validation->loss)) {
        return "the validation loss is not finite";
    }
    if (!is_too_short_to_judge(figures) && has_not_fallen(figures)) {
        return cat("the loss did not fall: ", *figures.first_loss, " at first, ", *figures.last_loss,
                   " at last");
    }
    return {};
}

}  // namespace

std::string remark_on_memory(std::size_t grown_bytes, std::size_t predicted_bytes) {
    const auto predicted = static_cast<double>(predicted_bytes);
    const auto grown = static_cast<double>(grown_bytes);
    if (grown - predicted <= std::max(0.05 * predicted, 8e6)) return "";
    return fmt::format(
        "memory grew by {:.1f} MB per rank, {:.1f} MB more than predicted; allow for that if memory is short",
        grown * 1e-6, (grown - predicted) * 1e-6);
}

BubbleParts parts_of_bubble(double seconds, double compute_seconds, const plan::RankWaits& waits) {
    BubbleParts parts{.schedule = waits.pipeline / seconds,
                      .wait_tensor = waits.tensor / seconds,
                      .wait_data = waits.data / seconds};
    const double bubble = 1 - compute_seconds / seconds;
    parts.wait_other = bubble - parts.schedule - parts.wait_tensor - parts.wait_data;
    return parts;
}

std::optional<double> Figures::joules() const {
    if (joules_of_ranks.empty()) return std::nullopt;
    return std::accumulate(joules_of_ranks.begin(), joules_of_ranks.end(), 0.0);
}

FigureSum::FigureSum(const setup::ModelFlops& flops, double peak_flops, int ranks, double bubble_limit)
    : flops_(flops), bubble_limit_(bubble_limit) {
    figures_.peak_flops = peak_flops;
    figures_.ranks = ranks;
}

void FigureSum::add(const StepOutcome& outcome) {
    figures_.steps += 1;
    figures_.skipped_steps += outcome.is_skipped ? 1 : 0;
    if (outcome.is_rolled_back) {
        figures_.rolled_back = figures_.rolled_back.value_or(0) + (*outcome.is_rolled_back ? 1 : 0);
    }
    figures_.seconds += outcome.seconds;
    figures_.last_step_seconds = outcome.seconds;
    seconds_.push_back(outcome.seconds);
    idle_seconds_at_least_ += bubble_limit_ * outcome.seconds;
    figures_.tokens += outcome.size.tokens;
    figures_.padded_tokens += outcome.padded_tokens;
    figures_.flops += flops_.of_step(outcome.size);
    add_rate(outcome);
    left_out_sums_.resize(std::max(left_out_sums_.size(), left_out_.size()));
    for (std::size_t rank = 0; rank < left_out_.size(); ++rank) left_out_sums_[rank] += left_out_[rank];
    if (flops_.is_causal)
        figures_.causal_flops = figures_.causal_flops.value_or(0) + flops_.of_step(outcome.size, 6);
    figures_.compute_seconds += outcome.compute_seconds;
    figures_.waits += outcome.waits;
    add_energy(outcome);
    if (!outcome.is_skipped && std::isfinite(outcome.loss)) losses_.push_back(outcome.loss);
}

// Kernels of causal attention skip the masked half of the scores, so only the other half counts here.
void FigureSum::add_rate(const StepOutcome& outcome) {
    const bool leaves_out = std::ranges::any_of(left_out_, [](double part) { return part > 0; });
    if (leaves_out || outcome.seconds <= 0) return;
    const double flops = flops_.of_step(outcome.size, flops_.is_causal ? 6 : 12);
    if (flops / outcome.seconds <= highest_rate_) return;
    highest_rate_ = flops / outcome.seconds;
    fastest_step_ = outcome.step + 1;
}

// The energy of a run is unknown if some of its steps were not measured.
void FigureSum::add_energy(const StepOutcome& outcome) {
    std::vector<double>& sums = figures_.joules_of_ranks;
    if (figures_.steps == 1) sums.resize(outcome.joules_of_ranks.size());
    if (sums.size() != outcome.joules_of_ranks.size()) sums.clear();
    for (std::size_t rank = 0; rank < sums.size(); ++rank) sums[rank] += outcome.joules_of_ranks[rank];
}

void FigureSum::add_change_of_plan(const PlanChange& change, double bubble_limit) {
    bubble_limit_ = bubble_limit;
    figures_.plan_changes += 1;
    figures_.change_seconds += change.seconds;
    figures_.moved_bytes += change.moved_bytes;
}

void FigureSum::add_look(double seconds) {
    figures_.looks += 1;
    figures_.look_seconds += seconds;
}

Figures FigureSum::finish(const std::optional<Evaluation>& validation) const {
    Figures figures = figures_;
    if (!seconds_.empty()) figures.median_step_seconds = median_of(seconds_);
    if (figures.seconds > 0) figures.bubble_limit = idle_seconds_at_least_ / figures.seconds;
    figures.earlier_steps = earlier_.count;
    figures.judged_steps = figures.steps + (earlier_.first_loss ? earlier_.count : 0);
    if (!losses_.empty()) {
        figures.first_loss = first_loss();
        figures.last_loss = mean_of_last(losses_, std::max<std::size_t>(1, losses_.size() / 10));
    }
    figures.validation = validation;
    figures.complaint = judge(figures);
    if (figures.complaint.empty() && highest_rate_ > figures.peak_flops) {
        figures.complaint = fmt::format(
            "step {} needed {:.3g} GFLOP/s, {:.0f} % of the peak rate: the peak or the "
            "seconds were measured wrongly",
            fastest_step_, highest_rate_ * 1e-9, 100 * highest_rate_ / figures.peak_flops);
    }
    figures.approximations = approximations();
    if (figures.first_loss && is_too_short_to_judge(figures) && has_not_fallen(figures))
        figures.remarks.push_back(cat("the loss did not fall, and ", counted(figures.judged_steps, "step"),
                                      figures.judged_steps == 1 ? " is" : " are", " too few to judge it"));
    return figures;
}

void FigureSum::go_on_from(const setup::EarlierSteps& earlier) {
    earlier_ = earlier;
    left_out_sums_ = earlier.left_out;
}

setup::EarlierSteps FigureSum::so_far() const {
    return {.count = earlier_.count + figures_.steps, .first_loss = first_loss(), .left_out = left_out_sums_};
}

std::optional<double> FigureSum::first_loss() const {
    if (earlier_.first_loss) return earlier_.first_loss;
    return losses_.empty() ? std::nullopt : std::optional(losses_.front());
}

std::vector<std::string> FigureSum::approximations() const {
    std::vector<std::string> reasons;
    for (std::size_t rank = 0; rank < left_out_sums_.size(); ++rank) {
        constexpr double rounding = 1e-5;
        const double share = left_out_sums_[rank] / static_cast<double>(earlier_.count + figures_.steps);
        if (share < rounding) continue;
        reasons.push_back(
            fmt::format("rank {} left out {:.1f} % of its blocks' matrix products", rank, 100 * share));
    }
    return reasons;
}

Figures FigureSum::finish_invalid(const std::string& complaint) const {
    Figures figures = finish(std::nullopt);
    figures.complaint = complaint;
    return figures;
}

}  // namespace trireme::records

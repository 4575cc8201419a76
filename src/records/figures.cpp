#include "trireme/records/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/base/numbers.hpp"
#include "trireme/model/model.hpp"

namespace trireme::records {
namespace {

double compute_mean_of_last(const std::vector<double>& values, std::size_t count) {
    const auto begin = values.end() - static_cast<std::ptrdiff_t>(count);
    return std::accumulate(begin, values.end(), 0.0) / static_cast<double>(count);
}

bool loss_has_not_fallen(const Figures& figures) {
    return figures.first_loss && *figures.last_loss >= *figures.first_loss;
}

// Within fewer than 10 steps, the choice of samples changes the loss more than learning does.
bool has_too_few_steps_to_judge(const Figures& figures) {
    constexpr std::size_t min_judged_steps = 10;
    return figures.judged_steps < min_judged_steps;
}

// Returns why the run is INVALID; empty if neither skipped steps nor losses give a reason.
std::string judge(const Figures& figures) {
    if (figures.skipped_steps > 0) {
        return cat(figures.skipped_steps, " of ", figures.steps,
                   figures.skipped_steps == 1 ? " steps was skipped, because its"
                                              : " steps were skipped, because their",
                   " loss or gradient was not finite");
    }
    if (figures.validation && !std::isfinite(figures.validation->loss)) {
        return "the validation loss is not finite";
    }
    if (!has_too_few_steps_to_judge(figures) && loss_has_not_fallen(figures)) {
        return cat("the loss did not fall: ", *figures.first_loss, " in the first step, ", *figures.last_loss,
                   " on average in the last tenth of the steps");
    }
    return {};
}

}  // namespace

std::string make_memory_remark(std::size_t growth_bytes, std::size_t predicted_bytes) {
    const auto predicted = static_cast<double>(predicted_bytes);
    const auto growth = static_cast<double>(growth_bytes);
    if (growth - predicted <= std::max(0.05 * predicted, 8e6)) return "";
    return fmt::format(
        "memory grew by {:.1f} MB per rank, {:.1f} MB more than predicted; reserve this much more if memory is "
        "scarce",
        growth * 1e-6, (growth - predicted) * 1e-6);
}

BubbleBreakdown split_bubble(double seconds, double compute_seconds, const plan::RankWaits& waits) {
    BubbleBreakdown breakdown{.schedule = waits.pipeline / seconds,
                              .wait_tensor = waits.tensor / seconds,
                              .wait_data = waits.data / seconds};
    const double bubble = 1 - compute_seconds / seconds;
    breakdown.wait_other = bubble - breakdown.schedule - breakdown.wait_tensor - breakdown.wait_data;
    return breakdown;
}

std::optional<EnergyPhases> sum_energy(const std::vector<EnergyPhases>& energy_of_ranks) {
    if (energy_of_ranks.empty()) return std::nullopt;
    EnergyPhases sum;
    for (const EnergyPhases& of_rank : energy_of_ranks) sum += of_rank;
    return sum;
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
        figures_.rolled_back_updates =
            figures_.rolled_back_updates.value_or(0) + (*outcome.is_rolled_back ? 1 : 0);
    }
    if (outcome.deficit_bytes)
        figures_.steps_fitted_to_memory =
            figures_.steps_fitted_to_memory.value_or(0) + (*outcome.deficit_bytes > 0 ? 1 : 0);
    if (outcome.elastic) figures_.elastic_outcomes[outcome.elastic->outcome] += 1;
    figures_.seconds += outcome.seconds;
    figures_.last_step_seconds = outcome.seconds;
    step_seconds_.push_back(outcome.seconds);
    min_idle_seconds_ += bubble_limit_ * outcome.seconds;
    figures_.tokens += outcome.size.tokens;
    figures_.padded_tokens += outcome.padded_tokens;
    figures_.flops += flops_.compute_step_flops(outcome.size);
    track_fastest_step(outcome);
    skipped_fraction_sums_.resize(std::max(skipped_fraction_sums_.size(), skipped_fractions_.size()));
    for (std::size_t rank = 0; rank < skipped_fractions_.size(); ++rank)
        skipped_fraction_sums_[rank] += skipped_fractions_[rank];
    if (flops_.is_causal)
        figures_.causal_flops =
            figures_.causal_flops.value_or(0) + flops_.compute_step_flops(outcome.size, /*attention=*/6);
    figures_.compute_seconds += outcome.compute_seconds;
    figures_.waits += outcome.waits;
    add_energy(outcome);
    if (!outcome.is_skipped && std::isfinite(outcome.loss)) losses_.push_back(outcome.loss);
}

// Keeps the step with the highest FLOP/s, because this rate must not exceed the peak. Kernels of causal
// attention may skip the masked half of the scores, so only the unmasked half counts here (6 instead of 12
// FLOPs, see ModelFlops). Steps with skipped matmuls do not count.
void FigureSum::track_fastest_step(const StepOutcome& outcome) {
    const bool skips_matmuls =
        std::ranges::any_of(skipped_fractions_, [](double fraction) { return fraction > 0; });
    if (skips_matmuls || outcome.seconds <= 0) return;
    const double min_flops = flops_.compute_step_flops(outcome.size, flops_.is_causal ? 6 : 12);
    if (min_flops / outcome.seconds <= max_flop_rate_) return;
    max_flop_rate_ = min_flops / outcome.seconds;
    fastest_step_ = outcome.step + 1;
}

// The energy of a run is unknown if some of its steps were not measured.
void FigureSum::add_energy(const StepOutcome& outcome) {
    std::vector<EnergyPhases>& sums = figures_.energy_of_ranks;
    if (figures_.steps == 1) sums.resize(outcome.energy_of_ranks.size());
    if (sums.size() != outcome.energy_of_ranks.size()) sums.clear();
    for (std::size_t rank = 0; rank < sums.size(); ++rank) sums[rank] += outcome.energy_of_ranks[rank];
    if (const auto energy = sum_energy(outcome.energy_of_ranks)) step_joules_.push_back(energy->sum());
}

void FigureSum::add_plan_change(const PlanChange& change, double bubble_limit) {
    bubble_limit_ = bubble_limit;
    figures_.plan_changes += 1;
    figures_.plan_change_seconds += change.seconds;
    figures_.moved_bytes += change.moved_bytes;
}

void FigureSum::add_look(double seconds) {
    figures_.looks += 1;
    figures_.look_seconds += seconds;
}

Figures FigureSum::finish(const std::optional<Evaluation>& validation) const {
    Figures figures = figures_;
    if (!step_seconds_.empty()) figures.median_step_seconds = compute_median(step_seconds_);
    if (!figures.energy_of_ranks.empty()) {
        figures.median_step_joules = compute_median(step_joules_);
        figures.last_step_joules = step_joules_.back();
        const auto late = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, step_joules_.size() / 10));
        figures.late_step = {.seconds = compute_median({step_seconds_.end() - late, step_seconds_.end()}),
                             .joules = compute_median({step_joules_.end() - late, step_joules_.end()})};
    }
    if (figures.seconds > 0) figures.bubble_limit = min_idle_seconds_ / figures.seconds;
    figures.earlier_steps = earlier_.count;
    figures.judged_steps = figures.steps + (earlier_.first_loss ? earlier_.count : 0);
    if (!losses_.empty()) {
        figures.first_loss = find_first_loss();
        figures.last_loss = compute_mean_of_last(losses_, std::max<std::size_t>(1, losses_.size() / 10));
    }
    figures.validation = validation;
    figures.complaint = judge(figures);
    if (figures.complaint.empty() && max_flop_rate_ > figures.peak_flops) {
        figures.complaint = fmt::format(
            "step {} ran at {:.3g} GFLOP/s, {:.0f} % of the peak rate, so the peak rate or the duration of the "
            "step was measured wrongly",
            fastest_step_, max_flop_rate_ * 1e-9, 100 * max_flop_rate_ / figures.peak_flops);
    }
    figures.approximations = list_approximations();
    if (figures.first_loss && has_too_few_steps_to_judge(figures) && loss_has_not_fallen(figures))
        figures.remarks.push_back(cat("the loss did not fall, but ", format_count(figures.judged_steps, "step"),
                                      figures.judged_steps == 1 ? " is" : " are", " too few to judge the run"));
    return figures;
}

void FigureSum::resume_from(const setup::EarlierSteps& earlier) {
    earlier_ = earlier;
    skipped_fraction_sums_ = earlier.skipped;
}

setup::EarlierSteps FigureSum::summarise_steps() const {
    return {.count = earlier_.count + figures_.steps,
            .first_loss = find_first_loss(),
            .skipped = skipped_fraction_sums_};
}

std::optional<double> FigureSum::find_first_loss() const {
    if (earlier_.first_loss) return earlier_.first_loss;
    return losses_.empty() ? std::nullopt : std::optional(losses_.front());
}

std::vector<std::string> FigureSum::list_approximations() const {
    std::vector<std::string> reasons;
    for (std::size_t rank = 0; rank < skipped_fraction_sums_.size(); ++rank) {
        constexpr double rounding = 1e-5;
        const double skipped_fraction =
            skipped_fraction_sums_[rank] / static_cast<double>(earlier_.count + figures_.steps);
        if (skipped_fraction < rounding) continue;
        reasons.push_back(
            fmt::format("rank {} skipped {:.1f} % of the matmuls of its blocks", rank, 100 * skipped_fraction));
    }
    return reasons;
}

Figures FigureSum::finish_invalid(const std::string& complaint) const {
    Figures figures = finish(std::nullopt);
    figures.complaint = complaint;
    return figures;
}

}  // namespace trireme::records

#include "adapt/migration_trials.hpp"

#include <fmt/format.h>

#include <utility>

namespace trireme::adapt {
namespace {

// Returns the flops of one step in the matmuls of all blocks, summed over all ranks, as if no channel were
// skipped. The number differs between steps, because samples have different lengths.
double count_step_flops(const plan::Observation& observed) {
    double flops = 0;
    for (const plan::RankTimes& rank : observed.ranks) flops += rank.full_flops;
    return flops;
}

double compute_seconds_per_flop(const plan::Observation& observed) {
    const double flops = count_step_flops(observed);
    return flops > 0 ? observed.step_seconds / flops : 0;
}

}  // namespace

std::optional<plan::Decision> MigrationTrials::end_useless_migration(const plan::Observation& observed,
                                                                     const plan::Plan& current) {
    constexpr std::size_t min_trial_steps = 5;
    constexpr double min_gain = 0.01;
    is_end_proposed_ = false;
    if (!trial_ || trial_->is_judged) return std::nullopt;
    if (observed.step < trial_->last_change_step + min_trial_steps) return std::nullopt;
    trial_->is_judged = true;
    const bool is_slowness_unchanged = observed.steady_steps >= observed.step - trial_->begin_step;
    // `before` is the predicted duration of the observed steps without the migrations; 0 if unknown.
    const double before = trial_->seconds_per_flop * count_step_flops(observed);
    if (!is_slowness_unchanged || before == 0 || observed.step_seconds < (1 - min_gain) * before)
        return std::nullopt;
    is_end_proposed_ = true;
    return plan::Decision{
        .step = observed.step,
        .layout = current.layout,
        .skipped = trial_->skipped,
        .policy = "migrate",
        .reason = fmt::format(
            "the migration is undone: the same work took {:.3g} s per step without it and {:.3g} s with it",
            before, observed.step_seconds),
        .terms = {{"step_s", observed.step_seconds}, {"predicted_step_s", before}}};
}

void MigrationTrials::prepare(std::size_t step, const plan::Observation& observed, const plan::Plan& from,
                              const plan::Plan& to, bool moves_state) {
    prepared_.reset();
    if (moves_state || to.migrations.empty()) return;
    prepared_ = trial_;
    if (from.migrations.empty())
        prepared_ = Trial{.begin_step = step,
                          .seconds_per_flop = compute_seconds_per_flop(observed),
                          .skipped = from.skipped};
    if (!prepared_) return;
    prepared_->last_change_step = step;
    prepared_->is_judged = false;
}

void MigrationTrials::begin(std::size_t step) {
    trial_ = std::exchange(prepared_, std::nullopt);
    if (std::exchange(is_end_proposed_, false)) end_step_ = step;
}

std::optional<std::size_t> MigrationTrials::find_end_step(const plan::Observation& observed) {
    const bool is_slowness_unchanged = end_step_ && observed.steady_steps >= observed.step - *end_step_;
    if (!is_slowness_unchanged) end_step_.reset();
    return end_step_;
}

}  // namespace trireme::adapt

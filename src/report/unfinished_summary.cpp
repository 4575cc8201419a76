#include <algorithm>

#include "report/page.hpp"

namespace trireme::report {
namespace {

using Steps = std::vector<records::StepLine>;

// Returns the sum of a field over the steps; unset if there are no steps or some step lacks the field.
records::Figure compute_sum(const Steps& steps, records::Figure records::StepLine::*field) {
    double sum = 0;
    for (const records::StepLine& step : steps) {
        if (!(step.*field)) return std::nullopt;
        sum += *(step.*field);
    }
    return steps.empty() ? std::nullopt : records::Figure(sum);
}

// Returns the mean of a field over the steps, weighted by their durations; unset if some step lacks the field.
records::Figure compute_mean_over_time(const Steps& steps, records::Figure records::StepLine::*field) {
    double sum = 0;
    for (const records::StepLine& step : steps) {
        if (!(step.*field) || !step.seconds) return std::nullopt;
        sum += *(step.*field) * *step.seconds;
    }
    const records::Figure seconds = compute_sum(steps, &records::StepLine::seconds);
    return seconds.value_or(0) > 0 ? records::Figure(sum / *seconds) : std::nullopt;
}

records::Figure divide(records::Figure numerator, records::Figure denominator) {
    return numerator && denominator.value_or(0) > 0 ? records::Figure(*numerator / *denominator) : std::nullopt;
}

std::vector<double> list_losses(const Steps& steps) {
    std::vector<double> losses;
    for (const records::StepLine& step : steps) {
        if (step.loss && !step.is_skipped) losses.push_back(*step.loss);
    }
    return losses;
}

double compute_mean_of_last_tenth(const std::vector<double>& losses) {
    const std::size_t count = std::max<std::size_t>(1, losses.size() / 10);
    double sum = 0;
    for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
    return sum / static_cast<double>(count);
}

}  // namespace

records::Summary sum_up_steps(const Steps& steps) {
    const auto is_skipped = [](const records::StepLine& step) { return step.is_skipped; };
    records::Summary summary;
    summary.steps = static_cast<double>(steps.size());
    summary.skipped_steps = static_cast<double>(std::count_if(steps.begin(), steps.end(), is_skipped));
    summary.seconds = compute_sum(steps, &records::StepLine::seconds);
    summary.tokens = compute_sum(steps, &records::StepLine::tokens);
    summary.mfu = compute_mean_over_time(steps, &records::StepLine::mfu);
    summary.mfu_causal = compute_mean_over_time(steps, &records::StepLine::mfu_causal);
    summary.bubble = compute_mean_over_time(steps, &records::StepLine::bubble);
    summary.bubble_schedule = compute_mean_over_time(steps, &records::StepLine::bubble_schedule);
    summary.wait_tensor = compute_mean_over_time(steps, &records::StepLine::wait_tensor);
    summary.wait_data = compute_mean_over_time(steps, &records::StepLine::wait_data);
    summary.wait_other = compute_mean_over_time(steps, &records::StepLine::wait_other);
    summary.comm_wait_s = compute_sum(steps, &records::StepLine::comm_wait_s);
    summary.energy_j = compute_sum(steps, &records::StepLine::energy_j);
    summary.tokens_per_s = divide(summary.tokens, summary.seconds);
    const records::Figure real_token_fraction =
        divide(summary.tokens, compute_sum(steps, &records::StepLine::padded_tokens));
    if (real_token_fraction) summary.padding = 1 - *real_token_fraction;
    const std::vector<double> losses = list_losses(steps);
    if (losses.empty()) return summary;
    summary.first_loss = losses.front();
    summary.last_loss = compute_mean_of_last_tenth(losses);
    return summary;
}

}  // namespace trireme::report

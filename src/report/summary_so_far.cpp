#include <algorithm>

#include "report/page.hpp"

namespace trireme::report {
namespace {

using Steps = std::vector<records::StepLine>;

records::Figure sum_of(const Steps& steps, records::Figure records::StepLine::*field) {
    double sum = 0;
    for (const records::StepLine& step : steps) {
        if (!(step.*field)) return std::nullopt;
        sum += *(step.*field);
    }
    return steps.empty() ? std::nullopt : records::Figure(sum);
}

// Returns the mean over steps, weighted by their duration.
records::Figure mean_over_time(const Steps& steps, records::Figure records::StepLine::*field) {
    double sum = 0;
    for (const records::StepLine& step : steps) {
        if (!(step.*field) || !step.seconds) return std::nullopt;
        sum += *(step.*field) * *step.seconds;
    }
    const records::Figure seconds = sum_of(steps, &records::StepLine::seconds);
    return seconds.value_or(0) > 0 ? records::Figure(sum / *seconds) : std::nullopt;
}

records::Figure ratio(records::Figure above, records::Figure below) {
    return above && below.value_or(0) > 0 ? records::Figure(*above / *below) : std::nullopt;
}

std::vector<double> losses_of(const Steps& steps) {
    std::vector<double> losses;
    for (const records::StepLine& step : steps) {
        if (step.loss && !step.is_skipped) losses.push_back(*step.loss);
    }
    return losses;
}

double mean_of_last_tenth(const std::vector<double>& losses) {
    const std::size_t count = std::max<std::size_t>(1, losses.size() / 10);
    double sum = 0;
    for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
    return sum / static_cast<double>(count);
}

}  // namespace

records::Summary summary_so_far(const Steps& steps) {
    const auto is_skipped = [](const records::StepLine& step) { return step.is_skipped; };
    records::Summary so_far;
    so_far.steps = static_cast<double>(steps.size());
    so_far.skipped_steps = static_cast<double>(std::count_if(steps.begin(), steps.end(), is_skipped));
    so_far.seconds = sum_of(steps, &records::StepLine::seconds);
    so_far.tokens = sum_of(steps, &records::StepLine::tokens);
    so_far.mfu = mean_over_time(steps, &records::StepLine::mfu);
    so_far.mfu_causal = mean_over_time(steps, &records::StepLine::mfu_causal);
    so_far.bubble = mean_over_time(steps, &records::StepLine::bubble);
    so_far.bubble_schedule = mean_over_time(steps, &records::StepLine::bubble_schedule);
    so_far.wait_tensor = mean_over_time(steps, &records::StepLine::wait_tensor);
    so_far.wait_data = mean_over_time(steps, &records::StepLine::wait_data);
    so_far.wait_other = mean_over_time(steps, &records::StepLine::wait_other);
    so_far.comm_wait_s = sum_of(steps, &records::StepLine::comm_wait_s);
    so_far.energy_j = sum_of(steps, &records::StepLine::energy_j);
    so_far.tokens_per_s = ratio(so_far.tokens, so_far.seconds);
    const records::Figure real = ratio(so_far.tokens, sum_of(steps, &records::StepLine::padded_tokens));
    if (real) so_far.padding = 1 - *real;
    const std::vector<double> losses = losses_of(steps);
    if (losses.empty()) return so_far;
    so_far.first_loss = losses.front();
    so_far.last_loss = mean_of_last_tenth(losses);
    return so_far;
}

}  // namespace trireme::report

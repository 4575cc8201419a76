#include "trireme/records/step_outcome.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trireme::records {
namespace {

std::vector<plan::RankTimes> times_of_ranks(const comm::Gathered& all) {
    const auto products = all.of_ranks(RecordFields::products);
    const auto flops = all.of_ranks(RecordFields::product_flops);
    const auto whole = all.of_ranks(RecordFields::whole_flops);
    const auto others = all.of_ranks(RecordFields::others);
    const auto pipeline = all.of_ranks(RecordFields::wait_pipeline);
    const auto tensor = all.of_ranks(RecordFields::wait_tensor);
    const auto data = all.of_ranks(RecordFields::wait_data);
    const auto other_waits = all.of_ranks(RecordFields::wait_others);
    std::vector<plan::RankTimes> times;
    for (std::size_t r = 0; r < products.size(); ++r)
        times.push_back({.products = products[r],
                         .product_flops = flops[r],
                         .whole_flops = whole[r],
                         .others = others[r],
                         .waits = {pipeline[r], tensor[r], data[r], other_waits[r]}});
    return times;
}

// Returns the values of a field per rank; empty if a rank does not report it.
std::vector<double> told_by_all(const comm::Gathered& all, std::size_t field) {
    std::vector<double> told = all.of_ranks(field);
    if (!std::ranges::all_of(told, [](double value) { return std::isfinite(value); })) told.clear();
    return told;
}

GpuStates states_of_ranks(const comm::Gathered& all) {
    return {.watts = told_by_all(all, RecordFields::watts),
            .clock_mhz = told_by_all(all, RecordFields::clock_mhz),
            .memory_clock_mhz = told_by_all(all, RecordFields::memory_clock_mhz),
            .celsius = told_by_all(all, RecordFields::celsius),
            .used_bytes = told_by_all(all, RecordFields::used_bytes)};
}

Stop stop_of_ranks(const comm::Gathered& all) {
    const std::vector<double> wishes = all.of_ranks(RecordFields::stop);
    const auto first = std::ranges::max_element(wishes);
    return {.reason = static_cast<StopReason>(static_cast<int>(*first)),
            .rank = static_cast<int>(first - wishes.begin())};
}

std::vector<int> non_finite_ranks(const comm::Gathered& all) {
    const std::vector<double> losses = all.of_ranks(RecordFields::loss);
    const std::vector<double> squares = all.of_ranks(RecordFields::squares);
    std::vector<int> ranks;
    for (std::size_t r = 0; r < losses.size(); ++r) {
        if (!std::isfinite(losses[r]) || !std::isfinite(squares[r])) ranks.push_back(static_cast<int>(r));
    }
    return ranks;
}

}  // namespace

std::size_t fields_of_record(device::MemorySpace place) {
    return place == device::MemorySpace::gpu ? RecordFields::count_on_gpus : RecordFields::count;
}

void add_records(const comm::Gathered& all, StepOutcome& outcome) {
    outcome.ranks = times_of_ranks(all);
    const auto ranks = static_cast<double>(outcome.ranks.size());
    outcome.loss = all.sum(RecordFields::loss) / static_cast<double>(outcome.size.targets);
    outcome.gradient_norm = std::sqrt(all.sum(RecordFields::squares));
    outcome.is_skipped = all.sum(RecordFields::skipped) > 0;
    outcome.non_finite_ranks = non_finite_ranks(all);
    outcome.seconds = all.most(RecordFields::seconds);
    for (const plan::RankTimes& times : outcome.ranks) {
        outcome.compute_seconds += times.busy() / ranks;
        outcome.waits += times.waits * (1 / ranks);
    }
    outcome.padded_tokens = static_cast<std::size_t>(all.sum(RecordFields::padded_tokens));
    outcome.peak_bytes = static_cast<std::size_t>(all.most(RecordFields::peak_bytes));
    outcome.joules_of_ranks = told_by_all(all, RecordFields::joules);
    outcome.stop = stop_of_ranks(all);
    if (all.width() == RecordFields::count_on_gpus) outcome.gpus = states_of_ranks(all);
}

}  // namespace trireme::records

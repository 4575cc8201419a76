#include "trireme/records/step_outcome.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::records {
namespace {

std::vector<plan::RankTimes> make_rank_times(const comm::GatheredNumbers& all) {
    const auto matmuls = all.list_per_rank(RecordFields::matmuls);
    const auto flops = all.list_per_rank(RecordFields::matmul_flops);
    const auto full_flops = all.list_per_rank(RecordFields::full_flops);
    const auto expected = all.list_per_rank(RecordFields::expected_matmuls);
    const auto calls = all.list_per_rank(RecordFields::matmul_calls);
    const auto matmul_delays = all.list_per_rank(RecordFields::matmul_clock_delay);
    const auto other_delays = all.list_per_rank(RecordFields::other_clock_delay);
    const auto others = all.list_per_rank(RecordFields::other_kernels);
    const auto pipeline = all.list_per_rank(RecordFields::wait_pipeline);
    const auto tensor = all.list_per_rank(RecordFields::wait_tensor);
    const auto data = all.list_per_rank(RecordFields::wait_data);
    const auto other_waits = all.list_per_rank(RecordFields::wait_other);
    std::vector<plan::RankTimes> times;
    for (std::size_t r = 0; r < matmuls.size(); ++r)
        times.push_back({.matmuls = matmuls[r],
                         .matmul_flops = flops[r],
                         .full_flops = full_flops[r],
                         .expected_matmuls = expected[r],
                         .matmul_calls = calls[r],
                         .matmul_clock_delay = matmul_delays[r],
                         .others = others[r],
                         .other_clock_delay = other_delays[r],
                         .waits = {pipeline[r], tensor[r], data[r], other_waits[r]}});
    return times;
}

// Returns the values of a field per rank; empty if some rank does not report the field.
std::vector<double> list_reported_values(const comm::GatheredNumbers& all, std::size_t field) {
    std::vector<double> values = all.list_per_rank(field);
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) values.clear();
    return values;
}

GpuStates make_gpu_states(const comm::GatheredNumbers& all) {
    return {.watts = list_reported_values(all, RecordFields::watts),
            .clock_mhz = list_reported_values(all, RecordFields::clock_mhz),
            .memory_clock_mhz = list_reported_values(all, RecordFields::memory_clock_mhz),
            .celsius = list_reported_values(all, RecordFields::celsius),
            .used_bytes = list_reported_values(all, RecordFields::used_bytes)};
}

std::vector<EnergyPhases> list_energy(const comm::GatheredNumbers& all) {
    const std::vector<double> compute = list_reported_values(all, RecordFields::compute_joules);
    const std::vector<double> blocked = list_reported_values(all, RecordFields::blocked_joules);
    const std::vector<double> idle = list_reported_values(all, RecordFields::idle_joules);
    std::vector<EnergyPhases> energy;
    for (std::size_t r = 0; r < compute.size(); ++r) energy.push_back({compute[r], blocked[r], idle[r]});
    return energy;
}

// Returns the times of the passes of each rank, which follow the first `fields` numbers of a rank; empty if
// there are no further numbers.
std::vector<plan::MeasuredPasses> list_pass_times(const comm::GatheredNumbers& all, std::size_t fields) {
    if (all.width() == fields) return {};
    const std::vector<double> ends = all.list_per_rank(fields);
    const std::vector<double> forwards = all.list_per_rank(fields + 1);
    const std::vector<double> backwards = all.list_per_rank(fields + 2);
    std::vector<plan::MeasuredPasses> times;
    for (std::size_t rank = 0; rank < ends.size(); ++rank)
        times.push_back({.end = ends[rank], .forward = forwards[rank], .backward = backwards[rank]});
    for (std::size_t field = fields + 3; field < all.width(); ++field) {
        const std::vector<double> of_ranks = all.list_per_rank(field);
        for (std::size_t rank = 0; rank < times.size(); ++rank) times[rank].waits.push_back(of_ranks[rank]);
    }
    return times;
}

Stop find_stop(const comm::GatheredNumbers& all) {
    const std::vector<double> stop_reasons = all.list_per_rank(RecordFields::stop);
    const auto first = std::ranges::max_element(stop_reasons);  // the lowest rank with the largest value
    return {.reason = static_cast<StopReason>(static_cast<int>(*first)),
            .rank = static_cast<int>(first - stop_reasons.begin())};
}

std::vector<int> find_non_finite_ranks(const comm::GatheredNumbers& all) {
    const std::vector<double> losses = all.list_per_rank(RecordFields::loss);
    const std::vector<double> squares = all.list_per_rank(RecordFields::squares);
    std::vector<int> ranks;
    for (std::size_t r = 0; r < losses.size(); ++r) {
        if (!std::isfinite(losses[r]) || !std::isfinite(squares[r])) ranks.push_back(static_cast<int>(r));
    }
    return ranks;
}

// Throws ConfigError if the ranks have planned different micro-batches or plans for step `outcome.coming_step`.
void check_coming_step(const comm::GatheredNumbers& all, const StepOutcome& outcome) {
    const std::vector<double> hashes = all.list_per_rank(RecordFields::coming_step);
    const auto differs = [&](double hash) { return hash != hashes.front(); };
    const auto other = std::ranges::find_if(hashes, differs);
    if (other == hashes.end()) return;
    const auto more = std::ranges::count_if(hashes, differs) - 1;
    throw ConfigError(cat("for step ", outcome.coming_step + 1,
                          ", rank 0 has planned other micro-batches, or another plan, than rank ",
                          other - hashes.begin(), more > 0 ? cat(" and ", more, " more") : "",
                          "; start all ranks with the same program and corpus"));
}

}  // namespace

StepWorkCounts& StepWorkCounts::operator+=(const StepWorkCounts& other) {
    forward_layers += other.forward_layers;
    backward_layers += other.backward_layers;
    cached_layers += other.cached_layers;
    reduced_bytes += other.reduced_bytes;
    moment_bytes += other.moment_bytes;
    cache_hits += other.cache_hits;
    cache_misses += other.cache_misses;
    cache_bytes += other.cache_bytes;
    return *this;
}

std::size_t count_record_fields(device::MemorySpace memory_space) {
    return memory_space == device::MemorySpace::gpu ? RecordFields::count_on_gpus : RecordFields::count;
}

void add_records(const comm::GatheredNumbers& all, device::MemorySpace memory_space, StepOutcome& outcome) {
    outcome.ranks = make_rank_times(all);
    const auto ranks = static_cast<double>(outcome.ranks.size());
    outcome.loss = all.sum(RecordFields::loss) / static_cast<double>(outcome.size.targets);
    outcome.gradient_norm = std::sqrt(all.sum(RecordFields::squares));
    outcome.is_skipped = all.sum(RecordFields::is_skipped) > 0;
    outcome.non_finite_ranks = find_non_finite_ranks(all);
    outcome.seconds = all.max(RecordFields::seconds);
    for (const plan::RankTimes& times : outcome.ranks) {
        outcome.compute_seconds += times.busy() / ranks;
        outcome.waits += times.waits * (1 / ranks);
    }
    outcome.padded_tokens = static_cast<std::size_t>(all.sum(RecordFields::padded_tokens));
    outcome.work = {.forward_layers = all.sum(RecordFields::forward_layers),
                    .backward_layers = all.sum(RecordFields::backward_layers),
                    .cached_layers = all.sum(RecordFields::cached_layers),
                    .reduced_bytes = all.sum(RecordFields::reduced_bytes),
                    .moment_bytes = all.sum(RecordFields::moment_bytes),
                    .cache_hits = all.sum(RecordFields::cache_hits),
                    .cache_misses = all.sum(RecordFields::cache_misses),
                    .cache_bytes = all.sum(RecordFields::cache_bytes)};
    const std::vector<double> full_caches = all.list_per_rank(RecordFields::cache_lacks_memory);
    const auto full_cache = std::ranges::find(full_caches, 1);
    if (full_cache != full_caches.end())
        outcome.rank_with_full_cache = static_cast<int>(full_cache - full_caches.begin());
    const std::size_t frozen_passes =
        plan::find_first_trained_layer(outcome.size.frozen_blocks) * outcome.microbatches;
    if (frozen_passes > 0)
        outcome.size.cached_fraction = outcome.work.cached_layers / static_cast<double>(frozen_passes);
    outcome.peak_bytes = static_cast<std::size_t>(all.max(RecordFields::peak_bytes));
    outcome.energy_of_ranks = list_energy(all);
    outcome.stop = find_stop(all);
    check_coming_step(all, outcome);
    if (memory_space == device::MemorySpace::gpu) outcome.gpus = make_gpu_states(all);
    std::size_t fields = count_record_fields(memory_space);
    for (double& square : outcome.block_squares) square = all.sum(fields++);
    outcome.pass_times = list_pass_times(all, fields);
}

}  // namespace trireme::records

#include "trireme/rank/step_record.hpp"

#include <algorithm>
#include <limits>

#include "rank/parameter_updates.hpp"
#include "trireme/cache/sample_cache.hpp"
#include "trireme/records/step_outcome.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/sample_homes.hpp"

namespace trireme::rank {

using Fields = records::RecordFields;

std::size_t count_recorded_blocks(const setup::Job& job) {
    const config::PolicyConfig& policy = job.config.policy;
    const bool needs_norms = may_freeze(policy) && policy.freeze.rule == config::FreezeRule::gradient;
    return needs_norms ? job.model.layers : 0;
}

std::size_t count_record_numbers(const setup::Job& job, const plan::Plan& plan) {
    const std::size_t fields = records::count_record_fields(job.memory_space) + count_recorded_blocks(job);
    if (!needs_pass_times(job)) return fields;
    std::ptrdiff_t max_passes = 0;
    for (const schedule::Program& program : plan.training.programs)
        max_passes = std::max(max_passes, std::ranges::count_if(program, [](const schedule::Instruction& each) {
                                  return is_compute(each.op);
                              }));
    return fields + 3 + static_cast<std::size_t>(max_passes);
}

StepPhases measure_phases(const device::Stream& stream, const RankModel& model, double seconds) {
    return {.seconds = seconds,
            .kernel_seconds = stream.ledger.seconds(),
            .kernel_joules = stream.ledger.joules(),
            .wait_seconds = model.measure_waits().sum(),
            .wait_joules = model.measure_joules_of_waits()};
}

void record_update(const StepUpdate& update, const setup::Job& job, std::span<double> record) {
    record[Fields::squares] = update.square_sum;
    record[Fields::is_skipped] = update.is_skipped ? 1 : 0;
    record[Fields::is_rolled_back] = update.is_rolled_back ? 1 : 0;
    std::ranges::copy(update.block_squares,
                      record.subspan(records::count_record_fields(job.memory_space)).begin());
}

void record_kernels(const device::Stream& stream, std::span<double> record) {
    record[Fields::matmuls] = stream.matmuls.seconds;
    record[Fields::matmul_flops] = stream.matmuls.flops;
    record[Fields::full_flops] = stream.matmuls.full_flops;
    record[Fields::expected_matmuls] = stream.matmuls.expected_seconds;
    record[Fields::matmul_calls] = stream.matmuls.calls;
    record[Fields::matmul_clock_delay] = stream.matmuls.clock_delay;
    record[Fields::other_kernels] = stream.ledger.seconds() - stream.matmuls.seconds;
    record[Fields::other_clock_delay] = stream.ledger.clock_delay() - stream.matmuls.clock_delay;
}

void record_waits(const plan::RankWaits& waits, std::span<double> record) {
    record[Fields::wait_pipeline] = waits.pipeline;
    record[Fields::wait_tensor] = waits.tensor;
    record[Fields::wait_data] = waits.data;
    record[Fields::wait_other] = waits.others;
}

void record_work(const device::Stream& stream, const RankModel& model, ParameterUpdates& updates,
                 const setup::Job& job, std::span<double> record) {
    // The ranks of a team execute the same passes, which count once.
    const bool counts = model.is_team_leader();
    record[Fields::forward_layers] = counts ? stream.layer_passes.forward : 0;
    record[Fields::backward_layers] = counts ? stream.layer_passes.backward : 0;
    record[Fields::cached_layers] = counts ? stream.layer_passes.cached : 0;
    record[Fields::cache_hits] = counts ? stream.cache_visits.hits : 0;
    record[Fields::cache_misses] = counts ? stream.cache_visits.misses : 0;
    record[Fields::reduced_bytes] = static_cast<double>(updates.take_sent_bytes());
    const optim::Optimizer* const optimizer = updates.optimizer();
    record[Fields::moment_bytes] =
        optimizer == nullptr ? 0 : static_cast<double>(optimizer->count_moment_bytes());
    const cache::SampleCache* const cache = find_cache(job, model.rank());
    if (cache == nullptr) return;
    // Without values, the ranks of a node share the object.
    const bool is_first_of_node = job.nodes[static_cast<std::size_t>(model.rank())] == model.rank();
    if (job.memory_space != device::MemorySpace::ghost || is_first_of_node)
        record[Fields::cache_bytes] = static_cast<double>(cache->held_bytes());
    record[Fields::cache_lacks_memory] = cache->lacks_memory() ? 1 : 0;
}

void record_energy(const records::EnergyPhases& energy, std::span<double> record) {
    record[Fields::compute_joules] = energy.compute;
    record[Fields::blocked_joules] = energy.blocked;
    record[Fields::idle_joules] = energy.idle;
}

void record_gpu_state(RankGpu* gpu, std::span<double> record) {
    const device::GpuReading state = gpu == nullptr ? device::GpuReading{} : gpu->state();
    constexpr double not_reported = std::numeric_limits<double>::quiet_NaN();
    record[Fields::watts] = state.watts.value_or(not_reported);
    record[Fields::clock_mhz] = state.clock_mhz.value_or(not_reported);
    record[Fields::memory_clock_mhz] = state.memory_clock_mhz.value_or(not_reported);
    record[Fields::celsius] = state.celsius.value_or(not_reported);
    record[Fields::used_bytes] = state.used_bytes.value_or(not_reported);
}

// Passes that are repeated after a failed validation follow the others, and are not recorded.
void record_pass_times(const plan::MeasuredPasses& times, const setup::Job& job, std::span<double> record) {
    const std::size_t fields = records::count_record_fields(job.memory_space) + count_recorded_blocks(job);
    if (record.size() == fields) return;
    record[fields] = times.end;
    record[fields + 1] = times.forward;
    record[fields + 2] = times.backward;
    const std::span<double> waits = record.subspan(fields + 3);
    std::copy_n(times.waits.begin(), std::min(times.waits.size(), waits.size()), waits.begin());
}

}  // namespace trireme::rank

#include "records/step_line.hpp"

#include "trireme/records/figures.hpp"

namespace trireme::records {
namespace {

RankLists make_rank_lists(const std::vector<plan::RankTimes>& ranks) {
    RankLists lists;
    if (ranks.size() < 2) return lists;
    for (const plan::RankTimes& times : ranks) {
        lists.compute_s.push_back(times.busy());
        lists.matmuls_s.push_back(times.matmuls);
        lists.wait_s.push_back(times.waits.sum());
        lists.wait_pipeline_s.push_back(times.waits.pipeline);
        lists.wait_tensor_s.push_back(times.waits.tensor);
        lists.wait_data_s.push_back(times.waits.data);
    }
    return lists;
}

}  // namespace

StepLine make_step_line(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                        double peak_flops) {
    const double available_flops = outcome.seconds * peak_flops;
    const BubbleBreakdown breakdown = split_bubble(outcome.seconds, outcome.compute_seconds, outcome.waits);
    StepLine line;
    line.step = to_figure(step);
    line.loss = omit_non_finite(outcome.loss);
    line.tokens = to_figure(outcome.size.tokens);
    line.padded_tokens = to_figure(outcome.padded_tokens);
    line.microbatches = to_figure(outcome.microbatches);
    if (outcome.size.frozen_blocks > 0) line.frozen = outcome.size.frozen_blocks;
    line.forward_layers = outcome.work.forward_layers;
    line.backward_layers = outcome.work.backward_layers;
    if (outcome.work.cache_hits + outcome.work.cache_misses > 0) {
        line.cached_layers = outcome.work.cached_layers;
        line.cache_hits = outcome.work.cache_hits;
        line.cache_misses = outcome.work.cache_misses;
        line.cache_bytes = outcome.work.cache_bytes;
    }
    line.reduced_bytes = outcome.work.reduced_bytes;
    line.moment_bytes = outcome.work.moment_bytes;
    line.seconds = outcome.seconds;
    line.predicted_s = outcome.predicted_seconds;
    if (outcome.predicted_bytes) line.predicted_bytes = to_figure(*outcome.predicted_bytes);
    if (outcome.limit_bytes) line.limit_bytes = to_figure(*outcome.limit_bytes);
    if (outcome.deficit_bytes) line.deficit_bytes = to_figure(*outcome.deficit_bytes);
    if (outcome.recomputed_bytes) line.recomputed_bytes = to_figure(*outcome.recomputed_bytes);
    if (outcome.offloaded_bytes) line.offloaded_bytes = to_figure(*outcome.offloaded_bytes);
    if (outcome.recompute) line.recompute = to_string(*outcome.recompute);
    line.elastic = outcome.elastic.value_or(ElasticDecision{});
    if (outcome.planning_seconds > 0) line.planning_s = outcome.planning_seconds;
    line.clock = find_clock_name();
    line.tokens_per_s = to_figure(outcome.size.tokens) / outcome.seconds;
    line.mfu = flops.compute_step_flops(outcome.size) / available_flops;
    // Counts 6 instead of 12 FLOPs per pair of tokens, because a causal model needs half of the pairs.
    if (flops.is_causal)
        line.mfu_causal = flops.compute_step_flops(outcome.size, /*attention=*/6) / available_flops;
    line.bubble = 1 - outcome.compute_seconds / outcome.seconds;
    line.bubble_schedule = breakdown.schedule;
    line.wait_tensor = breakdown.wait_tensor;
    line.wait_data = breakdown.wait_data;
    line.wait_other = breakdown.wait_other;
    line.ranks = make_rank_lists(outcome.ranks);
    line.ranks.slowness = outcome.slowness;
    line.comm_wait_s = outcome.waits.sum();
    if (const std::optional<EnergyPhases> energy = sum_energy(outcome.energy_of_ranks)) {
        line.energy_j = energy->sum();
        line.energy_phases_j = {energy->compute, energy->blocked, energy->idle, are_phases_derived()};
    }
    line.gpus = outcome.gpus;
    line.grad_norm = omit_non_finite(outcome.gradient_norm);
    line.lr = outcome.learning_rate;
    line.peak_bytes = omit_zero(outcome.peak_bytes);
    line.is_skipped = outcome.is_skipped;
    line.first_non_finite = outcome.first_non_finite;
    line.is_rolled_back = outcome.is_rolled_back;
    return line;
}

}  // namespace trireme::records

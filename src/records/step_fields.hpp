// The fields of a line of steps.jsonl, in the form of record_fields.hpp.
#pragma once

#include "records/energy_fields.hpp"
#include "records/record_fields.hpp"

namespace trireme::records {

void visit_fields(auto& visit, As<StepLine> auto& line) {
    visit.count("step", line.step);
    visit("loss", line.loss);
    visit.count("tokens", line.tokens);
    visit.count("padded_tokens", line.padded_tokens);
    visit.count("microbatches", line.microbatches);
    visit.count("frozen", line.frozen);
    visit.count("layer_passes/forward", line.forward_layers);
    visit.count("layer_passes/backward", line.backward_layers);
    visit.count("layer_passes/cached", line.cached_layers);
    visit.count("cache/hits", line.cache_hits);
    visit.count("cache/misses", line.cache_misses);
    visit.count("cache/bytes", line.cache_bytes);
    visit.count("reduced_bytes", line.reduced_bytes);
    visit.count("moment_bytes", line.moment_bytes);
    visit("seconds", line.seconds);
    visit("predicted_s", line.predicted_s);
    visit.count("predicted_bytes", line.predicted_bytes);
    visit.count("limit_bytes", line.limit_bytes);
    visit.count("deficit_bytes", line.deficit_bytes);
    visit.count("recomputed_bytes", line.recomputed_bytes);
    visit.count("offloaded_bytes", line.offloaded_bytes);
    visit("recompute", line.recompute);
    visit("elastic/outcome", line.elastic.outcome);
    visit("elastic/current_s", line.elastic.current_seconds);
    visit("elastic/new_s", line.elastic.new_seconds);
    visit("elastic/change_s", line.elastic.change_seconds);
    visit("elastic/decision_s", line.elastic.decision_seconds);
    visit("elastic/memory_s", line.elastic.memory_seconds);
    visit("elastic/A", line.elastic.fits);
    visit("elastic/B", line.elastic.change_takes_longer);
    visit("elastic/C", line.elastic.memory_plan_fits);
    visit("elastic/D", line.elastic.memory_plan_is_faster);
    visit.count("elastic/peak_bytes", line.elastic.peak_bytes);
    visit.count("elastic/pooled_bytes", line.elastic.pooled_bytes);
    visit.count("elastic/refused_candidates", line.elastic.refused_candidates);
    visit("planning_s", line.planning_s);
    visit("clock", line.clock);
    visit("tokens_per_s", line.tokens_per_s);
    visit("mfu", line.mfu);
    visit("mfu_causal", line.mfu_causal);
    visit("bubble", line.bubble);
    visit("bubble_schedule", line.bubble_schedule);
    visit("wait_tensor", line.wait_tensor);
    visit("wait_data", line.wait_data);
    visit("wait_other", line.wait_other);
    visit("compute_s", line.ranks.compute_s);
    visit("products_s", line.ranks.matmuls_s);
    visit("wait_s", line.ranks.wait_s);
    visit("wait_pipeline_s", line.ranks.wait_pipeline_s);
    visit("wait_tensor_s", line.ranks.wait_tensor_s);
    visit("wait_data_s", line.ranks.wait_data_s);
    visit("slowness", line.ranks.slowness);
    visit("comm_wait_s", line.comm_wait_s);
    visit("energy_j", line.energy_j);
    visit_phases(visit, line.energy_phases_j);
    visit("gpus/watts", line.gpus.watts);
    visit("gpus/clock_mhz", line.gpus.clock_mhz);
    visit("gpus/memory_clock_mhz", line.gpus.memory_clock_mhz);
    visit("gpus/celsius", line.gpus.celsius);
    visit("gpus/used_bytes", line.gpus.used_bytes);
    visit("grad_norm", line.grad_norm);
    visit("lr", line.lr);
    visit.count("peak_bytes", line.peak_bytes);
    visit("skipped", line.is_skipped);
    visit("non_finite", line.first_non_finite);
    visit("rolled_back", line.is_rolled_back);
    visit("plan", line.plan);
}

}  // namespace trireme::records

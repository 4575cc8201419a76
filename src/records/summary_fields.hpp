// The fields of summary.json, in the form of record_fields.hpp.
#pragma once

#include "records/record_fields.hpp"

namespace trireme::records {

void visit_fields(auto& visit, As<Summary> auto& summary) {
    // Explains the limit of the bubble.
    constexpr const char* limit_is = "the bubble of the schedule if all stages took equal time";
    visit("verdict", summary.verdict);
    visit("reason", summary.reason);
    visit("approximate", summary.approximations);
    visit("remarks", summary.remarks);
    visit("slowed_on_purpose", summary.emulated_slowness);
    visit.count("stopped/behind_step", summary.stopped_after);
    visit("stopped/because", summary.stop_reason);
    visit("clock", summary.clock);
    visit.count("steps", summary.steps);
    visit.count("earlier_steps", summary.earlier_steps);
    visit.count("skipped_steps", summary.skipped_steps);
    visit.count("rolled_back_updates", summary.rolled_back_updates);
    visit.count("steps_fitted_to_memory", summary.steps_fitted_to_memory);
    visit.count("elastic/keep", summary.kept);
    visit.count("elastic/memory", summary.fitted_to_memory);
    visit.count("elastic/grow", summary.grown);
    visit.count("elastic/shrink", summary.shrunk);
    visit.count("elastic/rearrange", summary.rearranged);
    visit("loss/first", summary.first_loss);
    visit("loss/last", summary.last_loss);
    visit("loss/validation", summary.validation_loss);
    visit("validation/accuracy", summary.accuracy);
    visit("validation/exact_match", summary.exact_match);
    visit("validation/f1", summary.f1);
    visit("seconds", summary.seconds);
    visit("step_s/median", summary.median_step_s);
    visit("step_s/last", summary.last_step_s);
    visit("step_s/before_clocks", summary.step_s_before_clocks);
    visit.count("tokens", summary.tokens);
    visit("tokens_per_s", summary.tokens_per_s);
    visit("images_per_s", summary.images_per_s);
    visit("padding/share", summary.padding);
    visit.constant("padding/limit", 0);
    visit("model_flops_per_s/value", summary.flops_per_s);
    visit("model_flops_per_s/limit", summary.peak_flops_per_s);
    visit("model_flops_per_s/limit_is", summary.peak_description);
    visit("peak_is", summary.peak_description);
    visit("mfu", summary.mfu);
    visit("mfu_causal", summary.mfu_causal);
    visit("mfu_formula", summary.mfu_formula);
    visit("bubble/measured", summary.bubble);
    visit("bubble/limit", summary.bubble_limit);
    visit.constant("bubble/limit_is", limit_is);
    visit("bubble_schedule/measured", summary.bubble_schedule);
    visit("bubble_schedule/limit", summary.bubble_limit);
    visit.constant("bubble_schedule/limit_is", limit_is);
    visit("wait_tensor/measured", summary.wait_tensor);
    visit.constant("wait_tensor/limit", 0);
    visit("wait_data/measured", summary.wait_data);
    visit.constant("wait_data/limit", 0);
    visit("wait_other/measured", summary.wait_other);
    visit.constant("wait_other/limit", 0);
    visit("comm_wait_s", summary.comm_wait_s);
    visit("energy_j", summary.energy_j);
    visit("energy_j_of_ranks", summary.energy_j_of_ranks);
    visit("step_j/median", summary.median_step_j);
    visit("step_j/last", summary.last_step_j);
    visit("step_j/before_clocks", summary.step_j_before_clocks);
    visit("step_j/limit", summary.min_step_j);
    visit_phases(visit, summary.energy_phases_j);
    visit.count("saving/checkpoints", summary.checkpoints);
    visit("saving/stall_s", summary.save_stall_s);
    visit("saving/waited_s", summary.save_waited_s);
    visit.count("plan_changes/count", summary.plan_changes);
    visit("plan_changes/seconds", summary.plan_change_s);
    visit.count("plan_changes/moved_bytes", summary.moved_bytes);
    visit.count("looks/count", summary.looks);
    visit("looks/seconds", summary.look_s);
    visit("looks/share_of_steps", summary.look_share);
    visit.count("memory_bytes/growth", summary.growth_bytes);
    visit.count("memory_bytes/predicted", summary.predicted_bytes);
}

}  // namespace trireme::records

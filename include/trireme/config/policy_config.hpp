// Settings of plan changes: the policy for slow ranks, recorded decisions, and how parameters and optimizer
// state move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/config/energy_config.hpp"
#include "trireme/config/freeze_config.hpp"
#include "trireme/config/straggler_config.hpp"
#include "trireme/layout/broadcast_tree.hpp"

namespace trireme::config {

// Method of moving parameters and optimizer state from one plan to the next.
//   `stop`      moves parameters and optimizer state between two steps, by messages
//   `overlap`   moves parameters between two steps, and optimizer state during the next step
//   `twins`     like `stop`, but through staging copies in memory that the ranks of a node share
//   `restart`   writes a checkpoint and loads it with the new plan
enum class MoveMethod : std::uint8_t { stop, overlap, twins, restart };

// The property of steps that the plan follows:
//   off      none
//   length   the lengths of the samples: every step fits into the memory limit, and the layout changes where
//            this saves time
//   freeze   the number of frozen blocks, which rises by itself
//   both     lengths and frozen blocks
enum class Elastic : std::uint8_t { off, length, freeze, both };

// Means by which the plan follows the lengths of samples.
//   layout      the layout changes between steps: the number of stages, their layers and their replicas
//   recompute   micro-batches recompute activations
//   offload     optimizer state leaves the memory of the device during the step
enum class ElasticMeans : std::uint8_t { layout, recompute, offload };

// Rule by which the layout follows the lengths of samples.
//   ahead       weighs the times of coming steps and changes
//   published   the rule of FlexPipe: weighs the next step only
enum class ElasticRule : std::uint8_t { ahead, published };

// Source of the seconds of changes of plan that a decision about lengths weighs.
//   measured    the links and the earlier changes that the run measures
//   predicted   the links of the cluster or the profile
enum class ChangeTimes : std::uint8_t { measured, predicted };

struct PolicyConfig {
    Elastic elastic = Elastic::off;
    ElasticRule elastic_rule = ElasticRule::ahead;
    std::vector<ElasticMeans> elastic_means = {};  // empty: all means that the run supports
    // Number of coming steps that a decision about lengths weighs; 0: the layout does not follow the lengths.
    std::size_t look_ahead = 64;
    ChangeTimes change_times = ChangeTimes::measured;  // for decisions about lengths
    std::string decisions;                             // path of a file of recorded decisions; may be empty
    MoveMethod move = MoveMethod::stop;
    FreezeConfig freeze = {};
    CacheConfig cache = {};
    StragglerPolicy straggler = StragglerPolicy::off;
    ResizeConfig resize = {};
    layout::Spread spread = layout::Spread::tree;  // how a slow rank exchanges data with its helper ranks
    double semi_slack = 0.03;  // with semi: a step may be longer by this fraction if fewer channels are skipped
    // With uneven: number of steps for which work of a slow rank is offloaded before shares change.
    std::size_t bridge = 0;
    std::size_t look_every = 10;  // steps between two decisions of the policy
    // Number of steps within which a change of plan must save more time than it costs; 0: all remaining steps.
    std::size_t horizon = 0;
    Energy energy = Energy::baseline;
    Reconfigure reconfigure = Reconfigure::none;
    // The source of costs by clock: `auto`, `sweep` or the path of a file that a sweep has written.
    std::string clock_costs = automatic_clock_costs;
    double clock_every = 0;  // minimum number of seconds between two changes of the clock of a device
};

// True if the policy may make helper ranks compute a fraction of another rank's matmuls.
inline bool may_migrate(const PolicyConfig& policy) {
    return policy.straggler == StragglerPolicy::migrate || policy.straggler == StragglerPolicy::semi ||
           (policy.straggler == StragglerPolicy::uneven && policy.bridge > 0);
}

// True if the plan follows the lengths of samples.
inline bool is_elastic_by_length(const PolicyConfig& policy) {
    return policy.elastic == Elastic::length || policy.elastic == Elastic::both;
}

// True if the plan may use a means to follow the lengths of samples.
inline bool may_use(const PolicyConfig& policy, ElasticMeans means) {
    const std::vector<ElasticMeans>& all = policy.elastic_means;
    return is_elastic_by_length(policy) &&
           (all.empty() || std::find(all.begin(), all.end(), means) != all.end());
}

// True if the layout may follow the lengths of samples, as far as the options say.
inline bool may_follow_lengths(const PolicyConfig& policy) {
    return may_use(policy, ElasticMeans::layout) && policy.look_ahead > 0 && policy.decisions.empty();
}

// True if a decision about lengths weighs the coming steps.
inline bool weighs_coming_steps(const PolicyConfig& policy) {
    return may_follow_lengths(policy) && policy.elastic_rule == ElasticRule::ahead;
}

// True if a rule changes the number of frozen blocks. Recorded decisions replace the rule.
inline bool may_freeze(const PolicyConfig& policy) {
    return policy.freeze.rule != FreezeRule::off && policy.decisions.empty();
}

// True if outputs of frozen layers are cached.
inline bool uses_cache(const PolicyConfig& policy) { return policy.cache.mode != CacheMode::off; }

// True if the layout changes with the number of frozen blocks.
inline bool may_follow_depth(const PolicyConfig& policy) {
    return may_freeze(policy) && policy.freeze.auto_pipe != AutoPipe::off;
}

// True if the planner chooses the layouts for the numbers of frozen blocks.
inline bool may_plan_depth(const PolicyConfig& policy) {
    return may_freeze(policy) && policy.freeze.auto_pipe == AutoPipe::on;
}

// True if ranks that become free hold more replicas.
inline bool may_use_freed_ranks(const PolicyConfig& policy) {
    return may_follow_depth(policy) && policy.freeze.auto_dp.value_or(true);
}

// True if steps have more samples when there are more pipelines.
inline bool may_grow_batch(const PolicyConfig& policy) {
    return policy.freeze.batch_policy == BatchPolicy::grow && policy.freeze.rule != FreezeRule::off &&
           policy.freeze.auto_pipe != AutoPipe::off;
}

// True if parameters and optimizer state may move during a run.
inline bool may_move_state(const PolicyConfig& policy) {
    return policy.straggler == StragglerPolicy::uneven || policy.freeze.rule != FreezeRule::off ||
           !policy.decisions.empty() || may_follow_lengths(policy);
}

// True if the policy needs measurements of the links between ranks.
inline bool needs_links(const PolicyConfig& policy) {
    const bool predicts_changes = may_follow_lengths(policy) || may_plan_depth(policy);
    const bool measures_changes = predicts_changes && policy.change_times == ChangeTimes::measured;
    return may_migrate(policy) || policy.straggler == StragglerPolicy::uneven || measures_changes;
}

}  // namespace trireme::config

#include "trireme/adapt/straggler_rules.hpp"

#include <algorithm>
#include <array>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/base/error.hpp"
#include "trireme/model/model.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/model_work.hpp"

namespace trireme::adapt {
namespace {

// Calls use(matmul, input_channels, outputs) for each projection of the model. `matmul` is the index of a
// layout::Matmul. The sizes are those of the whole weight, not of a rank's share.
template <class Use>
void for_each_matmul(const model::ModelConfig& model, Use&& use) {
    for (const model::Layer& layer : build_layers(model)) {
        for (const model::ProjectionShape& projection : list_projections(layer)) {
            use(static_cast<std::size_t>(projection.id.matmul), static_cast<double>(projection.channels),
                static_cast<double>(projection.outputs()));
        }
    }
}

// Returns the number of weights of each of the four matmuls, summed over all blocks.
layout::MatmulFractions count_matmul_weights(const model::ModelConfig& model) {
    layout::MatmulFractions weights{};
    for_each_matmul(model, [&](std::size_t matmul, double channels, double outputs) {
        weights[matmul] += channels * outputs;
    });
    return weights;
}

// Returns the widths that are divided among the ranks of a team (key-value heads, MLP columns). The field
// `work` of a width is the fraction of a block's work that is divided in proportion to the width.
std::vector<policy::SharedWidth> list_widths(const model::ModelConfig& model) {
    const auto [attention_in, attention_out, mlp_in, mlp_out] = count_matmul_weights(model);
    const double attention = attention_in + attention_out;
    const double mlp = mlp_in + mlp_out;
    return {{.units = model.key_value_heads(), .work = attention / (attention + mlp)},
            {.units = model.mlp_width, .work = mlp / (attention + mlp)}};
}

bool has_one_stage_per_team(const plan::Plan& plan) {
    return std::ranges::all_of(plan.teams, [](const layout::Team& team) { return team.stages.size() == 1; });
}

bool reads_replicated_input(std::size_t matmul) {
    return matmul == static_cast<std::size_t>(layout::Matmul::attention_in) ||
           matmul == static_cast<std::size_t>(layout::Matmul::mlp_in);
}

// Returns the work of a team in a step as a number of passes of one micro-batch through the whole model. A
// micro-batch in one stage counts as the stage's fraction of all layers.
double count_passes(const plan::Plan& plan, const layout::Team& team) {
    double passes = 0;
    for (const int stage : team.stages) {
        const layout::Range layers = plan.layout.stages[static_cast<std::size_t>(stage)].layers;
        const double layer_fraction =
            static_cast<double>(layers.count) / static_cast<double>(plan.layout.layers);
        passes += layer_fraction * plan.training.shape.count_turns(plan.find_team(team.ranks.front()), stage);
    }
    return passes;
}

// Returns the costs of migrations within `team` in a step. Sets only the seconds of messages, which are
// explained at compute_migration_costs().
policy::OffloadCosts compute_team_migration_costs(const setup::Job& job, const setup::PlanState& current,
                                                  const layout::Team& team, const layout::Link& link) {
    const double passes = count_passes(current.plan, team);
    const auto rows = static_cast<double>(current.largest_microbatches.front().rows);
    const double bytes_per_value_and_rank =
        static_cast<double>(byte_size(job.dtype)) / static_cast<double>(team.ranks.size());
    policy::OffloadCosts costs;
    for_each_matmul(job.model, [&](std::size_t matmul, double channels, double outputs) {
        costs.weight_seconds[matmul] +=
            passes * link.predict_seconds(channels * outputs * bytes_per_value_and_rank);
        if (reads_replicated_input(matmul))
            costs.round_seconds[matmul] +=
                passes * 2 * link.predict_seconds(rows * outputs * bytes_per_value_and_rank);
    });
    return costs;
}

}  // namespace

bool may_move_stage_boundaries(const plan::Plan& plan) {
    return has_one_stage_per_team(plan) && plan.layout.stages.size() > 1;
}

// Schedules with split backward passes or several stages per rank are only generated for replicas with equal
// numbers of micro-batches. Programs from a file fix which rank executes which micro-batch.
bool may_take_uneven_turns(const plan::Plan& plan) {
    const schedule::Schedule* const schedule = schedule::find_schedule(plan.schedule);
    const bool is_supported_schedule =
        plan.schedule == schedule::searched_schedule_name ||
        (schedule != nullptr && schedule->shape == schedule::ScheduleShape::one_stage_per_team);
    const auto has_replicas = [](const layout::StageLayout& stage) { return stage.replicas.size() > 1; };
    return is_supported_schedule && has_one_stage_per_team(plan) &&
           std::ranges::any_of(plan.layout.stages, has_replicas);
}

policy::OffloadRules make_offload_rules(const setup::Job& job, const setup::PlanState& current,
                                        const layout::Link& link) {
    const bool may_skip_channels = job.config.policy.straggler == config::StragglerPolicy::semi;
    return {.policy = may_skip_channels ? "semi" : "migrate",
            .costs = compute_migration_costs(job, current, link),
            .max_skipped_fraction = may_skip_channels ? job.config.policy.resize.limit : 0,
            .max_step_slowdown = may_skip_channels ? job.config.policy.semi_slack : 0};
}

policy::UnevenRules make_uneven_rules(const setup::Job& job, const setup::PlanState& current,
                                      const layout::Link& link) {
    // If the planner chooses layouts, candidates have other stages than the current plan, and other memory per
    // step than UnevenRules predicts.
    const bool follows = follows_lengths(job, current.plan) || may_plan_depth(job.config.policy);
    return {.widths = list_widths(job.model),
            .layers = predict_layer_work(job, current),
            .may_move_layers = follows || may_move_stage_boundaries(current.plan),
            .may_change_turns = follows || may_take_uneven_turns(current.plan),
            .nodes = job.nodes,
            .memory_limit = follows ? 0 : job.config.layout.memory_limit,
            .costs = compute_migration_costs(job, current, link)};
}

// In the matmuls that read replicated inputs, a slow rank broadcasts its output gradients to its helpers, and
// the helpers reduce the partial outputs to the slow rank. The broadcast and the reduction have the same number
// of communication steps. The team waits for these messages and, in the forward pass, for the slow rank's
// weights. All other messages overlap with matmuls.
policy::OffloadCosts compute_migration_costs(const setup::Job& job, const setup::PlanState& current,
                                             const layout::Link& link) {
    policy::OffloadCosts costs{.work = count_matmul_weights(job.model), .spread = current.plan.spread};
    const double total_work = costs.work[0] + costs.work[1] + costs.work[2] + costs.work[3];
    for (double& work : costs.work) work /= total_work;
    for (const layout::Team& team : current.plan.teams) {
        if (team.ranks.size() == 1) continue;
        const policy::OffloadCosts team_costs = compute_team_migration_costs(job, current, team, link);
        for (std::size_t matmul = 0; matmul < layout::block_matmul_count; ++matmul) {
            costs.weight_seconds[matmul] =
                std::max(costs.weight_seconds[matmul], team_costs.weight_seconds[matmul]);
            costs.round_seconds[matmul] =
                std::max(costs.round_seconds[matmul], team_costs.round_seconds[matmul]);
        }
    }
    return costs;
}

namespace {

bool has_tensor_parallel_team(const plan::Plan& plan) {
    return std::ranges::any_of(plan.teams, [](const layout::Team& team) { return team.ranks.size() > 1; });
}

void check_uneven(const config::RunConfig& config, const plan::Plan& plan) {
    check_change(config, plan);
    if (config.policy.bridge > 0 && !has_tensor_parallel_team(plan))
        throw ConfigError(
            "--bridge needs ranks that share layers, but here each rank has its own layers; use --tensor, or "
            "remove --bridge");
    if (has_tensor_parallel_team(plan) || may_move_stage_boundaries(plan) || may_take_uneven_turns(plan))
        return;
    throw ConfigError(cat("--straggler uneven cannot move work: ",
                          plan.teams.size() == 1
                              ? "only one rank computes"
                              : cat("no two ranks share a layer, and schedule ", plan.schedule,
                                    " allows neither other stage boundaries nor unequal numbers of "
                                    "micro-batches"),
                          "; use --tensor, or --schedule 1f1b with --pipe or --data, or --straggler off"));
}

}  // namespace

// Two restrictions apply. Gradients that helpers send must be distinguishable from the gradients that are
// filled in for pruned channels. The number of offloaded channels must not depend on weights, because helpers
// determine it before they receive the slow rank's weights.
void check_resized_migration(const config::ResizeConfig& resize) {
    if (resize.filling != model::Filling::zero)
        throw ConfigError(
            "with helper ranks, pruned channels can only be filled with zeros; use --resize-fill zero");
    if (resize.adapts_to_variation)
        throw ConfigError(
            "with helper ranks, the same fraction of every layer must be pruned; use --resize-layers alike");
}

void check_straggler(const config::RunConfig& config, const plan::Plan& plan) {
    const config::PolicyConfig& policy = config.policy;
    if (policy.straggler == config::StragglerPolicy::off) return;
    if (policy.straggler == config::StragglerPolicy::uneven) return check_uneven(config, plan);
    if (!has_tensor_parallel_team(plan)) {
        throw ConfigError(cat("--straggler ", find_name(config::straggler_policies, policy.straggler),
                              " needs ranks that share layers, but here each rank has its own layers; use "
                              "--tensor, or --straggler uneven, which also moves layers and micro-batches"));
    }
    if (policy.straggler == config::StragglerPolicy::migrate) return;
    if (policy.straggler == config::StragglerPolicy::semi) check_resized_migration(policy.resize);
    const auto has_replicas = [](const layout::StageLayout& stage) { return stage.replicas.size() > 1; };
    if (!policy.resize.decays_skipped_weights && std::ranges::any_of(plan.layout.stages, has_replicas)) {
        throw ConfigError(
            "--resize-decay kept would make the replicas diverge, because each replica prunes different "
            "channels; use --resize-decay all, or --data 1");
    }
}

}  // namespace trireme::adapt

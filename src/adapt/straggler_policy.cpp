#include "trireme/adapt/straggler_policy.hpp"

#include <algorithm>
#include <array>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/base/error.hpp"
#include "trireme/model/model.hpp"
#include "trireme/policy/policy.hpp"
#include "trireme/policy/resize.hpp"
#include "trireme/policy/uneven.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/model_work.hpp"

namespace trireme::adapt {
namespace {

// Calls use(product, channels, outputs) for each projection of the model, with the sizes of the whole tensor.
template <class Use>
void for_each_product(const model::ModelConfig& model, Use&& use) {
    for (const model::Layer& layer : build_layers(model)) {
        for (const model::ProjectionShape& projection : projections_of(layer)) {
            use(static_cast<std::size_t>(projection.place.product), static_cast<double>(projection.channels),
                static_cast<double>(projection.outputs()));
        }
    }
}

layout::ProductParts weights_of_products(const model::ModelConfig& model) {
    layout::ProductParts weights{};
    for_each_product(model, [&](std::size_t product, double channels, double outputs) {
        weights[product] += channels * outputs;
    });
    return weights;
}

// Returns the widths that the ranks of a team share (key groups, MLP columns) and their fractions of the work.
std::vector<policy::SharedWidth> widths_of(const model::ModelConfig& model) {
    const auto [attention_in, attention_out, mlp_in, mlp_out] = weights_of_products(model);
    const double attention = attention_in + attention_out;
    const double mlp = mlp_in + mlp_out;
    return {{.units = model.key_groups(), .work = attention / (attention + mlp)},
            {.units = model.mlp_width, .work = mlp / (attention + mlp)}};
}

policy::SharingRules sharing_rules(const setup::Job& job, const setup::PlanState& current,
                                   const layout::Link& link) {
    const bool leaves_out = job.config.policy.straggler == config::StragglerPolicy::semi;
    return {.policy = leaves_out ? "semi" : "migrate",
            .every = job.config.policy.look_every,
            .costs = help_costs(job, current, link),
            .limit = leaves_out ? job.config.policy.resize.limit : 0,
            .slack = leaves_out ? job.config.policy.semi_slack : 0};
}

policy::UnevenRules uneven_rules(const setup::Job& job, const setup::PlanState& current,
                                 const layout::Layout& healthy, const std::vector<int>& nodes,
                                 const layout::Link& link) {
    return {.every = job.config.policy.look_every,
            .widths = widths_of(job.model),
            .layers = work_of_layers(job, current),
            .healthy = healthy,
            .may_cut = may_cut_elsewhere(current.plan),
            .may_take_turns = may_take_uneven_turns(current.plan),
            .nodes = nodes,
            .memory_limit = job.config.layout.memory_limit,
            .costs = help_costs(job, current, link)};
}

bool has_one_stage_each(const plan::Plan& plan) {
    return std::ranges::all_of(plan.teams, [](const layout::Team& team) { return team.stages.size() == 1; });
}

bool reads_what_all_have(std::size_t product) {
    return product == static_cast<std::size_t>(layout::Product::attention_in) ||
           product == static_cast<std::size_t>(layout::Product::mlp_in);
}

// Returns how often a team executes the model per step; a stage counts as its fraction of the layers.
double passes_of(const plan::Plan& plan, const layout::Team& team) {
    double passes = 0;
    for (const int stage : team.stages) {
        const layout::Range layers = plan.layout.stages[static_cast<std::size_t>(stage)].layers;
        const double part = static_cast<double>(layers.count) / static_cast<double>(plan.layout.layers);
        passes += part * plan.training.shape.turns_of(plan.team_of(team.ranks.front()), stage);
    }
    return passes;
}

policy::HelpCosts messages_of(const setup::Job& job, const setup::PlanState& current, const layout::Team& team,
                              const layout::Link& link) {
    const double passes = passes_of(current.plan, team);
    const auto rows = static_cast<double>(current.largest.front().rows);
    const double bytes = static_cast<double>(bytes_of(job.dtype)) / static_cast<double>(team.ranks.size());
    policy::HelpCosts costs;
    for_each_product(job.model, [&](std::size_t product, double channels, double outputs) {
        costs.whole_seconds[product] += passes * link.seconds(channels * outputs * bytes);
        if (reads_what_all_have(product))
            costs.round_seconds[product] += passes * 2 * link.seconds(rows * outputs * bytes);
    });
    return costs;
}

}  // namespace

bool may_cut_elsewhere(const plan::Plan& plan) {
    return has_one_stage_each(plan) && plan.layout.stages.size() > 1;
}

// Schedules with split backward passes and with several stages per rank are generated for equally many
// micro-batches per replica. Programs from a file fix the ranks themselves.
bool may_take_uneven_turns(const plan::Plan& plan) {
    const schedule::Schedule* const schedule = schedule::find_schedule(plan.schedule);
    const bool is_taker = plan.schedule == schedule::searched_schedule ||
                          (schedule != nullptr && schedule->shape == schedule::ScheduleShape::one_stage_each);
    const auto has_replicas = [](const layout::StageLayout& stage) { return stage.replicas.size() > 1; };
    return is_taker && has_one_stage_each(plan) && std::ranges::any_of(plan.layout.stages, has_replicas);
}

policy::Policy straggler_policy(const setup::Job& job, const setup::PlanState& current,
                                const layout::Layout& healthy, const std::vector<int>& nodes,
                                const layout::Link& link) {
    switch (job.config.policy.straggler) {
        case config::StragglerPolicy::off:
            return trireme::policy::recorded({});
        case config::StragglerPolicy::resize:
            return policy::resized_products(
                {.every = job.config.policy.look_every, .limit = job.config.policy.resize.limit});
        case config::StragglerPolicy::migrate:
        case config::StragglerPolicy::semi:
            return shared_products(sharing_rules(job, current, link));
        case config::StragglerPolicy::uneven:
            return policy::bridged(shared_products(sharing_rules(job, current, link)),
                                   uneven_shares(uneven_rules(job, current, healthy, nodes, link)),
                                   job.config.policy.bridge);
    }
    throw BugError("unknown policy for stragglers");
}

// A slow rank sends dY to its helpers, and they sum up P, in equally many rounds each. The forward pass waits
// for the weights. All other messages overlap with matmuls.
policy::HelpCosts help_costs(const setup::Job& job, const setup::PlanState& current, const layout::Link& link) {
    policy::HelpCosts costs{.work = weights_of_products(job.model), .spread = current.plan.spread};
    const double all = costs.work[0] + costs.work[1] + costs.work[2] + costs.work[3];
    for (double& work : costs.work) work /= all;
    for (const layout::Team& team : current.plan.teams) {
        if (team.ranks.size() == 1) continue;
        const policy::HelpCosts own = messages_of(job, current, team, link);
        for (std::size_t product = 0; product < layout::product_count; ++product) {
            costs.whole_seconds[product] = std::max(costs.whole_seconds[product], own.whole_seconds[product]);
            costs.round_seconds[product] = std::max(costs.round_seconds[product], own.round_seconds[product]);
        }
    }
    return costs;
}

namespace {

bool has_shared_layers(const plan::Plan& plan) {
    return std::ranges::any_of(plan.teams, [](const layout::Team& team) { return team.ranks.size() > 1; });
}

void check_uneven(const config::RunConfig& config, const plan::Plan& plan) {
    check_change(config, plan);
    if (config.policy.bridge > 0 && !has_shared_layers(plan))
        throw ConfigError(
            "--bridge needs ranks that share layers, and here each rank has its own; use --tensor, or remove "
            "it");
    if (has_shared_layers(plan) || may_cut_elsewhere(plan) || may_take_uneven_turns(plan)) return;
    throw ConfigError(cat("--straggler uneven cannot move work here: no two ranks share a layer, ",
                          plan.teams.size() == 1
                              ? "and there is one rank"
                              : cat("and --schedule ", plan.schedule,
                                    " cannot execute other stage boundaries or numbers of micro-batches"),
                          "; use --tensor, --pipe or --data with --schedule 1f1b, or --straggler off"));
}

}  // namespace

// Helpers must know the number of offloaded channels without looking at weights. Gradients that helpers send
// must not be mistaken for fillings of pruned channels.
void check_resized_help(const config::ResizeConfig& resize) {
    if (resize.fill != model::Filling::zero)
        throw ConfigError("ranks with helpers replace pruned channels by zeros only; use --resize-fill zero");
    if (resize.by_variation)
        throw ConfigError(
            "ranks with helpers prune the same fraction of each layer; use --resize-layers alike");
}

void check_straggler(const config::RunConfig& config, const plan::Plan& plan) {
    const config::PolicyConfig& policy = config.policy;
    if (policy.straggler == config::StragglerPolicy::off) return;
    if (policy.straggler == config::StragglerPolicy::uneven) return check_uneven(config, plan);
    if (!has_shared_layers(plan)) {
        throw ConfigError(
            "this --straggler policy needs ranks that share layers, and here each rank has its own; use "
            "--tensor, "
            "or --straggler uneven, which also moves layers and micro-batches");
    }
    if (policy.straggler == config::StragglerPolicy::migrate) return;
    if (policy.straggler == config::StragglerPolicy::semi) check_resized_help(policy.resize);
    const auto has_replicas = [](const layout::StageLayout& stage) { return stage.replicas.size() > 1; };
    if (!policy.resize.decays_all && std::ranges::any_of(plan.layout.stages, has_replicas)) {
        throw ConfigError(
            "with --resize-decay kept replicas would diverge, because each prunes other channels; use "
            "--resize-decay all, or --data 1");
    }
}

}  // namespace trireme::adapt

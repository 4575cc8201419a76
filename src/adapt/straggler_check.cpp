#include "trireme/adapt/straggler_check.hpp"

#include <algorithm>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

bool has_shared_layers(const Plan& plan) {
    return std::ranges::any_of(plan.teams, [](const Team& team) { return team.ranks.size() > 1; });
}

void check_uneven(const RunConfig& config, const Plan& plan) {
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

void check_resized_help(const ResizeConfig& resize) {
    if (resize.fill != Filling::zero)
        throw ConfigError("ranks with helpers replace pruned channels by zeros only; use --resize-fill zero");
    if (resize.by_variation)
        throw ConfigError(
            "ranks with helpers prune the same fraction of each layer; use --resize-layers alike");
}

void check_straggler(const RunConfig& config, const Plan& plan) {
    const PolicyConfig& policy = config.policy;
    if (policy.straggler == StragglerPolicy::off) return;
    if (policy.straggler == StragglerPolicy::uneven) return check_uneven(config, plan);
    if (!has_shared_layers(plan)) {
        throw ConfigError(
            "this --straggler policy needs ranks that share layers, and here each rank has its own; use "
            "--tensor, "
            "or --straggler uneven, which also moves layers and micro-batches");
    }
    if (policy.straggler == StragglerPolicy::migrate) return;
    if (policy.straggler == StragglerPolicy::semi) check_resized_help(policy.resize);
    const auto has_replicas = [](const StageLayout& stage) { return stage.replicas.size() > 1; };
    if (!policy.resize.decays_all && std::ranges::any_of(plan.layout.stages, has_replicas)) {
        throw ConfigError(
            "with --resize-decay kept replicas would diverge, because each prunes other channels; use "
            "--resize-decay all, or --data 1");
    }
}

}  // namespace trireme

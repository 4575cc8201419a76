#include "train/straggler_check.hpp"

#include <algorithm>

#include "train/decided_plan.hpp"
#include "train/straggler_policy.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

// What nobody would notice that it does nothing.
void refuse_without_effect(const PolicyConfig& policy) {
    const PolicyConfig usual;
    if (policy.straggler != StragglerPolicy::uneven && policy.bridge > 0)
        throw ConfigError(
            "--bridge is until shares move, and none do; use --straggler uneven, or leave it out");
    if (policy.straggler != StragglerPolicy::semi && policy.semi_slack != usual.semi_slack)
        throw ConfigError(
            "--semi-slack weighs what is left out against help; use --straggler semi, or leave it out");
    const bool may_help = weighs_messages(policy) || !policy.decisions.empty();
    if (policy.spread != usual.spread && !may_help)
        throw ConfigError(
            "--migrate-by is for ranks that compute for others, and none do; use --straggler migrate, semi, or "
            "uneven with --bridge, or leave it out");
}

}  // namespace

void check_resized_help(const ResizeConfig& resize) {
    if (resize.fill != Filling::zero)
        throw ConfigError(
            "ranks that others help, and that leave out something, fill in nothing for it; use --resize-fill "
            "zero");
    if (resize.by_variation)
        throw ConfigError(
            "ranks that others help, and that leave out something, leave out as much of each layer; use "
            "--resize-layers alike");
}

void check_straggler(const RunConfig& config, const Setup& setup) {
    const PolicyConfig& policy = config.policy;
    refuse_without_effect(policy);
    if (policy.straggler == StragglerPolicy::off) return;
    const Plan& plan = setup.plan;
    const auto is_shared = [](const Team& team) { return team.ranks.size() > 1; };
    if (std::ranges::none_of(plan.teams, is_shared)) {
        throw ConfigError(
            "--straggler is for ranks that share their layers, and here each has its own; use --tensor, or "
            "--straggler "
            "off");
    }
    if (policy.straggler == StragglerPolicy::uneven) return check_change(config, plan);
    if (policy.straggler == StragglerPolicy::migrate) return;
    if (policy.straggler == StragglerPolicy::semi) check_resized_help(policy.resize);
    const auto has_replicas = [](const StageLayout& stage) { return stage.replicas.size() > 1; };
    if (!policy.resize.decays_all && std::ranges::any_of(plan.layout.stages, has_replicas)) {
        throw ConfigError(
            "--resize-decay kept would let replicas part, each of which leaves out channels of its own; use "
            "--resize-decay all, or --data 1");
    }
}

}  // namespace trireme

#include "trireme/setup/ghosts.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

void refuse_option(bool is_given, const std::string& option) {
    if (!is_given) return;
    throw ConfigError(
        cat(option, " does not work with --math off, which computes no values; remove it, or use --math on"));
}

void check_ghost_run_options(const config::RunConfig& config) {
    if (!device::time_is_simulated()) {
        throw ConfigError(
            "--device ghost computes no values and works only in simulated time; use `trireme simulate --math "
            "off`");
    }
    if (config.costs.cluster.empty())
        throw ConfigError(
            "a run without arithmetic needs the description of a cluster; set --cluster FILE.json");
    if (config.run.steps == 0 && config.data.corpus.empty())
        throw ConfigError("without --corpus, the number of steps is unknown; set --steps N");
    refuse_option(config.run.resume != "off", cat("--resume ", config.run.resume));
    refuse_option(config.run.eval_every > 0, "--eval-every");
    refuse_option(config.run.checkpoint_every > 0, "--checkpoint-every");
    refuse_option(config.policy.move != config::MoveMethod::stop, "--move");
    if (uses_cache(config.policy) && config.costs.charging == config::Charging::passes)
        throw ConfigError(
            "--cache cannot be combined with --charge passes, because equal passes read different samples; use "
            "--charge kernels");
    if (!may_freeze(config.policy)) return;
    const config::FreezeConfig& freeze = config.policy.freeze;
    refuse_option(freeze.rule == config::FreezeRule::gradient, "--freeze gradient");
    refuse_option(freeze.thaws, "--freeze-thaw loss");
    if (freeze.every == 0 && config.data.corpus.empty())
        throw ConfigError("without --corpus, an epoch has no length; set --freeze-every K");
}

}  // namespace

bool is_ghost_run(const config::RunConfig& config) {
    return config.precision.device == config::DeviceKind::ghost;
}

bool charges_passes(const config::RunConfig& config, int ranks) {
    if (uses_cache(config.policy)) return false;
    if (config.costs.charging != config::Charging::automatic)
        return config.costs.charging == config::Charging::passes;
    return ranks > max_ranks_charging_kernels;
}

layout::BucketRules make_ghost_bucket_rules(int ranks) {
    layout::BucketRules rules;
    constexpr std::size_t scale = 16;
    if (ranks > max_ranks_charging_kernels)
        rules = {.large_piece_elements = rules.large_piece_elements * scale,
                 .max_bucket_elements = rules.max_bucket_elements * scale};
    return rules;
}

void check_ghost_plan(const config::RunConfig& config, const plan::Plan& plan) {
    const auto has_several_ranks = [](const layout::Team& team) { return team.ranks.size() > 1; };
    if (is_ghost_run(config) && uses_cache(config.policy) && std::ranges::any_of(plan.teams, has_several_ranks))
        throw ConfigError(
            "--cache cannot be combined with --math off and tensor parallelism, because the ranks of a tensor "
            "group "
            "exchange what is cached; simulate with --math on");
}

void check_ghosts(const config::RunConfig& config) {
    if (is_ghost_run(config)) return check_ghost_run_options(config);
    if (!config.emulation.slow.empty() && config.precision.device == config::DeviceKind::cuda) {
        throw ConfigError(
            "--slow works on CPUs and simulated devices, not on GPUs; remove it, or use --device cpu");
    }
    if (config.precision.dtype == config::Precision::bf16 &&
        config.precision.device != config::DeviceKind::cuda) {
        throw ConfigError(
            "--dtype bf16 needs GPUs (--device cuda) or a run without arithmetic (`trireme simulate --math "
            "off`); use --dtype f32");
    }
}

void reject_ghost_run(const config::RunConfig& config, const std::string& purpose) {
    if (is_ghost_run(config))
        throw ConfigError(
            cat("--device ghost computes no values, but ", purpose, " needs them; use --device cpu"));
    check_ghosts(config);
}

}  // namespace trireme::setup

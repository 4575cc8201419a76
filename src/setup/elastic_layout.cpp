#include "trireme/setup/elastic_layout.hpp"

#include <algorithm>
#include <map>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/model/model.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/model_work.hpp"

namespace trireme::setup {
namespace {

bool have_teams_equal_parts(const layout::Layout& layout) {
    const std::vector<std::size_t>& shares = layout.stages.front().replicas.front().shares;
    const auto is_even = [&](const layout::ReplicaLayout& replica) {
        return replica.shares == shares && std::ranges::count(shares, shares.front()) == std::ssize(shares);
    };
    return std::ranges::all_of(layout.stages, [&](const layout::StageLayout& stage) {
        return std::ranges::all_of(stage.replicas, is_even);
    });
}

bool have_teams_equal_sizes(const plan::Plan& plan) {
    return std::ranges::all_of(plan.teams, [&](const layout::Team& team) {
        return team.ranks.size() == plan.teams.front().ranks.size();
    });
}

std::string explain_fixed_schedule(const plan::Plan& plan) {
    const schedule::Schedule* const schedule = schedule::find_schedule(plan.schedule);
    if (schedule == nullptr) return cat("the programs of schedule ", plan.schedule, " fit only one layout");
    if (!plan.training.are_steps_independent())
        return cat("schedule ", plan.schedule, " keeps micro-batches in flight between steps");
    if (schedule->shape != schedule::ScheduleShape::one_stage_per_team)
        return cat("schedule ", plan.schedule, " puts several stages on each rank");
    return "";
}

std::string find_reason(const config::RunConfig& config, const plan::Plan& plan) {
    if (!config.policy.decisions.empty()) return "--decisions replays the changes of plan";
    if (std::string reason = explain_fixed_schedule(plan); !reason.empty()) return reason;
    if (plan.teams.size() == 1) return "all ranks share all layers";
    if (config.layout.recompute.size() > 1) return "--recompute has one value per stage";
    if (!plan.layout.idle.empty() && !may_plan_depth(config.policy)) return "the layout has idle ranks";
    if (!have_teams_equal_sizes(plan)) return "its tensor groups have unequal sizes";
    const bool may_have_unequal_parts = config.policy.straggler == config::StragglerPolicy::uneven;
    if (!may_have_unequal_parts && !have_teams_equal_parts(plan.layout))
        return "the ranks of the layout have unequal shares";
    return "";
}

}  // namespace

std::string explain_fixed_layout(const config::RunConfig& config, const plan::Plan& plan) {
    if (!may_use(config.policy, config::ElasticMeans::layout)) return "--elastic-means does not name it";
    std::string reason = find_reason(config, plan);
    const bool is_demanded = !config.policy.elastic_means.empty();
    if (is_demanded && !reason.empty())
        throw ConfigError(cat("--elastic-means layout cannot change the layout, because ", reason));
    if (reason.empty() && config.policy.look_ahead == 0) return "all steps have the layout of the options";
    return reason;
}

bool follows_lengths(const Job& job, const plan::Plan& plan) {
    return !job.memory_limits.empty() && explain_fixed_layout(job.config, plan).empty();
}

bool plans_depth(const config::RunConfig& config, const layout::Layout& origin) {
    return may_plan_depth(config.policy) && make_teams(origin).size() > 1;
}

void check_auto_pipe(const config::RunConfig& config, const plan::Plan& plan) {
    if (!may_follow_depth(config.policy)) return;
    const bool is_published = config.policy.freeze.auto_pipe == config::AutoPipe::published;
    const std::string name = is_published ? "--auto-pipe published" : "--auto-pipe on";
    if (is_published && (!config.layout.layout.empty() || config.layout.pipe == 1))
        throw ConfigError(cat(name, " shortens the pipelines of a grid; set their length with --pipe P"));
    if (is_published && may_follow_lengths(config.policy))
        throw ConfigError(
            "--auto-pipe published cannot be combined with --elastic length or both, because its layouts do "
            "not depend on lengths; use --auto-pipe on");
    if (is_published && config.policy.straggler == config::StragglerPolicy::uneven)
        throw ConfigError(
            "--auto-pipe published cannot be combined with --straggler uneven, because its layouts do not "
            "depend on slow ranks; use --auto-pipe on");
    if (is_published && config.layout.tensor > 1)
        throw ConfigError(cat(name, " cannot be combined with --tensor ", config.layout.tensor,
                              ", because it has no rule for tensor groups; use --auto-pipe on, or --tensor 1"));
    if (const std::string reason = explain_fixed_schedule(plan); !reason.empty())
        throw ConfigError(cat(name, " cannot change the layout, because ", reason,
                              "; use --schedule 1f1b, or --auto-pipe off"));
    if (!is_published && !have_teams_equal_sizes(plan))
        throw ConfigError(cat(name,
                              " cannot change the layout, because its tensor groups have unequal sizes; "
                              "use groups of equal size, or --auto-pipe off"));
    if (config.layout.recompute.size() > 1)
        throw ConfigError(cat(name,
                              " changes the number of stages, but --recompute has one value per stage; "
                              "give one value for all stages"));
    if (config.policy.bridge > 0 && !is_published)
        throw ConfigError(cat(name, " cannot be combined with --bridge; remove one of them"));
}

void check_change_times(const Job& job, const plan::Plan& plan, int ranks) {
    const bool is_predicted = job.config.policy.change_times == config::ChangeTimes::predicted;
    const bool predicts = follows_lengths(job, plan) || may_plan_depth(job.config.policy);
    if (!is_predicted || job.devices || !predicts) return;
    if (!job.profiles)
        throw ConfigError(
            "--change-times predicted takes the seconds of changes from the links of a profile or a cluster, "
            "but neither --profile nor --cluster is set; set one of them, or use --change-times measured");
    if (make_profiled_machine(job.profiles, ranks).find_link(0, ranks - 1, 1).bandwidth > 0) return;
    throw ConfigError(
        "--change-times predicted takes the seconds of changes from the links of --profile, but the profile "
        "has "
        "no link between all ranks; measure it with several ranks, or use --change-times measured");
}

bool may_lack_memory(const Job& job, const plan::Plan& plan) {
    const bool replays_changes = !job.memory_limits.empty() && !job.config.policy.decisions.empty();
    return replays_changes || follows_lengths(job, plan);
}

LayerTimes::LayerTimes(const Job& job, const plan::Plan& plan, int frozen)
    : works_(job.model), kernel_seconds_(adapt_kernel_seconds(make_relative_kernel_seconds(job, 0))) {
    const model::TensorPart part{.rank = 0,
                                 .shares = std::vector<std::size_t>(plan.teams.front().ranks.size(), 1)};
    const std::size_t layers = list_kinds(job.model).size();
    const auto recompute = *std::ranges::min_element(plan.recompute);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        work_.push_back(&works_.find({.layers = {layer, 1},
                                      .part = part,
                                      .recompute = recompute,
                                      .first_trained_layer = plan::find_first_trained_layer(frozen)},
                                     {.dtype = job.dtype, .cuts_rows = plan.cuts_rows}));
    }
}

std::vector<double> LayerTimes::predict_seconds(const plan::MicrobatchShape& shape) const {
    std::map<const plan::StageWork*, double> known;  // equal layers share their work
    std::vector<double> seconds;
    for (const plan::StageWork* const work : work_) {
        const auto [entry, is_new] = known.try_emplace(work);
        if (is_new) {
            const plan::TrainingCosts costs = work->predict_costs(shape, kernel_seconds_);
            entry->second = 1e-12 * static_cast<double>(costs.forward.kernel_picoseconds() +
                                                        costs.backward.kernel_picoseconds());
        }
        seconds.push_back(entry->second);
    }
    return seconds;
}

}  // namespace trireme::setup

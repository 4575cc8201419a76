#include "trireme/setup/measured_layout.hpp"

#include <algorithm>
#include <set>

#include "setup/costs/read_profiles.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/balanced_cut.hpp"
#include "trireme/layout/pipedream.hpp"
#include "trireme/model/model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/plan/measured_costs.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/row_buffers.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

constexpr std::size_t most_microbatches = std::size_t{1} << 24;  // make_plan() rejects more

constexpr const char* measure_again =
    "; measure this one with `trireme profile` and the same options of the model";

std::size_t bytes_of_parameters(const model::Layer& layer, std::size_t number) {
    std::size_t bytes = 0;
    for (const model::ParameterSpec& spec : parameters_of(layer)) bytes += spec.size() * number;
    return bytes;
}

void check_layers(const plan::Profile& profile, const std::string& path, const config::RunConfig& config,
                  const model::ModelConfig& model) {
    const std::vector<model::Layer> layers = build_layers(model);
    if (profile.layers.size() != layers.size()) {
        throw ConfigError(cat("--profile ", path, " is of a model of ", profile.layers.size(), " layers, ",
                              profile.model, ", and ", model.name, " has ", layers.size(),
                              " (halves of blocks count one each)", measure_again));
    }
    const std::size_t number = bytes_of(dtype_of(config.precision.dtype));
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const plan::LayerProfile& known = profile.layers[l];
        const std::size_t parameters = bytes_of_parameters(layers[l], number);
        if (known.name == kind_of(layers[l]) && known.parameters == parameters) continue;
        throw ConfigError(cat("--profile ", path, " is of another model, ", profile.model, ": its layer ", l,
                              " is ", known.name, " with ", with_commas(known.parameters),
                              " bytes of parameters, that of ", model.name, " ", kind_of(layers[l]), " with ",
                              with_commas(parameters), measure_again));
    }
}

// Returns the slowest link between the replicas of two stages for messages of the size of a micro-batch's rows.
layout::Link slowest_link(const plan::RankProfiles& profiles, const layout::StageLayout& from,
                          const layout::StageLayout& to) {
    const auto bytes = static_cast<double>(profiles.kinds.front().layers.front().rows);
    layout::Link slowest;
    for (std::size_t r = 0; r < from.replicas.size(); ++r) {
        const layout::Link link =
            profiles.link(from.replicas[r].ranks.front(), to.replicas[r].ranks.front(), bytes);
        if (link.seconds(bytes) > slowest.seconds(bytes)) slowest = link;
    }
    return slowest;
}

// Returns the kinds of devices of a stage's ranks.
std::vector<std::size_t> kinds_of(const plan::RankProfiles& profiles, const layout::StageLayout& stage) {
    std::set<std::size_t> kinds;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        for (const int rank : replica.ranks) kinds.insert(profiles.kind_of(rank));
    }
    return {kinds.begin(), kinds.end()};
}

// Raises the needs of a stage to those of the programs of all teams that hold it.
void take_most(const plan::ProvedPrograms& proved, std::size_t stage, std::size_t chunks,
               layout::StagePlace& place) {
    for (const int team : proved.shape.holders[stage]) {
        const auto t = static_cast<std::size_t>(team);
        const std::size_t buffers = most_row_buffers(proved.long_program(team), team, proved.shape);
        place.row_buffers = std::max(place.row_buffers, (buffers + chunks - 1) / chunks);
        place.in_flight =
            std::max(place.in_flight, static_cast<std::size_t>(proved.proof.peak_of_stage[t][stage]));
    }
}

// In an evaluation outputs that are being sent are kept besides those that are computed.
layout::StagePlace stage_place(const plan::RankProfiles& profiles, const plan::Plan& trial, std::size_t stage,
                               std::size_t chunks) {
    const std::vector<layout::StageLayout>& stages = trial.layout.stages;
    layout::StagePlace place{.in_flight = 1 + static_cast<std::size_t>(trial.evaluation.shape.slots),
                             .recomputes = trial.recompute[stage] == plan::Recompute::full,
                             .kinds = kinds_of(profiles, stages[stage])};
    if (stage + 1 < stages.size()) {
        place.onward = slowest_link(profiles, stages[stage], stages[stage + 1]);
    }
    take_most(trial.training, stage, chunks, place);
    take_most(trial.evaluation, stage, chunks, place);
    return place;
}

// PipeDream's planner only chooses how many ranks hold a stage, so all ranks must have equal devices.
void check_ranks_are_alike(const plan::RankProfiles& profiles, const config::RunConfig& config, int ranks) {
    const std::vector<std::string> paths = profile_paths(config.costs.profiles);
    for (int rank = 1; rank < ranks; ++rank) {
        if (profiles.kind_of(rank) == profiles.kind_of(0)) continue;
        throw ConfigError(
            cat("--partition pipedream shares layers among ranks that are alike, but --profile has ",
                paths[profiles.kind_of(0)], " for rank 0 and ", paths[profiles.kind_of(rank)], " for rank ",
                rank, "; use --partition measured, or one profile for all"));
    }
}

// False for files of programs, which are read only after the layout is known.
bool keeps_weight_versions(const std::string& schedule) {
    const schedule::Schedule* const known = schedule::find_schedule(schedule);
    return known != nullptr && known->keeps_old_weights;
}

}  // namespace

bool is_measured(const config::LayoutConfig& layout) {
    return layout.layout.empty() && layout.partition == "measured";
}
bool is_pipedream(const config::LayoutConfig& layout) {
    return layout.layout.empty() && layout.partition == "pipedream";
}

plan::RankProfiles profiles_for(const config::RunConfig& config, const model::ModelConfig& model) {
    const std::vector<std::string> paths = profile_paths(config.costs.profiles);
    if (paths.empty()) {
        throw ConfigError(
            cat("--partition ", config.layout.partition,
                " needs the measured cost of each layer; measure it with `trireme profile --model ", model.name,
                " --output profile.json`, and pass --profile profile.json"));
    }
    plan::RankProfiles profiles = read_profiles(config);
    for (std::size_t kind = 0; kind < paths.size(); ++kind)
        check_layers(profiles.kinds[kind], paths[kind], config, model);
    return profiles;
}

std::vector<std::size_t> measured_cuts(const config::RunConfig& config, const model::ModelConfig& model,
                                       const layout::Grid& grid, const plan::Plan& trial) {
    const plan::RankProfiles profiles = profiles_for(config, model);
    const auto chunks = static_cast<std::size_t>(grid.chunks);
    const device::DType dtype = dtype_of(config.precision.dtype);
    const bool has_backup = trial.training.shape.validates;
    const int updaters = config.layout.shard_optimizer ? grid.data : 1;
    layout::BalanceRules rules{.stages = {},
                               .microbatches = config.schedule.microbatches,
                               .memory_limit = config.layout.memory_limit / chunks};
    for (std::size_t s = 0; s < trial.layout.stages.size(); ++s) {
        rules.stages.push_back(stage_place(profiles, trial, s, chunks));
    }
    std::vector<std::vector<layout::LayerLoad>> loads;
    for (const plan::Profile& profile : profiles.kinds) {
        loads.push_back(layer_loads(profile, {.numbers = numbers_kept(config.optimizer, dtype, has_backup),
                                              .updaters = static_cast<std::size_t>(updaters),
                                              .sharers = static_cast<std::size_t>(grid.tensor)}));
    }
    return balanced_cuts(loads, rules);
}

layout::Layout pipedream_layout(const config::RunConfig& config, const model::ModelConfig& model, int ranks) {
    const plan::RankProfiles profiles = profiles_for(config, model);
    check_ranks_are_alike(profiles, config, ranks);
    const plan::Profile& profile = profiles.of(0);
    std::vector<layout::LayerLoad> loads = layer_loads(profile, {.numbers = moments_of(config.optimizer)});
    if (config.layout.recompute == std::vector{plan::Recompute::full}) {
        for (layout::LayerLoad& load : loads) load = recomputed(load);
    }
    const auto microbatches = std::min(config.schedule.microbatches, most_microbatches);
    return share_layers(loads, {.ranks = ranks,
                                .links = profile.links,
                                .microbatches = static_cast<int>(microbatches),
                                .memory_limit = config.layout.memory_limit,
                                .stashes_weights = keeps_weight_versions(config.schedule.schedule)})
        .layout;
}

}  // namespace trireme::setup

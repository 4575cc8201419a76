#include "trireme/setup/measured_layout.hpp"

#include <algorithm>
#include <set>

#include "setup/costs/read_profiles.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/balanced_cut.hpp"
#include "trireme/layout/pipedream.hpp"
#include "trireme/model/model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/schedule/step_buffers.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

constexpr std::size_t max_microbatches = std::size_t{1} << 24;  // make_plan() rejects more

constexpr const char* measuring_advice =
    "; measure this model with `trireme profile` and the same model options";

std::size_t count_parameter_bytes(const model::Layer& layer, std::size_t bytes_per_value) {
    std::size_t bytes = 0;
    for (const model::ParameterSpec& spec : list_parameters(layer)) bytes += spec.size() * bytes_per_value;
    return bytes;
}

void check_layers(const plan::Profile& profile, const std::string& path, const config::RunConfig& config,
                  const model::ModelConfig& model) {
    const std::vector<model::Layer> layers = build_layers(model);
    if (profile.layers.size() != layers.size()) {
        throw ConfigError(cat("--profile ", path, " is of a model of ", profile.layers.size(), " layers, ",
                              profile.model, ", but ", model.name, " has ", layers.size(),
                              " (each half of a block is one layer)", measuring_advice));
    }
    const std::size_t bytes_per_value = byte_size(to_dtype(config.precision.dtype));
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const plan::LayerProfile& layer_profile = profile.layers[l];
        const std::size_t parameter_bytes = count_parameter_bytes(layers[l], bytes_per_value);
        if (layer_profile.name == find_kind(layers[l]) && layer_profile.parameters == parameter_bytes) continue;
        throw ConfigError(cat("--profile ", path, " is of another model, ", profile.model, ": its layer ", l,
                              " is ", layer_profile.name, " with ",
                              format_with_commas(layer_profile.parameters), " bytes of parameters, but layer ",
                              l, " of ", model.name, " is ", find_kind(layers[l]), " with ",
                              format_with_commas(parameter_bytes), " bytes", measuring_advice));
    }
}

// Returns the slowest of the links between replica r of `from` and replica r of `to`, over all r, for a message
// with the rows of a micro-batch.
layout::Link find_slowest_link(const plan::RankProfiles& profiles, const layout::StageLayout& from,
                               const layout::StageLayout& to) {
    const auto bytes = static_cast<double>(profiles.kinds.front().layers.front().rows);
    layout::Link slowest;
    for (std::size_t r = 0; r < from.replicas.size(); ++r) {
        const layout::Link link =
            profiles.find_slower_link(from.replicas[r].ranks.front(), to.replicas[r].ranks.front(), bytes);
        if (link.predict_seconds(bytes) > slowest.predict_seconds(bytes)) slowest = link;
    }
    return slowest;
}

// Returns the device kinds of a stage's ranks, as ascending indices into profiles.kinds.
std::vector<std::size_t> list_kinds(const plan::RankProfiles& profiles, const layout::StageLayout& stage) {
    std::set<std::size_t> kinds;
    for (const layout::ReplicaLayout& replica : stage.replicas) {
        for (const int rank : replica.ranks) kinds.insert(profiles.find_kind(rank));
    }
    return {kinds.begin(), kinds.end()};
}

// Raises the numbers of row buffers and in-flight micro-batches in `position`, which describes `stage`, to the
// numbers that the programs of the stage's teams need. A team's row buffers are divided among its `chunks`
// stages.
void raise_to_program_needs(const plan::ProvedPrograms& proved, std::size_t stage, std::size_t chunks,
                            layout::StageProperties& position) {
    for (const int team : proved.shape.holders[stage]) {
        const auto t = static_cast<std::size_t>(team);
        const std::size_t buffers = count_buffers_in_use(
            list_buffer_uses(proved.unroll_program(team), team, proved.shape), schedule::BufferKind::rows);
        position.row_buffers = std::max(position.row_buffers, (buffers + chunks - 1) / chunks);
        position.in_flight = std::max(
            position.in_flight, static_cast<std::size_t>(proved.proof.peak_activations_of_stage[t][stage]));
    }
}

// Returns the properties that determine the costs of a stage, in addition to its layers. In an evaluation, a
// stage keeps the micro-batch that it computes and, per slot, at most one micro-batch whose output is being
// sent.
layout::StageProperties make_stage_position(const plan::RankProfiles& profiles, const plan::Plan& trial,
                                            std::size_t stage, std::size_t chunks) {
    const std::vector<layout::StageLayout>& stages = trial.layout.stages;
    layout::StageProperties position{.in_flight = 1 + static_cast<std::size_t>(trial.evaluation.shape.slots),
                                     .recomputes = trial.recompute[stage] == plan::Recompute::full,
                                     .kinds = list_kinds(profiles, stages[stage])};
    if (stage + 1 < stages.size()) {
        position.link_to_next = find_slowest_link(profiles, stages[stage], stages[stage + 1]);
    }
    raise_to_program_needs(trial.training, stage, chunks, position);
    raise_to_program_needs(trial.evaluation, stage, chunks, position);
    return position;
}

// Throws ConfigError if the ranks have different device kinds: PipeDream's planner chooses how many ranks hold
// a stage, not which ranks.
void check_devices_are_equal(const plan::RankProfiles& profiles, const config::RunConfig& config, int ranks) {
    const std::vector<std::string> paths = list_profile_paths(config.costs.profiles);
    for (int rank = 1; rank < ranks; ++rank) {
        if (profiles.find_kind(rank) == profiles.find_kind(0)) continue;
        throw ConfigError(cat("--partition pipedream needs equal devices, but --profile names ",
                              paths[profiles.find_kind(0)], " for rank 0 and ", paths[profiles.find_kind(rank)],
                              " for rank ", rank, "; use --partition measured, or one profile for all ranks"));
    }
}

// True if `schedule` is the name of a schedule that keeps old weight versions. False for the name of a file:
// the programs in a file are read only after the layout is known.
bool schedule_stashes_weights(const std::string& schedule) {
    const schedule::Schedule* const found = schedule::find_schedule(schedule);
    return found != nullptr && found->stashes_weights;
}

}  // namespace

bool uses_measured_partition(const config::LayoutConfig& layout) {
    return layout.layout.empty() && layout.partition == "measured";
}
bool uses_pipedream_partition(const config::LayoutConfig& layout) {
    return layout.layout.empty() && layout.partition == "pipedream";
}

plan::RankProfiles read_fitting_profiles(const config::RunConfig& config, const model::ModelConfig& model) {
    const std::vector<std::string> paths = list_profile_paths(config.costs.profiles);
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

std::vector<layout::LayerLoad> compute_layer_loads(const plan::Profile& profile,
                                                   const OptimizerSharding& sharding) {
    std::vector<layout::LayerLoad> loads;
    for (const plan::LayerProfile& layer : profile.layers) {
        const auto tensor_ranks = static_cast<double>(sharding.tensor_ranks);
        const std::size_t parameter_bytes = layer.parameters / sharding.tensor_ranks;
        loads.push_back(
            {.seconds = (layer.forward + layer.backward) / tensor_ranks,
             .forward_seconds = layer.forward / tensor_ranks,
             .update_seconds = layer.update / tensor_ranks / static_cast<double>(sharding.updating_replicas),
             .row_bytes = layer.rows,
             .parameter_bytes = parameter_bytes,
             .activation_bytes = layer.activation,
             // Weights, gradients, and optimizer state.
             .state_bytes =
                 2 * parameter_bytes + sharding.state_values * parameter_bytes / sharding.updating_replicas,
             .workspace_bytes = layer.workspace});
    }
    return loads;
}

std::vector<std::size_t> find_measured_cuts(const config::RunConfig& config, const model::ModelConfig& model,
                                            const layout::Grid& grid, const plan::Plan& trial) {
    const plan::RankProfiles profiles = read_fitting_profiles(config, model);
    const auto chunks = static_cast<std::size_t>(grid.chunks);
    const device::DType dtype = to_dtype(config.precision.dtype);
    const bool has_backup = trial.training.shape.has_speculative_updates;
    const int updating_replicas = config.layout.shard_optimizer ? grid.data : 1;
    layout::BalanceRules rules{.stages = {},
                               .microbatches = config.schedule.microbatches,
                               .memory_limit = config.layout.memory_limit / chunks};
    for (std::size_t s = 0; s < trial.layout.stages.size(); ++s) {
        rules.stages.push_back(make_stage_position(profiles, trial, s, chunks));
    }
    std::vector<std::vector<layout::LayerLoad>> loads;
    for (const plan::Profile& profile : profiles.kinds) {
        loads.push_back(compute_layer_loads(
            profile, {.state_values = count_stored_values(config.optimizer, dtype, has_backup),
                      .updating_replicas = static_cast<std::size_t>(updating_replicas),
                      .tensor_ranks = static_cast<std::size_t>(grid.tensor)}));
    }
    return find_balanced_cuts(loads, rules);
}

layout::Layout make_pipedream_layout(const config::RunConfig& config, const model::ModelConfig& model,
                                     int ranks) {
    const plan::RankProfiles profiles = read_fitting_profiles(config, model);
    check_devices_are_equal(profiles, config, ranks);
    const plan::Profile& profile = profiles.find_profile(0);
    std::vector<layout::LayerLoad> loads =
        compute_layer_loads(profile, {.state_values = count_moments(config.optimizer)});
    if (config.layout.recompute == std::vector{plan::Recompute::full}) {
        for (layout::LayerLoad& load : loads) load = add_full_recomputation(load);
    }
    const auto microbatches = std::min(config.schedule.microbatches, max_microbatches);
    return plan_pipedream_layout(loads, {.ranks = ranks,
                                         .links = profile.links,
                                         .microbatches = static_cast<int>(microbatches),
                                         .memory_limit = config.layout.memory_limit,
                                         .stashes_weights = schedule_stashes_weights(config.schedule.schedule)})
        .layout;
}

}  // namespace trireme::setup

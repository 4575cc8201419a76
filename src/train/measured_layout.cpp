#include "train/measured_layout.hpp"

#include <algorithm>

#include "train/number_text.hpp"
#include "train/setup.hpp"
#include "train/text_file.hpp"
#include "trireme/layout/balanced_cut.hpp"
#include "trireme/layout/pipedream.hpp"
#include "trireme/model/model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/plan/measured_costs.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/row_buffers.hpp"
#include "trireme/schedule/search.hpp"

namespace trireme {
namespace {

constexpr std::size_t most_micro_batches = std::size_t{1} << 24;  // more are refused: see make_plan()

constexpr const char* measure_again =
    "; measure this one with `trireme profile` and the same options of the model";

std::size_t bytes_of_parameters(const Layer& layer, std::size_t number) {
    std::size_t bytes = 0;
    for (const ParameterSpec& spec : parameters_of(layer)) bytes += spec.size() * number;
    return bytes;
}

void check_layers(const Profile& profile, const RunConfig& config, const ModelConfig& model) {
    const std::vector<Layer> layers = build_layers(model);
    if (profile.layers.size() != layers.size()) {
        throw ConfigError(cat("--profile ", config.costs.profile, " is of a model of ", profile.layers.size(),
                              " layers, ", profile.model, ", and ", model.name, " has ", layers.size(),
                              " (halves of blocks count one each)", measure_again));
    }
    const std::size_t number = bytes_of(dtype_of(config.precision.dtype));
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const LayerProfile& known = profile.layers[l];
        const std::size_t parameters = bytes_of_parameters(layers[l], number);
        if (known.name == kind_of(layers[l]) && known.parameters == parameters) continue;
        throw ConfigError(cat("--profile ", config.costs.profile, " is of another model, ", profile.model,
                              ": its layer ", l, " is ", known.name, " with ", grouped(known.parameters),
                              " bytes of parameters, that of ", model.name, " ", kind_of(layers[l]), " with ",
                              grouped(parameters), measure_again));
    }
}

// Of those between the replicas of two stages, the slowest for rows of that many bytes.
Link slowest_link(const Profile& profile, const StageLayout& from, const StageLayout& to, std::size_t bytes) {
    const auto seconds = [&](const Link& link) { return link.seconds(static_cast<double>(bytes)); };
    Link slowest;
    for (std::size_t r = 0; r < from.replicas.size(); ++r) {
        const Link link =
            link_between(profile.links, from.replicas[r].ranks.front(), to.replicas[r].ranks.front());
        if (seconds(link) > seconds(slowest)) slowest = link;
    }
    return slowest;
}

// What programs say of a stage, over all teams that hold it.
void take_most(const ProvedPrograms& proved, std::size_t stage, std::size_t chunks, StagePlace& place) {
    for (const int team : proved.shape.holders[stage]) {
        const auto t = static_cast<std::size_t>(team);
        const std::size_t buffers = most_row_buffers(proved.long_program(team), team, proved.shape);
        place.row_buffers = std::max(place.row_buffers, (buffers + chunks - 1) / chunks);
        place.in_flight =
            std::max(place.in_flight, static_cast<std::size_t>(proved.proof.peak_of_stage[t][stage]));
    }
}

// An evaluation keeps what is being sent beside what it computes.
StagePlace place_of(const Profile& profile, const Plan& trial, std::size_t stage, std::size_t chunks) {
    const std::vector<StageLayout>& stages = trial.layout.stages;
    StagePlace place{.in_flight = 1 + static_cast<std::size_t>(trial.evaluation.shape.slots),
                     .recomputes = trial.recompute[stage] == Recompute::full};
    if (stage + 1 < stages.size()) {
        place.onward = slowest_link(profile, stages[stage], stages[stage + 1], profile.layers.front().rows);
    }
    take_most(trial.training, stage, chunks, place);
    take_most(trial.evaluation, stage, chunks, place);
    return place;
}

// A file of programs is not read before there is a layout for it.
bool keeps_weight_versions(const std::string& schedule) {
    const std::vector<std::string> known = known_schedules();
    const bool is_known = schedule != searched_schedule && std::ranges::find(known, schedule) != known.end();
    return is_known && uses_older_weights(schedule_named(schedule));
}

}  // namespace

bool is_measured(const LayoutConfig& layout) { return layout.layout.empty() && layout.partition == "measured"; }
bool is_pipedream(const LayoutConfig& layout) {
    return layout.layout.empty() && layout.partition == "pipedream";
}

void check_numbers(const Profile& profile, const RunConfig& config) {
    const std::string wanted = name_of(dtype_of(config.precision.dtype));
    if (profile.dtype == wanted) return;
    throw ConfigError(cat("--profile ", config.costs.profile, " was measured in ", profile.dtype,
                          ", and this run computes in ", wanted, "; measure with --dtype ", wanted));
}

Profile profile_for(const RunConfig& config, const ModelConfig& model) {
    const std::string& path = config.costs.profile;
    if (path.empty()) {
        throw ConfigError(cat("--partition ", config.layout.partition,
                              " goes by what layers cost; measure it with `trireme profile --model ",
                              model.name, " --output profile.json`, and name it with --profile profile.json"));
    }
    Profile profile = profile_from_json(read_text(path, "--profile"), path);
    check_numbers(profile, config);
    check_layers(profile, config, model);
    return profile;
}

std::vector<std::size_t> measured_cuts(const RunConfig& config, const ModelConfig& model, const Grid& grid,
                                       const Plan& trial) {
    const Profile profile = profile_for(config, model);
    const auto chunks = static_cast<std::size_t>(grid.chunks);
    const bool has_backup = trial.training.shape.validates;
    const int updaters = config.layout.shard_optimizer ? grid.data : 1;
    BalanceRules rules{.stages = {},
                       .micro_batches = config.schedule.microbatches,
                       .memory_limit = config.layout.memory_limit / chunks};
    for (std::size_t s = 0; s < trial.layout.stages.size(); ++s) {
        rules.stages.push_back(place_of(profile, trial, s, chunks));
    }
    return balanced_cuts(layer_loads(profile, {.numbers = numbers_kept(config.optimizer, has_backup),
                                               .updaters = static_cast<std::size_t>(updaters),
                                               .sharers = static_cast<std::size_t>(grid.tensor)}),
                         rules);
}

Layout pipedream_layout(const RunConfig& config, const ModelConfig& model, int ranks) {
    const Profile profile = profile_for(config, model);
    std::vector<LayerLoad> loads = layer_loads(profile, {.numbers = moments_of(config.optimizer)});
    if (config.layout.recompute == std::vector{Recompute::full}) {
        for (LayerLoad& load : loads) load = recomputed(load);
    }
    const auto micro_batches = std::min(config.schedule.microbatches, most_micro_batches);
    return share_layers(loads, {.ranks = ranks,
                                .links = profile.links,
                                .micro_batches = static_cast<int>(micro_batches),
                                .memory_limit = config.layout.memory_limit,
                                .stashes_weights = keeps_weight_versions(config.schedule.schedule)})
        .layout;
}

}  // namespace trireme

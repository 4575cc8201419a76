#include "trireme/setup/planning.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "trireme/base/regular_file.hpp"
#include "trireme/layout/balanced_cut.hpp"
#include "trireme/model/model.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/profile_choice.hpp"
#include "trireme/setup/stage_costs.hpp"

namespace trireme::setup {
namespace {

// Returns pipe x data x tensor without overflow; beyond any possible number of ranks it need not be exact.
long long product(const config::LayoutConfig& layout, int data) {
    constexpr long long beyond_all = 1LL << 31;
    return std::min(beyond_all, static_cast<long long>(layout.pipe) * data) * layout.tensor;
}

int ranks_of_grid(const config::LayoutConfig& layout) {
    constexpr long long most_ranks = 1 << 20;
    const int data = std::max(1, layout.data);
    if (product(layout, data) <= most_ranks) return static_cast<int>(product(layout, data));
    throw ConfigError(cat("a process grid of pipe ", layout.pipe, " x data ", data, " x tensor ", layout.tensor,
                          " has more than ", most_ranks, " ranks; lower --pipe, --data or --tensor"));
}

int replicas_of_grid(const config::LayoutConfig& layout, int ranks) {
    const long long row = product(layout, 1);
    const int data = layout.data > 0 ? layout.data : static_cast<int>(std::max(1LL, ranks / row));
    if (product(layout, data) == ranks) return data;
    throw ConfigError(cat("the process grid needs ", product(layout, data), " ranks (pipe ", layout.pipe,
                          " x data ", data, " x tensor ", layout.tensor, ") but MPI started ", ranks,
                          "; change --pipe, --data or --tensor, or start ", product(layout, data),
                          " ranks with mpirun -n or srun -n"));
}

bool asks_for_v(const config::ScheduleConfig& schedule) {
    const schedule::Schedule* const known = schedule::find_schedule(schedule.schedule);
    return known != nullptr && known->shape == schedule::ScheduleShape::v;
}

// A V-shaped schedule has two chunks, with or without --chunks 2.
int chunks_of(const config::ScheduleConfig& schedule) {
    if (!asks_for_v(schedule)) return schedule.chunks;
    if (schedule.chunks <= 2) return 2;
    throw ConfigError(cat("schedule zb-v puts 2 stages on each rank, but --chunks ", schedule.chunks,
                          " asks for ", schedule.chunks, "; use --chunks 2, or leave it out"));
}

void refuse_grid_options(const config::RunConfig& config, const std::string& who) {
    const config::LayoutConfig& layout = config.layout;
    const bool asks_for_grid = layout.pipe != 1 || layout.data != 0 || layout.tensor != 1;
    if (!asks_for_grid && config.schedule.chunks == 1) return;
    throw ConfigError(cat(who, " already sets the layout; remove --pipe, --data, --tensor and --chunks"));
}

// Clamps to the largest int, which make_plan() rejects, too.
int whole_int(std::size_t number) {
    constexpr std::size_t most = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(number, most));
}

bool is_known(const std::string& schedule) {
    return schedule == schedule::searched_schedule || schedule::find_schedule(schedule) != nullptr;
}

// Reads programs if the name contains a dot or a slash, i.e. names a file.
schedule::Phases programs_of_file(const std::string& schedule) {
    check_schedule_name(schedule);
    if (is_known(schedule)) return {};
    return schedule::phases_from_csv(read_regular_file(schedule, "--schedule"), schedule);
}

plan::PlanWish wish_for(const config::RunConfig& config, layout::Layout layout, const PlanRequest& request) {
    return {.layout = std::move(layout),
            .schedule = request.schedule,
            .own_programs = programs_of_file(request.schedule),
            .microbatches = whole_int(request.microbatches),
            .is_each = request.is_each,
            .recompute = config.layout.recompute,
            .cuts_rows = config.layout.sequence_parallel,
            .shards_optimizer = config.layout.shard_optimizer};
}

layout::Layout grid_of(const config::RunConfig& config, const model::ModelConfig& model, int ranks) {
    const layout::Grid grid{.pipe = config.layout.pipe,
                            .data = replicas_of_grid(config.layout, ranks),
                            .tensor = config.layout.tensor,
                            .chunks = chunks_of(config.schedule),
                            .placement = asks_for_v(config.schedule) ? layout::ChunkPlacement::v_shaped
                                                                     : layout::ChunkPlacement::looped,
                            .shares = {}};
    const auto stages = static_cast<std::size_t>(grid.pipe) * static_cast<std::size_t>(grid.chunks);
    const std::vector<layout::LayerFacts> facts = layer_facts(model);
    if (!is_measured(config.layout)) {
        return grid_layout(grid, cut_layers(facts, stages, config.layout.partition));
    }
    layout::check_stage_count(facts.size(), stages);
    const std::vector<std::size_t> anywhere(stages, 1);
    const plan::Plan trial = make_plan(wish_for(config, grid_layout(grid, anywhere), plan_request(config)));
    return grid_layout(grid, measured_cuts(config, model, grid, trial));
}

layout::Layout layout_of(const config::RunConfig& config, const model::ModelConfig& model, int ranks) {
    const std::string& path = config.layout.layout;
    if (!path.empty()) {
        refuse_grid_options(config, "--layout " + path);
        return plan::layout_from_json(read_regular_file(path, "--layout"), path);
    }
    if (!is_pipedream(config.layout)) return grid_of(config, model, ranks);
    refuse_grid_options(config, "--partition pipedream");
    return pipedream_layout(config, model, ranks);
}

layout::Layout checked_layout_of(const config::RunConfig& config, const model::ModelConfig& model, int ranks) {
    layout::Layout layout = layout_of(config, model, ranks);
    const std::string& path = config.layout.layout;
    check_layout(layout, ranks, layer_facts(model).size(), path.empty() ? "the grid" : path);
    return layout;
}

// The parameters of some layers per tensor part; equal parts are built once.
class PartSpecs {
public:
    using OfLayers = std::vector<std::vector<model::ParameterSpec>>;

    PartSpecs(const model::ModelConfig& model, layout::Range layers) : model_(model), layers_(layers) {}

    const OfLayers& of(const model::TensorPart& part) {
        const auto [at, is_new] = specs_.try_emplace({part.rank, part.shares});
        if (is_new) {
            for (const model::Layer& layer : build_layers(model_, part, layers_))
                at->second.push_back(parameters_of(layer));
        }
        return at->second;
    }

private:
    const model::ModelConfig& model_;
    layout::Range layers_;
    std::map<std::pair<int, std::vector<std::size_t>>, OfLayers> specs_;
};

class HeldList {
public:
    // Adds the slices that `rank` holds of a layer. A tied table that two layers of a rank use is added once.
    void add(const std::vector<model::ParameterSpec>& specs, std::size_t layer, int rank) {
        for (const model::ParameterSpec& spec : specs) {
            const std::size_t number = number_of(spec, layer);
            layout::HeldTensor& tensor = tensors_[number];
            tensor.last_use = std::min(tensor.last_use, layer);
            if (is_first_slice(number, rank)) {
                for (const layout::Placement& placement : spec.placements)
                    tensor.slices.push_back({rank, placement.box});
            }
        }
    }
    std::vector<layout::HeldTensor> take() { return std::move(tensors_); }

private:
    std::size_t number_of(const model::ParameterSpec& spec, std::size_t layer) {
        const auto [at, is_new] = numbers_.emplace(spec.name, tensors_.size());
        if (is_new) {
            tensors_.push_back({.name = spec.name,
                                .rows = spec.all_rows,
                                .columns = spec.all_columns,
                                .last_use = layer,
                                .slices = {}});
            holders_.emplace_back();
        }
        return at->second;
    }

    bool is_first_slice(std::size_t tensor, int rank) {
        std::vector<bool>& holders = holders_[tensor];
        const auto r = static_cast<std::size_t>(rank);
        if (r >= holders.size()) holders.resize(r + 1);
        if (holders[r]) return false;
        holders[r] = true;
        return true;
    }

    std::vector<layout::HeldTensor> tensors_;
    std::vector<std::vector<bool>> holders_;  // by tensor, then by rank
    std::unordered_map<std::string, std::size_t> numbers_;
};

// Throws ConfigError if a tensor rank would have nothing to compute.
void check_shares(const plan::Plan& plan, const model::ModelConfig& model) {
    for (std::size_t stage = 0; stage < plan.layout.stages.size(); ++stage) {
        for (const layout::ReplicaLayout& replica : plan.layout.stages[stage].replicas) {
            const model::TensorPart part = part_of_rank(plan, static_cast<int>(stage), replica.ranks.front());
            part.groups(model);
            part.mlp(model);
            if (!model.reads_images()) part.vocabulary(model);
        }
    }
}

std::string to_string(const std::vector<std::size_t>& shares) {
    std::string text;
    for (const std::size_t share : shares) text += cat(text.empty() ? "" : ",", share);
    return text;
}

// Throws ConfigError if a tied table has different shares in two stages of a team: a rank has one part of it.
void check_tied_table(const plan::Plan& plan, const model::ModelConfig& model) {
    if (!model.tied || !model.has_vocabulary_head()) return;
    const int last = static_cast<int>(plan.layout.stages.size()) - 1;
    for (const layout::Team& team : plan.teams) {
        if (team.stages.front() != 0 || team.stages.back() != last) continue;
        const model::TensorPart first_part = part_of_rank(plan, 0, team.ranks.front());
        const model::TensorPart last_part = part_of_rank(plan, last, team.ranks.front());
        if (first_part.shares == last_part.shares) continue;
        throw ConfigError(cat("rank ", team.ranks.front(), " has the table of tokens in stage 0 by the shares ",
                              to_string(first_part.shares), " and in stage ", last, " by ",
                              to_string(last_part.shares),
                              ", and a tied one is there once; make these shares equal, or use --tied off"));
    }
}

// Full recomputation restores the activations of one layer at a time, so backward passes cannot be split.
void check_halves(const plan::Plan& plan) {
    for (const schedule::Program& program : unrolled(plan.training.phases(), plan.training.shape, 1)) {
        for (const schedule::Instruction& instruction : program) {
            const bool is_full =
                plan.recompute[static_cast<std::size_t>(instruction.stage)] == plan::Recompute::full;
            if (instruction.op != schedule::Op::backward_input || !is_full) continue;
            throw ConfigError(cat(plan.schedule, " has ", to_string(instruction),
                                  ", half a backward pass, and stage ", instruction.stage,
                                  " computes its activations again in full; use --recompute selective or none "
                                  "for it"));
        }
    }
}

// True if a tied table is shared by the first and the last stage, which reduce its gradient together.
bool ties_ends(const layout::Layout& layout, const model::ModelConfig& model) {
    return model.tied && model.has_vocabulary_head() && layout.stages.size() > 1;
}

// Throws ConfigError if the schedule cannot update the two stages of a tied table together.
void check_tied_updates(const plan::Plan& plan, const model::ModelConfig& model) {
    if (!ties_ends(plan.layout, model) || !plan.training.shape.updates_alone) return;
    throw ConfigError(
        cat("schedule ", plan.schedule,
            " updates each stage by itself, and the tied table of tokens belongs to the first and to "
            "the last; use --tied off, or --schedule pipedream-vertical or pipedream-2bw"));
}

}  // namespace

std::vector<layout::LayerFacts> layer_facts(const model::ModelConfig& model) {
    std::vector<layout::LayerFacts> facts;
    std::size_t item = 0;
    for (const model::Layer& layer : build_layers(model)) {
        const bool is_attention = std::holds_alternative<model::AttentionHalf>(layer);
        const bool is_block = is_attention || std::holds_alternative<model::MlpHalf>(layer);
        const bool begins_head = !facts.empty() && facts.back().is_block && !is_block;
        if (is_attention || begins_head) ++item;
        std::size_t parameters = 0;
        for (const model::ParameterSpec& spec : parameters_of(layer)) parameters += spec.size();
        facts.push_back({.item = item, .parameters = parameters, .is_block = is_block});
    }
    return facts;
}

bool has_grid(const config::LayoutConfig& layout) { return layout.layout.empty() && !is_pipedream(layout); }

int ranks_for(const config::RunConfig& config) {
    const config::LayoutConfig& options = config.layout;
    if (is_pipedream(options)) {
        throw ConfigError("--partition pipedream shares layers among ranks; say among how many with --ranks N");
    }
    if (options.layout.empty()) return ranks_of_grid(options);
    const layout::Layout layout =
        plan::layout_from_json(read_regular_file(options.layout, "--layout"), options.layout);
    int last = -1;
    for (const int rank : layout.idle) last = std::max(last, rank);
    for (const layout::StageLayout& stage : layout.stages) {
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (const int rank : replica.ranks) last = std::max(last, rank);
        }
    }
    return last + 1;
}

PlanRequest plan_request(const config::RunConfig& config) {
    return {.schedule = config.schedule.schedule,
            .microbatches = config.schedule.microbatches,
            .is_each = has_grid(config.layout)};
}

plan::Plan plan_run(const config::RunConfig& config, const model::ModelConfig& model, int ranks,
                    const MemoryRoom& room) {
    check_profile_ranks(config.costs.profiles, ranks);
    check_profile_files(config.costs.profiles);
    return plan_layout(config, model, checked_layout_of(config, model, ranks), plan_request(config), room);
}

plan::Plan plan_layout(const config::RunConfig& config, const model::ModelConfig& model, layout::Layout layout,
                       const PlanRequest& request, const MemoryRoom& room) {
    plan::PlanWish wish = wish_for(config, std::move(layout), request);
    given_costs(config.costs, wish.layout.stages.size());  // throws
    wish.most_activations = room.most_activations;
    wish.may_split = room.may_split;
    wish.may_go_ahead = room.may_go_ahead;
    wish.ties_ends = ties_ends(wish.layout, model);
    const bool is_searched = wish.schedule == schedule::searched_schedule;
    plan::Plan plan = is_searched ? searched_plan(config, model, std::move(wish)) : make_plan(wish);
    check_shares(plan, model);
    check_tied_table(plan, model);
    check_halves(plan);
    check_tied_updates(plan, model);
    plan.spread = config.policy.spread;
    if (may_leave_out(config.policy.straggler)) {
        plan.most_left_out = config.policy.resize.limit;
        plan.remembers_left_out = config.policy.resize.fill == model::Filling::same;
    }
    return plan;
}

double bubble_of(const plan::Plan& plan, const schedule::StepTime& step, int ranks) {
    double busy = 0;
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        busy += step.busy[team] * static_cast<double>(plan.teams[team].ranks.size());
    }
    return step.seconds > 0 ? 1 - busy / (step.seconds * ranks) : 0;
}

double bubble_of_schedule(const plan::Plan& plan, int ranks) {
    const std::vector<schedule::StageCost> equal(plan.layout.stages.size());
    return bubble_of(plan, predict_step(plan.training.phases(), plan.training.shape, equal), ranks);
}

int most_weight_versions(const plan::Plan& plan) {
    int most = 1;
    for (const std::vector<int>& of_stages : plan.training.proof.weight_versions) {
        most = std::max(most, *std::max_element(of_stages.begin(), of_stages.end()));
    }
    return most;
}

void check_schedule_name(const std::string& schedule) {
    const bool is_of_file = schedule.find_first_of("./") != std::string::npos;
    if (!is_known(schedule) && !is_of_file) schedule::schedule_named(schedule);  // throws
}

model::TensorPart part_of_rank(const plan::Plan& plan, int stage, int rank) {
    for (const layout::ReplicaLayout& replica : plan.layout.stages[static_cast<std::size_t>(stage)].replicas) {
        const auto at = std::find(replica.ranks.begin(), replica.ranks.end(), rank);
        if (at == replica.ranks.end()) continue;
        return {.rank = static_cast<int>(at - replica.ranks.begin()), .shares = replica.shares};
    }
    throw BugError(cat("rank ", rank, " does not hold stage ", stage));
}

std::vector<layout::HeldTensor> held_tensors(const plan::Plan& plan, const model::ModelConfig& model) {
    HeldList held;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        PartSpecs specs(model, stage.layers);
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
                const PartSpecs::OfLayers& of_layers =
                    specs.of({.rank = static_cast<int>(r), .shares = replica.shares});
                for (std::size_t l = 0; l < of_layers.size(); ++l)
                    held.add(of_layers[l], stage.layers.begin + l, replica.ranks[r]);
            }
        }
    }
    return held.take();
}

}  // namespace trireme::setup

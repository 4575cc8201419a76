#include "trireme/setup/planning.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "trireme/base/regular_file.hpp"
#include "trireme/layout/balanced_cut.hpp"
#include "trireme/model/model.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/measured_layout.hpp"
#include "trireme/setup/profile_choice.hpp"
#include "trireme/setup/stage_costs.hpp"

namespace trireme::setup {
namespace {

// Returns pipe * data * tensor, the number of ranks of a grid with `data` replicas. Limits pipe * data to 2^31
// to avoid an overflow: the result for a larger grid is too small.
long long multiply_grid(const config::LayoutConfig& layout, int data) {
    constexpr long long max_teams = 1LL << 31;
    return std::min(max_teams, static_cast<long long>(layout.pipe) * data) * layout.tensor;
}

int count_grid_ranks(const config::LayoutConfig& layout) {
    constexpr long long max_ranks = 1 << 20;
    const int data = std::max(1, layout.data);
    if (multiply_grid(layout, data) <= max_ranks) return static_cast<int>(multiply_grid(layout, data));
    throw ConfigError(cat("a process grid of pipe ", layout.pipe, " x data ", data, " x tensor ", layout.tensor,
                          " has more than ", max_ranks, " ranks; lower --pipe, --data or --tensor"));
}

int find_grid_replicas(const config::LayoutConfig& layout, int ranks) {
    const long long ranks_per_replica = multiply_grid(layout, 1);
    const int data = layout.data > 0 ? layout.data : static_cast<int>(std::max(1LL, ranks / ranks_per_replica));
    if (multiply_grid(layout, data) == ranks) return data;
    throw ConfigError(cat("the process grid needs ", multiply_grid(layout, data), " ranks (pipe ", layout.pipe,
                          " x data ", data, " x tensor ", layout.tensor, "), but the job has ", ranks,
                          "; change --pipe, --data or --tensor, or start ", multiply_grid(layout, data),
                          " ranks (mpirun -n, srun -n or --ranks)"));
}

bool is_v_schedule(const config::ScheduleConfig& schedule) {
    const schedule::Schedule* const found = schedule::find_schedule(schedule.schedule);
    return found != nullptr && found->shape == schedule::ScheduleShape::two_chunk_v;
}

// Returns the number of stages per rank. A V-shaped schedule has two, even without --chunks 2.
int count_chunks(const config::ScheduleConfig& schedule) {
    if (!is_v_schedule(schedule)) return schedule.chunks;
    if (schedule.chunks <= 2) return 2;
    throw ConfigError(cat("schedule zb-v puts 2 stages on each rank, but --chunks ", schedule.chunks,
                          " asks for ", schedule.chunks, "; use --chunks 2, or remove it"));
}

void refuse_grid_options(const config::RunConfig& config, const std::string& layout_option) {
    const config::LayoutConfig& layout = config.layout;
    const bool asks_for_grid = layout.pipe != 1 || layout.data != 0 || layout.tensor != 1;
    if (!asks_for_grid && config.schedule.chunks == 1) return;
    throw ConfigError(
        cat(layout_option, " already sets the layout; remove --pipe, --data, --tensor and --chunks"));
}

// Returns `value`, or the largest int if `value` exceeds it. make_plan() rejects the largest int, too.
int clamp_to_int(std::size_t value) {
    constexpr std::size_t max_int = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(value, max_int));
}

bool is_schedule_name(const std::string& schedule) {
    return schedule == schedule::searched_schedule_name || schedule::find_schedule(schedule) != nullptr;
}

// Returns the programs of the file that `schedule` names, or none if `schedule` is the name of a schedule.
schedule::Phases read_file_programs(const std::string& schedule) {
    check_schedule_name(schedule);
    if (is_schedule_name(schedule)) return {};
    return schedule::parse_phases_csv(read_regular_file(schedule, "--schedule"), schedule);
}

plan::PlanWish make_wish(const config::RunConfig& config, layout::Layout layout, const PlanRequest& request) {
    return {.layout = std::move(layout),
            .schedule = request.schedule,
            .file_programs = read_file_programs(request.schedule),
            .microbatches = clamp_to_int(request.microbatches),
            .is_per_replica = request.is_per_replica,
            .recompute = config.layout.recompute,
            .cuts_rows = config.layout.sequence_parallel,
            .shards_optimizer = config.layout.shard_optimizer,
            .frozen = request.frozen};
}

layout::Layout make_grid(const config::RunConfig& config, const model::ModelConfig& model, int ranks) {
    const layout::Grid grid{.pipe = config.layout.pipe,
                            .data = find_grid_replicas(config.layout, ranks),
                            .tensor = config.layout.tensor,
                            .chunks = count_chunks(config.schedule),
                            .placement = is_v_schedule(config.schedule) ? layout::ChunkPlacement::v_shaped
                                                                        : layout::ChunkPlacement::looped,
                            .shares = {}};
    const auto stages = static_cast<std::size_t>(grid.pipe) * static_cast<std::size_t>(grid.chunks);
    const std::vector<layout::LayerFacts> facts = list_layer_facts(model);
    if (!uses_measured_partition(config.layout)) {
        return make_grid_layout(grid, cut_layers(facts, stages, config.layout.partition));
    }
    layout::check_stage_count(facts.size(), stages);
    const std::vector<std::size_t> one_layer_per_stage(stages, 1);
    // find_measured_cuts() does not read the layers of `trial`, so any number of layers per stage will do.
    PlanRequest request = make_plan_request(config);
    request.frozen = 0;  // the trial layout has too few layers
    const plan::Plan trial = make_plan(make_wish(config, make_grid_layout(grid, one_layer_per_stage), request));
    return make_grid_layout(grid, find_measured_cuts(config, model, grid, trial));
}

layout::Layout make_layout(const config::RunConfig& config, const model::ModelConfig& model, int ranks) {
    const std::string& path = config.layout.layout;
    if (!path.empty()) {
        refuse_grid_options(config, "--layout " + path);
        return plan::parse_layout(read_regular_file(path, "--layout"), path);
    }
    if (!uses_pipedream_partition(config.layout)) return make_grid(config, model, ranks);
    refuse_grid_options(config, "--partition pipedream");
    return make_pipedream_layout(config, model, ranks);
}

layout::Layout make_checked_layout(const config::RunConfig& config, const model::ModelConfig& model,
                                   int ranks) {
    layout::Layout layout = make_layout(config, model, ranks);
    const std::string& path = config.layout.layout;
    check_layout(layout, ranks, list_layer_facts(model).size(), path.empty() ? "the grid" : path);
    return layout;
}

// Throws ConfigError if a rank of a tensor group would have no group of heads, no MLP column or no vocabulary
// row. The find_...() functions check the shares of the whole tensor group; their results are not needed.
void check_shares(const plan::Plan& plan, const model::ModelConfig& model) {
    for (std::size_t stage = 0; stage < plan.layout.stages.size(); ++stage) {
        for (const layout::ReplicaLayout& replica : plan.layout.stages[stage].replicas) {
            const model::TensorPart part =
                find_tensor_part(plan, static_cast<int>(stage), replica.ranks.front());
            part.find_head_groups(model);
            part.find_mlp_channels(model);
            if (!model.reads_images()) part.find_vocabulary_rows(model);
        }
    }
}

std::string to_string(const std::vector<std::size_t>& shares) {
    std::string text;
    for (const std::size_t share : shares) text += cat(text.empty() ? "" : ",", share);
    return text;
}

// Throws ConfigError if the token table is tied and a team holds the first and the last stage with different
// shares: a rank stores one slice of the table for both stages.
void check_tied_table(const plan::Plan& plan, const model::ModelConfig& model) {
    if (!model.tied || !model.has_vocabulary_head()) return;
    const int last = static_cast<int>(plan.layout.stages.size()) - 1;
    for (const layout::Team& team : plan.teams) {
        if (team.stages.front() != 0 || team.stages.back() != last) continue;
        const model::TensorPart first_part = find_tensor_part(plan, 0, team.ranks.front());
        const model::TensorPart last_part = find_tensor_part(plan, last, team.ranks.front());
        if (first_part.shares == last_part.shares) continue;
        throw ConfigError(
            cat("rank ", team.ranks.front(), " uses the tied token table in stage 0 with the shares ",
                to_string(first_part.shares), " and in stage ", last, " with ", to_string(last_part.shares),
                ", but stores it only once; make these shares equal, or use --tied off"));
    }
}

// Throws ConfigError if a stage with full recomputation has split backward passes. Full recomputation restores
// the activations of one block at a time, so they are gone when the second half of a split pass would run.
void check_split_backward_passes(const plan::Plan& plan) {
    for (const schedule::Program& program : unroll(plan.training.phases(), plan.training.shape, 1)) {
        for (const schedule::Instruction& instruction : program) {
            const bool is_full =
                plan.recompute[static_cast<std::size_t>(instruction.stage)] == plan::Recompute::full;
            if (instruction.op != schedule::Op::backward_input || !is_full) continue;
            throw ConfigError(
                cat("schedule ", plan.schedule, " has half a backward pass (", to_string(instruction),
                    "), which stage ", instruction.stage,
                    " with --recompute full cannot execute; use --recompute selective or none for "
                    "this stage"));
        }
    }
}

// True if the first and the last stage differ and share a tied token table, whose gradient is summed over both.
bool has_tied_embeddings(const layout::Layout& layout, const model::ModelConfig& model) {
    return model.tied && model.has_vocabulary_head() && layout.stages.size() > 1;
}

void check_depth(int frozen, const model::ModelConfig& model) {
    if (static_cast<std::size_t>(frozen) <= model.layers) return;
    throw ConfigError(cat(frozen, " frozen blocks are more than the model has; freeze at most ", model.layers));
}

// Throws ConfigError if two stages share a trained token table, but the schedule updates stages independently.
void check_tied_updates(const plan::Plan& plan, const model::ModelConfig& model) {
    if (!has_tied_embeddings(plan.layout, model) || plan.frozen > 0 ||
        !plan.training.shape.updates_stages_independently)
        return;
    throw ConfigError(cat("schedule ", plan.schedule,
                          " updates each stage independently, but the first and the last stage share the tied "
                          "token table; use --tied off, or --schedule pipedream-vertical or pipedream-2bw"));
}

}  // namespace

std::vector<layout::LayerFacts> list_layer_facts(const model::ModelConfig& model) {
    std::vector<layout::LayerFacts> facts;
    std::map<std::string_view, std::size_t> parameters;  // by kind: layers of one kind have equal sizes
    std::size_t item = 0;
    for (const std::string_view kind : list_kinds(model)) {
        const auto [known, is_new] = parameters.try_emplace(kind);
        if (is_new) {
            for (const model::Layer& layer : build_layers(model, {}, {facts.size(), 1}))
                for (const model::ParameterSpec& spec : list_parameters(layer)) known->second += spec.size();
        }
        const bool is_attention = kind == "attention";
        const bool is_block = is_attention || kind == "mlp";
        const bool begins_head = !facts.empty() && facts.back().is_block && !is_block;
        if (is_attention || begins_head) ++item;
        facts.push_back({.item = item, .parameters = known->second, .is_block = is_block});
    }
    return facts;
}

bool has_grid(const config::LayoutConfig& layout) {
    return layout.layout.empty() && !uses_pipedream_partition(layout);
}

int count_requested_ranks(const config::RunConfig& config) {
    const config::LayoutConfig& options = config.layout;
    if (uses_pipedream_partition(options)) {
        throw ConfigError("--partition pipedream needs the number of ranks; set --ranks N");
    }
    if (options.layout.empty()) return count_grid_ranks(options);
    const layout::Layout layout =
        plan::parse_layout(read_regular_file(options.layout, "--layout"), options.layout);
    int last_rank = -1;
    for (const int rank : layout.idle) last_rank = std::max(last_rank, rank);
    for (const layout::StageLayout& stage : layout.stages) {
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (const int rank : replica.ranks) last_rank = std::max(last_rank, rank);
        }
    }
    return last_rank + 1;
}

PlanRequest make_plan_request(const config::RunConfig& config) {
    return {.schedule = config.schedule.schedule,
            .microbatches = config.schedule.microbatches,
            .is_per_replica = has_grid(config.layout),
            .frozen = config.layout.frozen};
}

plan::Plan plan_run(const config::RunConfig& config, const model::ModelConfig& model, int ranks,
                    const MemoryRestrictions& restrictions) {
    check_profile_ranks(config.costs.profiles, ranks);
    check_profile_files(config.costs.profiles);
    plan::Plan plan = plan_layout(config, model, make_checked_layout(config, model, ranks),
                                  make_plan_request(config), restrictions);
    check_auto_pipe(config, plan);
    return plan;
}

plan::Plan plan_layout(const config::RunConfig& config, const model::ModelConfig& model, layout::Layout layout,
                       const PlanRequest& request, const MemoryRestrictions& restrictions) {
    check_depth(request.frozen, model);
    plan::PlanWish wish = make_wish(config, std::move(layout), request);
    expand_cost_option(config.costs, wish.layout.stages.size());  // throws if --cost does not fit the stages
    wish.max_activations = restrictions.max_activations;
    wish.may_split = restrictions.may_split;
    wish.may_speculate = restrictions.may_speculate;
    wish.has_tied_embeddings = has_tied_embeddings(wish.layout, model) && wish.frozen == 0;
    const bool is_searched = wish.schedule == schedule::searched_schedule_name;
    plan::Plan plan = is_searched ? search_plan(config, model, std::move(wish)) : make_plan(wish);
    check_shares(plan, model);
    check_tied_table(plan, model);
    check_split_backward_passes(plan);
    check_tied_updates(plan, model);
    plan.spread = config.policy.spread;
    if (may_skip_channels(config.policy.straggler)) {
        plan.max_skipped_fraction = config.policy.resize.limit;
        plan.keeps_skipped_gradients = config.policy.resize.filling == model::Filling::same;
    }
    return plan;
}

double compute_bubble(const plan::Plan& plan, const schedule::StepTime& step, int ranks) {
    double busy_seconds = 0;  // summed over ranks
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        busy_seconds += step.busy_times[team] * static_cast<double>(plan.teams[team].ranks.size());
    }
    return step.seconds > 0 ? 1 - busy_seconds / (step.seconds * ranks) : 0;
}

double predict_schedule_bubble(const plan::Plan& plan, int ranks) {
    const std::vector<schedule::StageCost> equal_costs(plan.layout.stages.size());
    return compute_bubble(plan, predict_step(plan.training.phases(), plan.training.shape, equal_costs), ranks);
}

int find_max_weight_versions(const plan::Plan& plan) {
    int max_versions = 1;
    for (const std::vector<int>& versions_per_stage : plan.training.proof.weight_versions) {
        max_versions =
            std::max(max_versions, *std::max_element(versions_per_stage.begin(), versions_per_stage.end()));
    }
    return max_versions;
}

void check_schedule_name(const std::string& schedule) {
    const bool is_file_name = schedule.find_first_of("./") != std::string::npos;
    if (!is_schedule_name(schedule) && !is_file_name) schedule::require_schedule(schedule);  // throws
}

model::TensorPart find_tensor_part(const plan::Plan& plan, int stage, int rank) {
    for (const layout::ReplicaLayout& replica : plan.layout.stages[static_cast<std::size_t>(stage)].replicas) {
        const auto found = std::find(replica.ranks.begin(), replica.ranks.end(), rank);
        if (found == replica.ranks.end()) continue;
        return {.rank = static_cast<int>(found - replica.ranks.begin()), .shares = replica.shares};
    }
    throw BugError(cat("rank ", rank, " does not hold stage ", stage));
}

}  // namespace trireme::setup

#include "train/rank_memory.hpp"

#include <algorithm>

#include "train/planning.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme {
namespace {

// Rows of the largest micro-batch that a rank has between two stages.
std::size_t most_rows(const Setup& setup, std::size_t tensor_ranks) {
    std::size_t rows = 0;
    for (const BatchShape& shape : setup.largest) rows = std::max(rows, shape.rows);
    return setup.plan.cuts_rows ? cut_evenly(rows, tensor_ranks).front().count : rows;
}

StageMemory largest(const Setup& setup, const StageSpec& spec) {
    StageMemory most;
    for (const BatchShape& shape : setup.largest) {
        most = larger_of(
            most, predict(setup.model, spec, shape, {.dtype = setup.dtype, .cuts_rows = setup.plan.cuts_rows}));
    }
    return most;
}

// Micro-batches that a team keeps at once. One that is only evaluated is kept until it has been sent.
std::size_t flights(const Plan& plan, const LocalWork& work) {
    const auto team = static_cast<std::size_t>(work.team);
    const auto slots = static_cast<std::size_t>(plan.evaluation.shape.slots);
    return std::max(static_cast<std::size_t>(plan.training.peak_activations[team]),
                    (1 + slots) * work.stages.size());
}

// Row buffers: of inputs that wait or are kept, of gradients that come and go.
std::size_t row_buffers(const Plan& plan, const LocalWork& work) {
    if (plan.teams.size() == 1 && work.stages.size() == 1) return 0;
    const auto slots = static_cast<std::size_t>(plan.training.shape.slots);
    return flights(plan, work) + (3 * slots + 1) * work.stages.size();
}

}  // namespace

LocalWork work_of(const Setup& setup, int rank) {
    const Plan& plan = setup.plan;
    LocalWork work{.model = setup.model, .team = plan.team_of(rank), .dtype = setup.dtype};
    if (work.team < 0) return work;
    const Team& team = plan.teams[static_cast<std::size_t>(work.team)];
    work.stages = team.stages;
    work.most_rows = most_rows(setup, team.ranks.size());
    for (const int stage : team.stages) {
        const auto s = static_cast<std::size_t>(stage);
        work.specs.push_back({.layers = plan.layout.stages[s].layers,
                              .part = part_of_rank(plan, stage, rank),
                              .recompute = plan.recompute[s]});
        work.memory = larger_of(work.memory, largest(setup, work.specs.back()));
    }
    return work;
}

GradientPlan gradient_plan(const Setup& setup) {
    GradientPlan plan{.tensors = held_tensors(setup.plan, setup.model), .pieces = {}, .buckets = {}};
    plan.pieces = cut_in_pieces(plan.tensors);
    plan.buckets = fill_buckets(plan.tensors, plan.pieces);
    return plan;
}

std::vector<ParameterShard> updated_shards(const Setup& setup, const GradientExchange& exchange,
                                           const std::vector<ParameterSpec>& specs) {
    return setup.plan.shards_optimizer ? exchange.own_shards() : whole_parameters(specs);
}

RankMemory plan_memory(const Setup& setup, const OptimizerConfig* optimizer, const GradientPlan& gradients,
                       int rank) {
    const LocalWork work = work_of(setup, rank);
    if (work.team < 0) return {};
    const LocalStages stages(work, nullptr, false, Place::ghost);
    const LocalParameters& held = stages.parameters();
    const StageMemory& memory = work.memory;
    RankMemory rank_memory{
        .parameters = held.values().bytes(),
        .activations = flights(setup.plan, work) * memory.activations,
        .workspace = memory.scratch + memory.again + memory.exchange,
        .messages = row_buffers(setup.plan, work) * work.most_rows * setup.model.width * bytes_of(setup.dtype)};
    if (optimizer == nullptr) return rank_memory;
    const GradientExchange exchange(gradients, rank, held.specs(), held.values(), held.gradients(), {},
                                    Place::ghost);
    rank_memory.gradients = held.gradients().bytes();
    rank_memory.messages += exchange.bytes();
    rank_memory.optimizer = Optimizer(*optimizer, held.specs(), updated_shards(setup, exchange, held.specs()),
                                      setup.dtype, Place::ghost)
                                .bytes();
    return rank_memory;
}

}  // namespace trireme

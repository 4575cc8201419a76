#include "train/rank_memory.hpp"

#include <algorithm>

#include "train/planning.hpp"
#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/layout/held_state.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/schedule/row_buffers.hpp"
#include "trireme/stage/sent_batch.hpp"

namespace trireme {
namespace {

// Rows of the largest micro-batch that a rank has between two stages.
std::size_t most_rows(const SizedPlan& sized, std::size_t tensor_ranks) {
    std::size_t rows = 0;
    for (const BatchShape& shape : sized.largest) rows = std::max(rows, shape.rows);
    return sized.plan.cuts_rows ? cut_evenly(rows, tensor_ranks).front().count : rows;
}

bool has_op(const Program& program, Op op) {
    return std::any_of(program.begin(), program.end(), [&](const auto& each) { return each.op == op; });
}

// As the program of a team goes backward: whole, or in halves.
StageMemory largest(const SizedPlan& sized, const StageSpec& spec, const Program& program,
                    const std::vector<Migration>& migrations) {
    StageMemory most;
    PassKind kind{.dtype = sized.dtype,
                  .cuts_rows = sized.plan.cuts_rows,
                  .resizing_limit = sized.plan.most_left_out,
                  .migrations = migrations,
                  .spread = sized.plan.spread};
    for (const BatchShape& shape : sized.largest) {
        kind.halves = BackwardHalves::together;
        most = larger_of(most, predict(sized.model, spec, shape, kind));
        if (!has_op(program, Op::backward_input)) continue;
        kind.halves = BackwardHalves::apart;
        most = larger_of(most, predict(sized.model, spec, shape, kind));
    }
    return most;
}

// Whether a team sends what it makes in a stage to another one.
bool has_onward_messages(const PipelineShape& shape, int team, int stage) {
    if (stage + 1 == shape.stages()) return false;
    for (int m = 0; m < shape.micro_batches; ++m) {
        if (shape.executor_of(stage, m) == team && shape.executor_of(stage + 1, m) != team) return true;
    }
    return false;
}

// Micro-batches that a team keeps at once. One that is only evaluated is kept until it has been sent.
std::size_t flights(const Plan& plan, const LocalWork& work) {
    const PipelineShape& evaluation = plan.evaluation.shape;
    std::size_t evaluated = 0;
    for (const int stage : work.stages) {
        const bool sends = has_onward_messages(evaluation, work.team, stage);
        evaluated += 1 + (sends ? static_cast<std::size_t>(evaluation.slots) : 0);
    }
    const int trained = plan.training.proof.peak_activations[static_cast<std::size_t>(work.team)];
    return std::max(static_cast<std::size_t>(trained), evaluated);
}

// All stages of a team have as many as the one that needs most; a team that executes nothing has its one all
// the same.
Copies copies_of(const Proof& proof, std::size_t team) {
    const std::vector<int>& versions = proof.weight_versions[team];
    return {.values = static_cast<std::size_t>(*std::max_element(versions.begin(), versions.end())),
            .gradients = static_cast<std::size_t>(std::max(1, proof.peak_gradients[team]))};
}

// Of inputs that wait or are kept, of gradients that come and go.
std::size_t row_buffers(const Plan& plan, const LocalWork& work) {
    const auto most = [&](const ProvedPrograms& proved) {
        return most_row_buffers(proved.long_program(work.team), work.team, proved.shape);
    };
    return std::max(most(plan.training), most(plan.evaluation));
}

// Micro-batches of a step, or of a round, that pass a team.
std::size_t batches_of(const PipelineShape& shape, int team) {
    std::size_t count = 0;
    for (int m = 0; m < shape.micro_batches; ++m) {
        bool is_passed = false;
        for (int stage = 0; stage < shape.stages(); ++stage)
            is_passed = is_passed || shape.executor_of(stage, m) == team;
        count += is_passed ? 1 : 0;
    }
    return count;
}

// Of the steps that are begun, or looked ahead to, and not settled, and of the next one, which is read before
// they are; behind a stretch of the next one alone, and of an evaluation.
std::size_t batches_at_once(const Plan& plan, int team) {
    const auto ahead = static_cast<std::size_t>(plan.training.look_ahead);
    const std::size_t steps = ahead == 0 ? 2 : 2 * ahead + 3;
    const std::size_t of_step = batches_of(plan.training.shape, team);
    return std::max(steps * of_step, of_step + batches_of(plan.evaluation.shape, team));
}

std::size_t most_bytes_to_send(const SizedPlan& sized) {
    std::size_t most = 0;
    for (const BatchShape& shape : sized.largest) {
        Arena inputs("input", 0, Place::ghost);
        most = std::max(most, bytes_to_send(ghost_batch(sized.model, shape, inputs)));
    }
    return most;
}

// What first values are kept in before they are rounded, one parameter after the other.
std::size_t filling_bytes(const SizedPlan& sized, const LocalParameters& held) {
    if (!has_masters(sized.dtype)) return 0;
    std::size_t most = 0;
    for (const ParameterSpec& spec : held.specs())
        most = std::max(most, spec.size() * bytes_of(wide_of(sized.dtype)));
    return most;
}

// As many others as there will be, and nobody there.
DataGroups ghost_groups(const std::vector<Bucket>& buckets, int rank) {
    DataGroups groups;
    for (const Bucket& bucket : buckets) {
        const auto at = std::lower_bound(bucket.holders.begin(), bucket.holders.end(), rank);
        if (at == bucket.holders.end() || *at != rank) continue;
        groups.emplace(bucket.holders, ghost_group("data", static_cast<int>(at - bucket.holders.begin()),
                                                   static_cast<int>(bucket.holders.size())));
    }
    return groups;
}

// Before anything is in flight, first values take memory that is given back.
void add_training(const SizedPlan& sized, const OptimizerConfig& optimizer, const GradientPlan& gradients,
                  int rank, const LocalParameters& held, RankMemory& memory) {
    const DataGroups groups = ghost_groups(gradients.buckets, rank);
    const GradientExchange exchange(gradients, rank, held.specs(), held.values(), held.gradients(), groups,
                                    Place::ghost);
    memory.gradients = held.gradient_bytes();
    memory.optimizer = Optimizer(optimizer, held.specs(), updated_shards(sized, exchange, held.specs()),
                                 sized.dtype, Place::ghost, sized.plan.training.shape.validates)
                           .bytes();
    const std::size_t to_come = memory.activations + memory.messages;
    const std::size_t filling = filling_bytes(sized, held);
    memory.workspace += norm_scratch_bytes(held.gradients(), exchange.own_shards());
    memory.workspace += filling - std::min(filling, to_come);
    memory.messages += held.copies().gradients * exchange.bytes();
}

}  // namespace

LocalWork work_of(const SizedPlan& sized, int rank) {
    const Plan& plan = sized.plan;
    LocalWork work{.model = sized.model, .team = plan.team_of(rank), .dtype = sized.dtype};
    if (work.team < 0) return work;
    const Team& team = plan.teams[static_cast<std::size_t>(work.team)];
    const Program program = plan.training.long_program(work.team);
    const std::vector<Migration> migrations = within(plan.migrations, team.ranks);
    work.stages = team.stages;
    work.most_rows = most_rows(sized, team.ranks.size());
    work.copies = copies_of(plan.training.proof, static_cast<std::size_t>(work.team));
    for (const int stage : team.stages) {
        const auto s = static_cast<std::size_t>(stage);
        work.specs.push_back({.layers = plan.layout.stages[s].layers,
                              .part = part_of_rank(plan, stage, rank),
                              .recompute = plan.recompute[s]});
        work.memory = larger_of(work.memory, largest(sized, work.specs.back(), program, migrations));
    }
    return work;
}

InFlight in_flight(const SizedPlan& sized, const LocalWork& work) {
    return {.flights = flights(sized.plan, work),
            .row_buffers = row_buffers(sized.plan, work),
            .batches = batches_at_once(sized.plan, work.team),
            .batch_bytes = most_bytes_to_send(sized)};
}

bool shares_products(const Plan& plan) { return plan.most_left_out > 0 || !plan.migrations.empty(); }

// Where nothing may be left out, nobody asks which channels vary.
ResizerConfig resizer_config(const SizedPlan& sized) {
    return {.policy = sized.plan.most_left_out > 0 ? ChannelPolicy::priority : ChannelPolicy::first,
            .filling = sized.plan.remembers_left_out ? Filling::same : Filling::zero,
            .limit = sized.plan.most_left_out,
            .dtype = sized.dtype,
            .most_rows = most_rows(sized, 1),
            .place = Place::ghost};
}

GradientPlan gradient_plan(const SizedPlan& sized, const BucketRules& rules) {
    GradientPlan plan{.tensors = held_tensors(sized.plan, sized.model), .pieces = {}, .buckets = {}};
    plan.pieces = cut_in_pieces(plan.tensors);
    plan.buckets = fill_buckets(plan.tensors, plan.pieces, rules);
    return plan;
}

std::vector<ParameterShard> updated_shards(const SizedPlan& sized, const GradientExchange& exchange,
                                           const std::vector<ParameterSpec>& specs) {
    return sized.plan.shards_optimizer ? exchange.own_shards() : whole_parameters(specs);
}

std::size_t saved_bytes(const SizedPlan& sized, const OptimizerConfig& optimizer, const GradientPlan& gradients,
                        int rank) {
    std::size_t elements = 0;
    for (const TensorBox& held :
         held_state(gradients.tensors, gradients.pieces, gradients.buckets, true, rank).owned)
        elements += held.box.size();
    return elements * bytes_of(wide_of(sized.dtype)) * (1 + moments_of(optimizer));
}

std::size_t norm_scratch_bytes(const ParameterTensors& gradients, const std::vector<ParameterShard>& shards) {
    Stream stream{.backend = GhostStream{}};
    Arena counter("norm", 0, Place::ghost);
    sum_of_squares(stream, gradients, shards, counter);
    return counter.peak();
}

RankMemory plan_memory(const SizedPlan& sized, const OptimizerConfig* optimizer, const GradientPlan& gradients,
                       int rank, bool saves) {
    const LocalWork work = work_of(sized, rank);
    if (work.team < 0) return {};
    const LocalStages stages(work, nullptr, false, Place::ghost);
    const LocalParameters& held = stages.parameters();
    const StageMemory& memory = work.memory;
    const InFlight most = in_flight(sized, work);
    RankMemory rank_memory{
        .parameters = held.value_bytes(),
        .activations = most.flights * memory.activations,
        .workspace = memory.scratch + memory.again + memory.exchange,
        .messages = most.row_buffers * work.most_rows * sized.model.width * bytes_of(sized.dtype)};
    if (sized.place == Place::gpu) rank_memory.kernels = gpu_stream_bytes() + most.batches * most.batch_bytes;
    if (optimizer == nullptr) return rank_memory;
    add_training(sized, *optimizer, gradients, rank, held, rank_memory);
    if (shares_products(sized.plan)) {
        Stream stream{.backend = GhostStream{}};
        rank_memory.workspace +=
            Resizer(stream, resizer_config(sized), projections_of(work.model, work.specs), held).bytes();
    }
    std::size_t& copy = sized.place == Place::gpu ? rank_memory.copy_beside_gpu : rank_memory.copy;
    if (saves) copy = saved_bytes(sized, *optimizer, gradients, rank);
    return rank_memory;
}

}  // namespace trireme

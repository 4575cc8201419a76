#include "trireme/setup/plan_memory.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/schedule/row_buffers.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/rank_classes.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/sent_batch.hpp"

namespace trireme::setup {
namespace {

// Returns the rows of the largest micro-batch that a rank holds between two stages.
std::size_t most_rows(const SizedPlan& sized, std::size_t tensor_ranks) {
    std::size_t rows = 0;
    for (const stage::BatchShape& shape : sized.largest) rows = std::max(rows, shape.rows);
    return sized.plan.cuts_rows ? layout::cut_evenly(rows, tensor_ranks).front().count : rows;
}

// Returns the largest memory over micro-batches and over the forms of the backward pass that the team's program
// has.
stage::StageMemory largest(const SizedPlan& sized, const stage::StageSpec& spec, bool has_halves,
                           const std::vector<layout::Migration>& migrations) {
    stage::StageMemory most;
    stage::PassKind kind{.dtype = sized.dtype,
                         .cuts_rows = sized.plan.cuts_rows,
                         .resizing_limit = sized.plan.most_left_out,
                         .migrations = migrations,
                         .spread = sized.plan.spread};
    for (const stage::BatchShape& shape : sized.largest) {
        kind.halves = stage::BackwardHalves::together;
        most = larger_of(most, predict(sized.model, spec, shape, kind));
        if (!has_halves) continue;
        kind.halves = stage::BackwardHalves::apart;
        most = larger_of(most, predict(sized.model, spec, shape, kind));
    }
    return most;
}

// True if a team sends outputs of a stage to another team.
bool has_onward_messages(const schedule::PipelineShape& shape, int team, int stage) {
    if (stage + 1 == shape.stages()) return false;
    for (int m = 0; m < shape.microbatches; ++m) {
        if (shape.executor_of(stage, m) == team && shape.executor_of(stage + 1, m) != team) return true;
    }
    return false;
}

// Returns the number of micro-batches that a team keeps at a time. In an evaluation an output is kept until it
// has been sent.
std::size_t flights(const plan::Plan& plan, int team) {
    const schedule::PipelineShape& evaluation = plan.evaluation.shape;
    std::size_t evaluated = 0;
    for (const int stage : plan.teams[static_cast<std::size_t>(team)].stages) {
        const bool sends = has_onward_messages(evaluation, team, stage);
        evaluated += 1 + (sends ? static_cast<std::size_t>(evaluation.slots) : 0);
    }
    const int trained = plan.training.proof.peak_activations[static_cast<std::size_t>(team)];
    return std::max(static_cast<std::size_t>(trained), evaluated);
}

// All stages of a team have as many copies as the stage that needs most; a team that executes nothing has one.
stage::Copies copies_of(const schedule::Proof& proof, std::size_t team) {
    const std::vector<int>& versions = proof.weight_versions[team];
    return {.values = static_cast<std::size_t>(*std::max_element(versions.begin(), versions.end())),
            .gradients = static_cast<std::size_t>(std::max(1, proof.peak_gradients[team]))};
}

// The programs of all teams, unrolled over the smallest number of steps that represents any larger number.
class LongPrograms {
public:
    explicit LongPrograms(const plan::ProvedPrograms& proved)
        : shape_(proved.shape),
          phases_(proved.phases()),
          steps_(enough_steps(phases_, proved.shape.microbatches)) {}

    // Returns the number of buffers for waiting and kept inputs, and for incoming and outgoing gradients.
    std::size_t row_buffers(int team) const {
        return most_row_buffers(unrolled_of(team, phases_, shape_, steps_), team, shape_);
    }

private:
    const schedule::PipelineShape& shape_;
    schedule::Phases phases_;
    int steps_;
};

// Returns the number of micro-batches of a step or of an evaluation round that pass any of the team's `stages`.
std::size_t batches_of(const schedule::PipelineShape& shape, int team, const std::vector<int>& stages) {
    std::size_t count = 0;
    for (int m = 0; m < shape.microbatches; ++m) {
        const auto is_executor = [&](int stage) { return shape.executor_of(stage, m) == team; };
        count += std::ranges::any_of(stages, is_executor) ? 1 : 0;
    }
    return count;
}

// Training holds the batches of all steps that have begun or are looked ahead to, and those of the next step,
// which is read in advance. Between two segments only the batches of the next step and of an evaluation remain.
std::size_t batches_at_once(const plan::Plan& plan, int team) {
    const auto ahead = static_cast<std::size_t>(plan.training.look_ahead);
    const std::size_t steps = ahead == 0 ? 2 : 2 * ahead + 3;
    const std::vector<int>& stages = plan.teams[static_cast<std::size_t>(team)].stages;
    const std::size_t of_step = batches_of(plan.training.shape, team, stages);
    return std::max(steps * of_step, of_step + batches_of(plan.evaluation.shape, team, stages));
}

std::size_t most_bytes_to_send(const SizedPlan& sized) {
    std::size_t most = 0;
    for (const stage::BatchShape& shape : sized.largest) {
        device::Arena inputs("input", 0, device::MemorySpace::ghost);
        most = std::max(most, stage::bytes_to_send(ghost_batch(sized.model, shape, inputs)));
    }
    return most;
}

// Returns the bytes of the f32 buffer in which one parameter at a time is initialized before rounding.
std::size_t filling_bytes(const SizedPlan& sized, const stage::LocalParameters& held) {
    if (!optim::has_masters(sized.dtype)) return 0;
    std::size_t most = 0;
    for (const model::ParameterSpec& spec : held.specs())
        most = std::max(most, spec.size() * bytes_of(wide_of(sized.dtype)));
    return most;
}

// Computes the bytes of optimizer state for shards; each distinct size is computed once.
class OptimizerSizes {
public:
    OptimizerSizes(const SizedPlan& sized, const optim::OptimizerConfig& optimizer)
        : sized_(sized), optimizer_(optimizer) {}

    std::size_t bytes(const std::vector<std::size_t>& shards) {
        std::size_t sum = 0;
        for (const std::size_t elements : shards) sum += bytes_of_shard(elements);
        return sum;
    }

private:
    std::size_t bytes_of_shard(std::size_t elements) {
        const auto [at, is_new] = known_.try_emplace(elements);
        if (is_new) {
            const std::vector<model::ParameterSpec> shard{{.name = "shard", .columns = elements}};
            at->second = optim::Optimizer(optimizer_, shard, optim::whole_parameters(shard), sized_.dtype,
                                          device::MemorySpace::ghost, sized_.plan.training.shape.validates)
                             .bytes();
        }
        return at->second;
    }

    const SizedPlan& sized_;
    const optim::OptimizerConfig& optimizer_;
    std::unordered_map<std::size_t, std::size_t> known_;
};

// Adds gradients, optimizer state and exchange buffers. The buffer for initialization is freed before anything
// is in flight.
void add_training(const SizedPlan& sized, const optim::OptimizerConfig& optimizer,
                  const std::vector<stage::ExchangeSize>& sizes, const stage::LocalParameters& held,
                  std::vector<RankMemory>& memories) {
    OptimizerSizes optimizer_sizes(sized, optimizer);
    std::vector<std::size_t> whole;
    for (const model::ParameterSpec& spec : held.specs()) whole.push_back(spec.size());
    const std::size_t filling = filling_bytes(sized, held);
    for (std::size_t i = 0; i < memories.size(); ++i) {
        RankMemory& memory = memories[i];
        const std::vector<std::size_t>& updated = sized.plan.shards_optimizer ? sizes[i].own_shards : whole;
        memory.gradients = held.gradient_bytes();
        memory.optimizer = optimizer_sizes.bytes(updated);
        memory.workspace += optim::norm_scratch_bytes(sizes[i].own_shards.size());
        memory.workspace += filling - std::min(filling, memory.activations + memory.messages);
        memory.messages += held.copies().gradients * sizes[i].bytes;
    }
}

// Adds the copy that a checkpoint is written from: the elements that a rank owns, with their moments.
void add_copies(const SizedPlan& sized, const optim::OptimizerConfig& optimizer,
                const std::vector<stage::ExchangeSize>& sizes, std::vector<RankMemory>& memories) {
    for (std::size_t i = 0; i < memories.size(); ++i) {
        const auto& own = sizes[i].own_shards;
        const std::size_t elements = std::accumulate(own.begin(), own.end(), std::size_t{0});
        std::size_t& copy =
            sized.place == device::MemorySpace::gpu ? memories[i].copy_beside_gpu : memories[i].copy;
        copy = elements * bytes_of(wide_of(sized.dtype)) * (1 + moments_of(optimizer));
    }
}

// Returns the memory that all ranks of a class have in common.
RankMemory memory_of_work(const SizedPlan& sized, const stage::LocalWork& work, const InFlight& most,
                          const stage::LocalParameters& held) {
    const stage::StageMemory& memory = work.memory;
    RankMemory rank_memory{
        .parameters = held.value_bytes(),
        .activations = most.flights * memory.activations,
        .workspace = memory.scratch + memory.again + memory.exchange,
        .messages = most.row_buffers * work.most_rows * sized.model.width * bytes_of(sized.dtype),
        .activation = memory.activations};
    if (sized.place == device::MemorySpace::gpu)
        rank_memory.kernels = kernels::gpu_stream_bytes() + most.batches * most.batch_bytes;
    return rank_memory;
}

// Counts the memory of ranks with equal shares and equal work; `work` is that of any of them.
class ClassWalk {
public:
    ClassWalk(const SizedPlan& sized, const optim::OptimizerConfig* optimizer,
              const stage::GradientPlan& gradients, bool saves)
        : sized_(sized), optimizer_(optimizer), gradients_(gradients), saves_(saves) {}

    std::vector<RankMemory> memory_of(const std::vector<int>& ranks, const stage::LocalWork& work,
                                      const InFlight& most) const {
        const stage::LocalStages stages(work, nullptr, false, device::MemorySpace::ghost);
        const stage::LocalParameters& held = stages.parameters();
        std::vector<RankMemory> memories(ranks.size(), memory_of_work(sized_, work, most, held));
        if (optimizer_ == nullptr) return memories;
        const std::vector<stage::ExchangeSize> sizes = exchange_sizes(gradients_, ranks, held);
        add_training(sized_, *optimizer_, sizes, held, memories);
        if (saves_) add_copies(sized_, *optimizer_, sizes, memories);
        if (!shares_products(sized_.plan)) return memories;
        device::Stream stream{.backend = device::GhostStream{}};
        const stage::Resizer resizer(stream, resizer_config(sized_), projections_of(work.model, work.specs),
                                     held);
        for (RankMemory& memory : memories) memory.workspace += resizer.bytes();
        return memories;
    }

private:
    const SizedPlan& sized_;
    const optim::OptimizerConfig* optimizer_;
    const stage::GradientPlan& gradients_;
    bool saves_;
};

}  // namespace

stage::LocalWork work_of(const SizedPlan& sized, int rank) {
    const plan::Plan& plan = sized.plan;
    stage::LocalWork work{.model = sized.model, .team = plan.team_of(rank), .dtype = sized.dtype};
    if (work.team < 0) return work;
    const layout::Team& team = plan.teams[static_cast<std::size_t>(work.team)];
    const bool has_halves = goes_back_in_halves(plan.training, work.team);
    const std::vector<layout::Migration> migrations = within(plan.migrations, team.ranks);
    work.stages = team.stages;
    work.most_rows = most_rows(sized, team.ranks.size());
    work.copies = copies_of(plan.training.proof, static_cast<std::size_t>(work.team));
    for (const int stage : team.stages) {
        const auto s = static_cast<std::size_t>(stage);
        work.specs.push_back({.layers = plan.layout.stages[s].layers,
                              .part = part_of_rank(plan, stage, rank),
                              .recompute = plan.recompute[s]});
        work.memory = larger_of(work.memory, largest(sized, work.specs.back(), has_halves, migrations));
    }
    return work;
}

bool goes_back_in_halves(const plan::ProvedPrograms& training, int team) {
    const auto t = static_cast<std::size_t>(team);
    const auto is_half = [](const schedule::Instruction& each) {
        return each.op == schedule::Op::backward_input;
    };
    return std::ranges::any_of(training.programs[t], is_half) ||
           std::ranges::any_of(training.prologue[t], is_half);
}

std::vector<InFlight> in_flight_of_teams(const plan::Plan& plan) {
    const LongPrograms training(plan.training);
    const LongPrograms evaluation(plan.evaluation);
    std::vector<InFlight> all;
    for (int team = 0; team < static_cast<int>(plan.teams.size()); ++team) {
        all.push_back({.flights = flights(plan, team),
                       .row_buffers = std::max(training.row_buffers(team), evaluation.row_buffers(team)),
                       .batches = batches_at_once(plan, team)});
    }
    return all;
}

InFlight in_flight(const SizedPlan& sized, const stage::LocalWork& work) {
    const plan::Plan& plan = sized.plan;
    return {.flights = flights(plan, work.team),
            .row_buffers = std::max(LongPrograms(plan.training).row_buffers(work.team),
                                    LongPrograms(plan.evaluation).row_buffers(work.team)),
            .batches = batches_at_once(plan, work.team),
            .batch_bytes = most_bytes_to_send(sized)};
}

bool shares_products(const plan::Plan& plan) { return plan.most_left_out > 0 || !plan.migrations.empty(); }

// If nothing may be skipped, no statistics of channels are needed.
stage::ResizerConfig resizer_config(const SizedPlan& sized) {
    return {
        .policy = sized.plan.most_left_out > 0 ? model::ChannelPolicy::priority : model::ChannelPolicy::first,
        .filling = sized.plan.remembers_left_out ? model::Filling::same : model::Filling::zero,
        .limit = sized.plan.most_left_out,
        .dtype = sized.dtype,
        .most_rows = most_rows(sized, 1),
        .place = device::MemorySpace::ghost};
}

stage::GradientPlan gradient_plan(const SizedPlan& sized, const layout::BucketRules& rules) {
    stage::GradientPlan plan{.tensors = held_tensors(sized.plan, sized.model), .pieces = {}, .buckets = {}};
    plan.pieces = cut_in_pieces(plan.tensors);
    plan.buckets = fill_buckets(plan.tensors, plan.pieces, rules);
    return plan;
}

std::vector<optim::ParameterShard> updated_shards(const SizedPlan& sized,
                                                  const stage::GradientExchange& exchange,
                                                  const std::vector<model::ParameterSpec>& specs) {
    return sized.plan.shards_optimizer ? exchange.own_shards() : optim::whole_parameters(specs);
}

RankMemory plan_memory(const SizedPlan& sized, const optim::OptimizerConfig* optimizer,
                       const stage::GradientPlan& gradients, int rank, bool saves) {
    const stage::LocalWork work = work_of(sized, rank);
    if (work.team < 0) return {};
    return ClassWalk(sized, optimizer, gradients, saves)
        .memory_of({rank}, work, in_flight(sized, work))
        .front();
}

std::vector<RankMemory> memory_of_ranks(const SizedPlan& sized, const optim::OptimizerConfig* optimizer,
                                        const stage::GradientPlan& gradients, int ranks, bool saves) {
    std::vector<RankMemory> all(static_cast<std::size_t>(ranks));
    const ClassWalk walk(sized, optimizer, gradients, saves);
    const std::size_t batch_bytes = most_bytes_to_send(sized);
    for (RankClass& alike : rank_classes(sized.plan)) {
        alike.most.batch_bytes = batch_bytes;
        const stage::LocalWork work = work_of(sized, alike.ranks.front());
        const std::vector<RankMemory> memories = walk.memory_of(alike.ranks, work, alike.most);
        for (std::size_t i = 0; i < memories.size(); ++i)
            all[static_cast<std::size_t>(alike.ranks[i])] = memories[i];
    }
    return all;
}

}  // namespace trireme::setup

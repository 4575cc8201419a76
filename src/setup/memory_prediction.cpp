#include "trireme/setup/memory_prediction.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/layout/shares.hpp"
#include "trireme/schedule/step_buffers.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/rank_classes.hpp"
#include "trireme/stage/batch_upload.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::setup {
namespace {

// Returns the maximum number of rows of a micro-batch.
std::size_t find_max_rows(const SizedPlan& sized_plan) {
    std::size_t rows = 0;
    for (const stage::BatchShape& shape : sized_plan.largest_microbatches) rows = std::max(rows, shape.rows);
    return rows;
}

// Returns the number of copies of parameters and of gradients that each rank of a team keeps, at least one of
// each. All stages of the team have the number of parameter copies that the most demanding stage needs.
stage::CopyCounts count_copies(const schedule::Proof& proof, std::size_t team) {
    const std::vector<int>& versions = proof.weight_versions[team];
    return {.values = static_cast<std::size_t>(*std::max_element(versions.begin(), versions.end())),
            .gradients = static_cast<std::size_t>(std::max(1, proof.peak_gradients[team]))};
}

// Returns buffers of the sizes of the micro-batch `largest`, for the largest number of buffers that the
// programs of a training step or of an evaluation use at once.
stage::EqualBuffers make_equal_buffers(const plan::ProvedPrograms& programs, const stage::LocalWork& work,
                                       const stage::BatchShape& largest) {
    stage::StepMemoryPlanner planner(work);
    const schedule::Program program = programs.unroll_program(work.team);
    const std::vector<schedule::BufferUse> uses = list_buffer_uses(program, work.team, programs.shape);
    stage::EqualBuffers buffers{.stashes = count_buffers_in_use(uses, schedule::BufferKind::stash),
                                .row_bytes = planner.count_row_bytes(largest),
                                .rows = count_buffers_in_use(uses, schedule::BufferKind::rows)};
    const stage::BackwardPasses passes = stage::find_backward_passes(program);
    for (std::size_t s = 0; s < work.stages.size(); ++s)
        buffers.sizes = elementwise_max(buffers.sizes, planner.predict_stage(s, largest, passes).peak);
    return buffers;
}

// Returns the number of micro-batches of `shape` for which the team executes any of `stages`, the stages that
// it holds. `shape` describes a training step, or one execution of the evaluation programs.
std::size_t count_batches(const schedule::PipelineShape& shape, int team, const std::vector<int>& stages) {
    std::size_t count = 0;
    for (int m = 0; m < shape.microbatches; ++m) {
        const auto is_executor = [&](int stage) { return shape.find_executor(stage, m) == team; };
        count += std::ranges::any_of(stages, is_executor) ? 1 : 0;
    }
    return count;
}

// Returns the maximum number of input batches, one per micro-batch, that a team holds at a time. The maximum is
// over two cases:
// - During training, a team holds the batches of the current step, and of the next step, which is read in
//   advance. If the programs already compute micro-batches of the `ahead` following steps, the team also holds
//   the batches of these steps, and of the last `ahead` + 1 steps, which other ranks may not have finished.
// - Between two segments, when the pipeline is drained, a team holds the batches of the next step and of an
//   evaluation.
std::size_t count_batches_in_memory(const plan::Plan& plan, int team) {
    const auto ahead = static_cast<std::size_t>(plan.training.look_ahead);
    const std::size_t steps_in_memory = ahead == 0 ? 2 : 2 * ahead + 3;
    const std::vector<int>& stages = plan.teams[static_cast<std::size_t>(team)].stages;
    const std::size_t batches_per_step = count_batches(plan.training.shape, team, stages);
    return std::max(steps_in_memory * batches_per_step,
                    batches_per_step + count_batches(plan.evaluation.shape, team, stages));
}

// Returns the bytes of the input of a micro-batch that are copied to a GPU: the maximum over the micro-batches.
std::size_t compute_max_batch_bytes(const SizedPlan& sized_plan) {
    std::size_t max_bytes = 0;
    for (const stage::BatchShape& shape : sized_plan.largest_microbatches) {
        device::Arena inputs("input", 0, device::MemorySpace::ghost);
        max_bytes =
            std::max(max_bytes, stage::count_upload_bytes(make_ghost_batch(sized_plan.model, shape, inputs)));
    }
    return max_bytes;
}

// Computes the bytes of optimizer state. Computes shards with equal numbers of elements only once.
class OptimizerMemory {
public:
    OptimizerMemory(const SizedPlan& sized_plan, const optim::OptimizerConfig& optimizer)
        : sized_plan_(sized_plan), optimizer_(optimizer) {}

    // Adds the bytes of all shards of a rank to `memory`. `elements_per_shard` has their numbers of elements.
    void add_bytes(const std::vector<std::size_t>& elements_per_shard, RankMemory& memory) {
        for (const std::size_t elements : elements_per_shard) {
            const ShardBytes& shard = compute_shard_bytes(elements);
            memory.optimizer += shard.all;
            memory.offloadable += shard.state;
        }
    }

private:
    struct ShardBytes {
        std::size_t all = 0;    // of state and backup
        std::size_t state = 0;  // of state
    };

    const ShardBytes& compute_shard_bytes(std::size_t elements) {
        const auto [at, is_new] = bytes_by_elements_.try_emplace(elements);
        if (!is_new) return at->second;
        const std::vector<model::ParameterSpec> shard{{.name = "shard", .columns = elements}};
        const optim::Optimizer optimizer(optimizer_, shard, optim::make_whole_shards(shard), sized_plan_.dtype,
                                         device::MemorySpace::ghost,
                                         sized_plan_.plan.training.shape.has_speculative_updates);
        at->second.all = optimizer.bytes();
        for (const model::ParameterTensors& tensors : optimizer.state()) at->second.state += tensors.bytes();
        return at->second;
    }

    const SizedPlan& sized_plan_;
    const optim::OptimizerConfig& optimizer_;
    std::unordered_map<std::size_t, ShardBytes> bytes_by_elements_;
};

// Adds gradients, optimizer state and the buffers of gradient reductions to the memory of each rank. `sizes`
// and `memories` have one entry per rank.
void add_training_memory(const SizedPlan& sized_plan, const optim::OptimizerConfig& optimizer,
                         const std::vector<stage::ExchangeSize>& sizes,
                         const stage::LocalParameters& parameters, std::vector<RankMemory>& memories) {
    OptimizerMemory optimizer_memory(sized_plan, optimizer);
    std::vector<std::size_t> parameter_sizes;
    for (const model::ParameterSpec& spec : parameters.specs())
        if (spec.is_trained) parameter_sizes.push_back(spec.size());
    for (std::size_t i = 0; i < memories.size(); ++i) {
        RankMemory& memory = memories[i];
        const std::vector<std::size_t>& updated_shards =
            sized_plan.plan.shards_optimizer ? sizes[i].own_shards : parameter_sizes;
        memory.gradients = parameters.count_gradient_bytes();
        optimizer_memory.add_bytes(updated_shards, memory);
        memory.workspace += optim::count_norm_scratch_bytes(sizes[i].own_shards.size());
        memory.messages += parameters.copy_counts().gradients * sizes[i].bytes;
    }
}

// Returns the number of elements of frozen tensors that `rank` saves.
std::size_t count_frozen_elements(const stage::GradientPlan& gradients, int rank) {
    std::size_t elements = 0;
    for (const layout::TensorBox& owned :
         layout::list_owned_frozen_boxes(gradients.tensors, gradients.pieces, rank))
        elements += owned.box.rows.count * owned.box.columns.count;
    return elements;
}

// Adds to the memory of each rank the copy from which checkpoints are written: the parameter elements that the
// rank owns, and the moments of trained ones. `frozen_elements` is the largest number of frozen elements of a
// rank. `sizes` and `memories` have one entry per rank.
void add_checkpoint_copies(const SizedPlan& sized_plan, const optim::OptimizerConfig& optimizer,
                           std::size_t frozen_elements, const std::vector<stage::ExchangeSize>& sizes,
                           std::vector<RankMemory>& memories) {
    for (std::size_t i = 0; i < memories.size(); ++i) {
        const auto& owned_shards = sizes[i].own_shards;
        const std::size_t elements = std::accumulate(owned_shards.begin(), owned_shards.end(), std::size_t{0});
        std::size_t& copy = sized_plan.memory_space == device::MemorySpace::gpu ? memories[i].copy_beside_gpu
                                                                                : memories[i].copy;
        copy = (elements * (1 + count_moments(optimizer)) + frozen_elements) *
               byte_size(accumulator_type(sized_plan.dtype));
    }
}

// Sets the memory for the buffers of a step in `memory`, by purpose. The sum is `max_step_bytes`. `buffers` are
// those of the largest micro-batch of training.
void set_step_memory(const stage::EqualBuffers& buffers, std::size_t max_step_bytes, RankMemory& memory) {
    memory.activation = buffers.sizes.activations;
    memory.step_buffers = max_step_bytes;
    memory.workspace = std::min(buffers.sizes.count_workspace_bytes(), max_step_bytes);
    memory.messages = std::min(buffers.rows * buffers.row_bytes, max_step_bytes - memory.workspace);
    memory.activations = max_step_bytes - memory.workspace - memory.messages;
}

// Returns the buffers of the largest micro-batch of training. If steps choose their recomputation, returns
// those of the choice that needs the most bytes.
stage::EqualBuffers make_training_buffers(const SizedPlan& sized_plan, const stage::LocalWork& work) {
    const plan::ProvedPrograms& training = sized_plan.plan.training;
    if (sized_plan.step_levels.empty())
        return make_equal_buffers(training, work, sized_plan.largest_microbatches.front());
    stage::EqualBuffers largest;
    for (const StepLevel& level : sized_plan.step_levels) {
        stage::LocalWork work_of_level = work;
        for (std::size_t s = 0; s < work.stages.size(); ++s)
            work_of_level.specs[s].recompute = level.recompute[static_cast<std::size_t>(work.stages[s])];
        const stage::EqualBuffers buffers =
            make_equal_buffers(training, work_of_level, level.largest_microbatch);
        if (buffers.count_bytes() > largest.count_bytes()) largest = buffers;
    }
    return largest;
}

// Returns the bytes of equal buffers for the largest micro-batches of training and evaluation.
std::size_t count_equal_bytes(const SizedPlan& sized_plan, const stage::LocalWork& work,
                              const stage::EqualBuffers& training) {
    const stage::EqualBuffers evaluation =
        make_equal_buffers(sized_plan.plan.evaluation, work, sized_plan.largest_microbatches.back());
    return std::max(training.count_bytes(), evaluation.count_bytes());
}

// Returns `bytes`, or less if SizedPlan::step_limits of the rank allows less.
std::size_t limit_step_bytes(const SizedPlan& sized_plan, int rank, std::size_t bytes) {
    return sized_plan.step_limits.empty()
               ? bytes
               : std::min(bytes, sized_plan.step_limits[static_cast<std::size_t>(rank)].bytes);
}

// Returns the memory that is equal on all ranks of a class (see rank_classes.hpp), because it does not depend
// on the shards that a rank owns, without the buffers of steps. `parameters` are those of any rank of the
// class.
RankMemory predict_common_memory(const SizedPlan& sized_plan, const HeldBatches& batches,
                                 const stage::LocalParameters& parameters) {
    RankMemory memory{.parameters = parameters.count_value_bytes()};
    if (sized_plan.memory_space == device::MemorySpace::gpu)
        memory.kernels = kernels::count_gpu_stream_bytes() + batches.count * batches.bytes_each;
    return memory;
}

// Predicts the memory of all ranks of one class at a time. See predict_rank_memory() for the arguments.
class RankMemoryPredictor {
public:
    RankMemoryPredictor(const SizedPlan& sized_plan, const optim::OptimizerConfig* optimizer,
                        const stage::GradientPlan& gradients, bool saves_checkpoints)
        : sized_plan_(sized_plan),
          optimizer_(optimizer),
          gradients_(gradients),
          saves_checkpoints_(saves_checkpoints) {}

    // Returns one entry per rank of `ranks`, which are ranks of one class, ascending. `work` is the work of any
    // of these ranks.
    std::vector<RankMemory> predict_memory(const std::vector<int>& ranks, const stage::LocalWork& work,
                                           const HeldBatches& batches) const {
        const stage::LocalParameters parameters = make_local_parameters(work, device::MemorySpace::ghost);
        std::vector<RankMemory> memories(ranks.size(), predict_common_memory(sized_plan_, batches, parameters));
        const stage::EqualBuffers buffers = make_training_buffers(sized_plan_, work);
        const std::size_t step_bytes = count_equal_bytes(sized_plan_, work, buffers);
        for (std::size_t i = 0; i < ranks.size(); ++i)
            set_step_memory(buffers, limit_step_bytes(sized_plan_, ranks[i], step_bytes), memories[i]);
        if (optimizer_ == nullptr) return memories;
        const std::vector<stage::ExchangeSize> sizes = predict_exchange_sizes(gradients_, ranks, parameters);
        add_training_memory(sized_plan_, *optimizer_, sizes, parameters, memories);
        for (RankMemory& memory : memories)
            if (!sized_plan_.step_limits.empty() && memory.step_buffers == step_bytes)
                memory.offloadable = 0;  // the buffers of every step fit
        // The first rank of a class saves the most elements.
        if (saves_checkpoints_)
            add_checkpoint_copies(sized_plan_, *optimizer_, count_frozen_elements(gradients_, ranks.front()),
                                  sizes, memories);
        if (!may_offload_or_skip(sized_plan_.plan)) return memories;
        device::Stream stream{.backend = device::GhostStream{}};
        const stage::Resizer resizer(stream, make_resizer_config(sized_plan_),
                                     list_projections(work.model, work.specs), parameters);
        for (RankMemory& memory : memories) memory.workspace += resizer.bytes();
        return memories;
    }

private:
    const SizedPlan& sized_plan_;
    const optim::OptimizerConfig* optimizer_;  // null if the run only evaluates
    const stage::GradientPlan& gradients_;
    bool saves_checkpoints_;
};

}  // namespace

stage::LocalWork make_local_work(const SizedPlan& sized_plan, int rank) {
    const plan::Plan& plan = sized_plan.plan;
    stage::LocalWork work{.model = sized_plan.model, .rank = rank, .team = plan.find_team(rank)};
    if (work.team < 0) return work;
    const layout::Team& team = plan.teams[static_cast<std::size_t>(work.team)];
    work.stages = team.stages;
    work.variant = {.dtype = sized_plan.dtype,
                    .cuts_rows = plan.cuts_rows,
                    .uses_cache = sized_plan.uses_cache,
                    .resizing_limit = plan.max_skipped_fraction,
                    .migrations = find_team_migrations(plan.migrations, team.ranks),
                    .spread = plan.spread};
    work.copies = count_copies(plan.training.proof, static_cast<std::size_t>(work.team));
    for (const int stage : team.stages) {
        const auto s = static_cast<std::size_t>(stage);
        work.specs.push_back({.layers = plan.layout.stages[s].layers,
                              .part = find_tensor_part(plan, stage, rank),
                              .recompute = plan.recompute[s],
                              .first_trained_layer = plan.first_trained_layer()});
    }
    return work;
}

// A step has at most the bytes of equal buffers for the largest micro-batch: see place_buffers().
void limit_step_memory(const SizedPlan& sized_plan, stage::LocalWork& work) {
    const stage::EqualBuffers buffers = make_training_buffers(sized_plan, work);
    const std::size_t equal_bytes = count_equal_bytes(sized_plan, work, buffers);
    work.max_step_bytes = limit_step_bytes(sized_plan, work.rank, equal_bytes);
    if (work.max_step_bytes < equal_bytes) {
        work.offloadable_bytes = sized_plan.step_limits[static_cast<std::size_t>(work.rank)].offloadable_bytes;
        work.max_step_bytes += work.offloadable_bytes;
    }
    if (sized_plan.plan.training.have_common_buffers) work.equal_buffers = buffers;
}

bool splits_backward_passes(const plan::ProvedPrograms& training, int team) {
    const auto t = static_cast<std::size_t>(team);
    const auto is_backward_input = [](const schedule::Instruction& each) {
        return each.op == schedule::Op::backward_input;
    };
    return std::ranges::any_of(training.programs[t], is_backward_input) ||
           std::ranges::any_of(training.prologue[t], is_backward_input);
}

HeldBatches count_held_batches(const SizedPlan& sized_plan, int team) {
    return {.count = count_batches_in_memory(sized_plan.plan, team),
            .bytes_each = compute_max_batch_bytes(sized_plan)};
}

bool may_offload_or_skip(const plan::Plan& plan) {
    return plan.max_skipped_fraction > 0 || !plan.migrations.empty();
}

// If no channel may be skipped, the policy `first` avoids the memory for statistics of channels.
stage::ResizerConfig make_resizer_config(const SizedPlan& sized_plan) {
    return {.policy = sized_plan.plan.max_skipped_fraction > 0 ? model::ChannelPolicy::priority
                                                               : model::ChannelPolicy::first,
            .filling = sized_plan.plan.keeps_skipped_gradients ? model::Filling::same : model::Filling::zero,
            .max_skipped_fraction = sized_plan.plan.max_skipped_fraction,
            .dtype = sized_plan.dtype,
            .max_rows = find_max_rows(sized_plan),
            .memory_space = device::MemorySpace::ghost};
}

stage::GradientPlan make_gradient_plan(const SizedPlan& sized_plan, const layout::BucketRules& rules) {
    stage::GradientPlan plan{
        .tensors = list_held_tensors(sized_plan.plan, sized_plan.model), .pieces = {}, .buckets = {}};
    plan.pieces = cut_in_pieces(plan.tensors);
    plan.buckets = fill_buckets(plan.tensors, plan.pieces, rules);
    return plan;
}

std::vector<optim::ParameterShard> list_updated_shards(const SizedPlan& sized_plan,
                                                       const stage::GradientExchange& exchange,
                                                       const std::vector<model::ParameterSpec>& specs) {
    return sized_plan.plan.shards_optimizer ? exchange.own_shards() : optim::make_whole_shards(specs);
}

RankMemory predict_rank_memory(const SizedPlan& sized_plan, const optim::OptimizerConfig* optimizer,
                               const stage::GradientPlan& gradients, int rank, bool saves_checkpoints) {
    const stage::LocalWork work = make_local_work(sized_plan, rank);
    if (work.team < 0) return {};
    return RankMemoryPredictor(sized_plan, optimizer, gradients, saves_checkpoints)
        .predict_memory({rank}, work, count_held_batches(sized_plan, work.team))
        .front();
}

std::vector<RankMemory> predict_memory_of_ranks(const SizedPlan& sized_plan,
                                                const optim::OptimizerConfig* optimizer,
                                                const stage::GradientPlan& gradients, int ranks,
                                                bool saves_checkpoints) {
    std::vector<RankMemory> memory_of_ranks(static_cast<std::size_t>(ranks));
    const RankMemoryPredictor predictor(sized_plan, optimizer, gradients, saves_checkpoints);
    const std::size_t batch_bytes = compute_max_batch_bytes(sized_plan);
    std::size_t class_index = 0;
    for (const RankClass& rank_class : find_rank_classes(sized_plan.plan)) {
        const stage::LocalWork work = make_local_work(sized_plan, rank_class.ranks.front());
        std::vector<RankMemory> memories = predictor.predict_memory(
            rank_class.ranks, work, {count_batches_in_memory(sized_plan.plan, work.team), batch_bytes});
        for (std::size_t i = 0; i < memories.size(); ++i) {
            memories[i].class_index = class_index;
            memory_of_ranks[static_cast<std::size_t>(rank_class.ranks[i])] = memories[i];
        }
        ++class_index;
    }
    return memory_of_ranks;
}

std::vector<RankMemory> predict_plan_memory(const Job& job, const PlanState& state, int ranks) {
    const SizedPlan sized_plan(job, state);
    const optim::OptimizerConfig* const optimizer = &job.config.optimizer;
    if (job.buckets == layout::BucketRules{})
        return predict_memory_of_ranks(sized_plan, optimizer, state.gradients, ranks);
    return predict_memory_of_ranks(sized_plan, optimizer, make_gradient_plan(sized_plan), ranks);
}

std::vector<RankMemory> predict_run_memory(const Job& job, const PlanState& state, int ranks) {
    return predict_memory_of_ranks({job, state}, &job.config.optimizer, state.gradients, ranks,
                                   job.config.run.checkpoint_every > 0);
}

std::string explain_lack_on_devices(const Job& job, const std::vector<RankMemory>& memories) {
    std::string lack;
    for (std::size_t rank = 0; lack.empty() && rank < memories.size(); ++rank)
        lack = explain_lack_of_device_memory(job.devices, static_cast<int>(rank), memories[rank].total());
    return lack;
}

}  // namespace trireme::setup

#include "rank/parameter_updates.hpp"

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "rank/simulated_sums.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/charge_copy.hpp"
#include "trireme/rank/offload_stores.hpp"
#include "trireme/rank/step_record.hpp"

namespace trireme::rank {
namespace {

// The numbers that each rank posts for a step. `count` is the number of fields.
struct NormFields {
    enum : std::size_t { loss, square_sum, count };
};

// Returns the block of the parameter of each shard; nothing for a shard outside the blocks. Layer 0 is the
// embedding, and each block has two layers.
std::vector<std::optional<std::size_t>> find_blocks(const model::ModelConfig& model,
                                                    const std::vector<model::ParameterSpec>& specs,
                                                    const std::vector<optim::ParameterShard>& shards) {
    std::map<std::string, std::size_t> blocks;  // by parameter
    const std::vector<model::Layer> layers = build_layers(model);
    for (std::size_t half = 0; half < 2 * model.layers; ++half)
        for (const model::ParameterSpec& spec : list_parameters(layers[1 + half])) blocks[spec.name] = half / 2;
    std::vector<std::optional<std::size_t>> blocks_of_shards;
    for (const optim::ParameterShard& shard : shards) {
        const auto block = blocks.find(specs[shard.parameter].name);
        blocks_of_shards.push_back(block == blocks.end() ? std::nullopt : std::optional(block->second));
    }
    return blocks_of_shards;
}

}  // namespace

comm::GatheredNumbers take_traced(comm::StepGather& gather, device::Trace* trace, const char* wait) {
    const device::TraceSpan span(trace, device::TraceLane::messages, wait);
    return gather.take();
}

ParameterUpdates::ParameterUpdates(const setup::Job& job, const setup::PlanState& current, RankModel& model,
                                   device::Stream& stream, device::Trace* trace)
    : job_(job),
      current_(current),
      model_(model),
      stream_(stream),
      trace_(trace),
      norm_gather_(*model.groups().update, NormFields::count) {
    if (model_.is_idle()) return;
    const stage::LocalParameters& parameters = model_.stages().parameters();
    sum_bytes_ = count_sum_bytes(current.gradients, model_.rank(), accumulator_type(job.dtype));
    for (std::size_t copy = 0; copy < parameters.copy_counts().gradients; ++copy) {
        exchanges_.emplace_back(current.gradients, model_.rank(), parameters.specs(), parameters.values(),
                                parameters.gradients(copy), model_.groups().data, job.memory_space);
        if (stream_.is_on_gpu()) exchanges_.back().set_compute_queue(stream_.gpu_times->queue());
    }
    const std::vector<optim::ParameterShard>& own_shards = exchanges_.front().own_shards();
    optimizer_.emplace(job.config.optimizer, parameters.specs(),
                       setup::list_updated_shards({job, current}, exchanges_.front(), parameters.specs()),
                       job.dtype, job.memory_space, current.plan.training.shape.has_speculative_updates,
                       model_.stages().buffers().state_memory());
    scratch_.emplace(
        "norm",
        job.memory_space == device::MemorySpace::ghost ? 0 : optim::count_norm_scratch_bytes(own_shards.size()),
        job.memory_space);
    if (count_recorded_blocks(job) > 0) shard_blocks_ = find_blocks(job.model, parameters.specs(), own_shards);
    model_.stages().set_gradient_exchanges(&exchanges_);
}

void ParameterUpdates::begin_segment() {
    steps_.clear();
    forgotten_steps_ = posted_steps_ = 0;
}

void ParameterUpdates::add_step(double learning_rate) { steps_.push_back({.learning_rate = learning_rate}); }

void ParameterUpdates::forget_first() {
    steps_.pop_front();
    ++forgotten_steps_;
}

void ParameterUpdates::post_norms() {
    for (; model_.has_reduced_gradients(posted_steps_); ++posted_steps_) {
        StepUpdate& step = find_mutable_update(posted_steps_);
        const std::size_t copy = find_gradient_copy_index(posted_steps_);
        sum_squares(step, copy);
        norm_gather_.post(std::array{model_.sum_own_losses(posted_steps_), step.square_sum});
    }
    if (!awaited_moments_) return;
    awaited_moments_->advance();
    if (awaited_moments_->is_complete()) arrival_span_.reset();
}

void ParameterUpdates::sum_squares(StepUpdate& step, std::size_t copy) {
    const std::vector<double> squares = list_sums_of_squares(
        stream_, model_.stages().parameters().gradients(copy), exchanges_[copy].own_shards(), *scratch_);
    step.square_sum = std::accumulate(squares.begin(), squares.end(), 0.0);
    step.block_squares.resize(count_recorded_blocks(job_));
    for (std::size_t shard = 0; shard < shard_blocks_.size(); ++shard)
        if (shard_blocks_[shard]) step.block_squares[*shard_blocks_[shard]] += squares[shard];
}

void ParameterUpdates::await_moments(std::unique_ptr<OptimizerStateMove> moments) {
    awaited_moments_ = std::move(moments);
    arrival_span_.emplace(trace_, device::TraceLane::state, "moments");
}

// In a step, a rank waits for moments only after its gradients have been reduced. So the waits of ranks cannot
// form a cycle.
void ParameterUpdates::finish_moments() {
    if (!awaited_moments_) return;
    const device::TraceSpan span(trace_, device::TraceLane::messages, "wait for moments");
    awaited_moments_->finish();
    awaited_moments_.reset();
    arrival_span_.reset();
}

void ParameterUpdates::prepare_offload(const std::filesystem::path& folder) {
    if (model_.is_idle()) return;
    stage::PassBuffers& buffers = model_.stages().buffers();
    const std::size_t bytes = buffers.state_memory().bytes;
    if (bytes == 0) return;
    offload_store_ = make_offload_store(job_, model_.rank(), stream_, folder, bytes);
    buffers.move_state_into_block(*offload_store_,
                                  [&](device::BufferPart memory) { optimizer_->place_state(memory); });
}

std::size_t ParameterUpdates::take_sent_bytes() {
    std::size_t bytes = 0;
    for (stage::GradientExchange& exchange : exchanges_) bytes += exchange.take_sent_bytes();
    return bytes;
}

RankState ParameterUpdates::take_state() {
    finish_moments();
    if (model_.is_idle()) return {};
    if (offload_store_)
        model_.stages().buffers().move_state_out_of_block(
            *offload_store_, [&](device::BufferPart memory) { optimizer_->place_state(memory); });
    stage::LocalParameters& parameters = model_.stages().parameters();
    RankState state{
        .specs = parameters.specs(), .shards = optimizer_->shards(), .updates = optimizer_->updates()};
    state.values = parameters.take_values();
    state.optimizer_state = optimizer_->take_state();
    return state;
}

void ParameterUpdates::update(int step_index) {
    StepUpdate& step = find_mutable_update(step_index);
    const std::size_t copy = find_gradient_copy_index(step_index);
    {
        const device::TraceSpan span(trace_, device::TraceLane::messages, "wait for gradients");
        exchanges_[copy].finish();
    }
    kernels::charge_copy(stream_, sum_bytes_);  // stage::GradientExchange sums without kernels
    post_norms();
    finish_moments();
    model_.stages().buffers().return_state();
    const bool is_speculative = current_.plan.training.shape.has_speculative_updates && may_speculate_;
    if (is_speculative) {
        optimizer_->save_backup(stream_, model_.stages().parameters().values());
    } else {
        receive_norm(step);
    }
    if (step.is_skipped) return;
    if (!current_.plan.shards_optimizer) exchanges_[copy].all_gather_gradients();
    apply(step, copy);
}

bool ParameterUpdates::validate(int step_index) {
    StepUpdate& step = find_mutable_update(step_index);
    if (step.is_norm_known) return true;
    receive_norm(step);
    if (may_speculate_) return true;
    roll_back(step, find_gradient_copy_index(step_index));
    step.is_rolled_back = true;
    return false;
}

// The summed loss and the global norm have equal bits on all ranks of the update group, so either all these
// ranks skip the update, or none of them does.
void ParameterUpdates::receive_norm(StepUpdate& step) {
    const comm::GatheredNumbers gathered = take_traced(norm_gather_, trace_, "wait for norms");
    const double norm = std::sqrt(gathered.sum(NormFields::square_sum));
    const bool is_finite = std::isfinite(gathered.sum(NormFields::loss)) && std::isfinite(norm);
    if (!is_finite && job_.config.run.on_nan == config::OnNan::stop) has_diverged_ = true;
    step.is_skipped = !is_finite || has_diverged_;
    step.clip_scale = optim::compute_clip_scale(norm, job_.config.optimizer.clip);
    step.is_norm_known = true;
    may_speculate_ = step.clip_scale == 1 && !step.is_skipped;
}

void ParameterUpdates::apply(const StepUpdate& step, std::size_t copy) {
    const stage::LocalParameters& parameters = model_.stages().parameters();
    before_update_();
    optimizer_->update(stream_, parameters.values(), parameters.gradients(copy), step.learning_rate,
                       step.clip_scale, &undecayed_channels_);
    if (current_.plan.shards_optimizer) exchanges_[copy].all_gather_values();
}

void ParameterUpdates::roll_back(const StepUpdate& step, std::size_t copy) {
    optimizer_->restore_backup(stream_, model_.stages().parameters().values());
    if (!step.is_skipped) return apply(step, copy);
    // Restores the shards that other ranks update; the backup has only this rank's shards.
    if (current_.plan.shards_optimizer) exchanges_[copy].all_gather_values();
}

void ParameterUpdates::post_no_norm() { norm_gather_.post(std::array{0.0, 0.0}); }

void ParameterUpdates::join_update() {
    finish_moments();
    norm_gather_.take();
}

// The kernels that compute the gradient norm are the first kernels that read the reduced gradients. `check`
// checks the inputs of these kernels.
void ParameterUpdates::check_gradients(kernels::ValueCheck& check) {
    stage::GradientExchange& exchange = exchanges_.front();
    exchange.finish();
    check.begin_pass(-1, -1, true);  // no stage and no micro-batch
    check.begin_layer("gradient norm");
    compute_sum_of_squares(stream_, model_.stages().parameters().gradients(), exchange.own_shards(), *scratch_);
}

}  // namespace trireme::rank

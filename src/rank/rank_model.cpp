#include "trireme/rank/rank_model.hpp"

#include <utility>

#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/sample_homes.hpp"

namespace trireme::rank {

device::Stream make_stream(config::DeviceKind device, int threads,
                           const device::KernelTimePredictor& predict_seconds) {
    switch (device) {
        case config::DeviceKind::reference:
            return {.backend = device::ReferenceStream{}, .predict_seconds = predict_seconds};
        case config::DeviceKind::cpu:
        case config::DeviceKind::automatic:  // the device is not chosen yet
            return {.backend = device::CpuStream{.threads = threads}, .predict_seconds = predict_seconds};
        case config::DeviceKind::cuda:
            return kernels::make_gpu_stream();
        case config::DeviceKind::ghost:
            return {.backend = device::GhostStream{}, .predict_seconds = predict_seconds};
    }
    throw BugError("unknown device");
}

int count_stream_threads(const device::Stream& stream) {
    const device::CpuStream* const cpu = std::get_if<device::CpuStream>(&stream.backend);
    return cpu == nullptr ? 1 : cpu->threads;
}

RankModel::RankModel(const setup::Job& job, const setup::PlanState& current, int rank, RankGroups groups,
                     device::Trace* trace, std::optional<model::ParameterTensors> values)
    : job_(job), current_(current), rank_(rank), groups_(std::move(groups)) {
    stage::LocalWork work = setup::make_local_work({job, current}, rank_);
    if (work.team < 0) return;
    if (job.memory_space != device::MemorySpace::ghost || !current.step_limits.empty())
        setup::limit_step_memory({job, current}, work);
    held_batches_ = setup::count_held_batches({job, current}, work.team);
    stages_ =
        std::make_unique<stage::LocalStages>(work, groups_.tensor.get(), job.memory_space, std::move(values));
    training_ = make_engine(current.plan.training, trace);
    evaluation_ = make_engine(current.plan.evaluation, nullptr);
    stages_->set_after_layer_callback([this] {
        training_->progress();
        if (execution_ && execution_->events != nullptr) execution_->events->after_layer();
    });
}

std::unique_ptr<pipeline::Engine> RankModel::make_engine(const plan::ProvedPrograms& programs,
                                                         device::Trace* trace) const {
    return std::make_unique<pipeline::Engine>(
        pipeline::EngineContext{.rank = rank_,
                                .teams = current_.plan.teams,
                                .shape = programs.shape,
                                .is_sequence_parallel = current_.plan.cuts_rows,
                                .completes_sends_before_steps = !programs.have_common_buffers,
                                .activations = *groups_.activations,
                                .gradients = *groups_.gradients,
                                .group_ranks = groups_.pipe,
                                .max_steps_in_flight = programs.look_ahead + 2,
                                .trace = trace});
}

void RankModel::fill(device::Stream& stream, std::uint64_t seed, const InitialValues& values,
                     optim::Optimizer* optimizer) {
    if (is_idle()) return;
    const stage::LocalParameters& parameters = stages_->parameters();
    const bool has_master_weights = optimizer != nullptr && optimizer->master_weights() != nullptr;
    // Master weights are initialized with unrounded values. Gradients are unused before the first step, so
    // their memory holds these values. The first backward pass clears it.
    // Frozen parameters have neither.
    std::vector<device::Tensor> exact_values;
    for (std::size_t i = 0; i < parameters.specs().size(); ++i) {
        const bool is_rounded = !has_master_weights || !parameters.specs()[i].is_trained;
        exact_values.push_back(is_rounded ? parameters.values()[i] : parameters.gradients()[i]);
    }
    if (!values.resumes) initialize_parameters(stream, parameters.specs(), exact_values, seed);
    if (values.stored != nullptr)
        load_parameters(*values.stored, parameters.specs(), exact_values, count_stream_threads(stream));
    if (!has_master_weights) return;
    for (std::size_t i = 0; i < parameters.specs().size(); ++i) {
        if (!parameters.specs()[i].is_trained) continue;
        optimizer->initialize_master_weights(stream, i, exact_values[i]);
        launch(stream, kernels::Copy{.input = exact_values[i], .output = parameters.values()[i]});
    }
}

std::size_t RankModel::count_stored_bytes(const checkpoint::StoredModel& stored) const {
    return is_idle() ? 0 : stored.count_stored_bytes(stages_->parameters().specs());
}

void RankModel::prepare_rebalancing(device::Stream& stream, const config::ResizeConfig& resize,
                                    std::uint64_t seed) {
    if (is_idle()) return;
    const stage::LocalWork work = setup::make_local_work({job_, current_}, rank_);
    stage::ResizerConfig config = setup::make_resizer_config({job_, current_});
    if (current_.plan.max_skipped_fraction > 0) {
        config.policy = resize.channel_policy;
        config.filling = resize.filling;
        config.adapts_to_variation = resize.adapts_to_variation;
    }
    config.key = RandomKey{seed}.then("left out").then(static_cast<std::uint64_t>(rank_));
    config.memory_space = job_.memory_space;
    resizer_ = std::make_unique<stage::Resizer>(stream, config, list_projections(work.model, work.specs),
                                                stages_->parameters());
    if (groups_.tensor)
        offloaded_ = std::make_unique<model::OffloadedMatmuls>(list_team_projections(work.model, work.specs),
                                                               groups_.tensor->rank(), current_.plan.spread);
    stages_->rebalance({.resizing = &resizer_->resizing(), .offloaded_work = offloaded_.get()});
}

void RankModel::rebalance_matmuls(device::Stream& stream) {
    if (!resizer_) return;
    const plan::Plan& plan = current_.plan;
    const double uncomputed_fraction = plan.skipped.empty() ? 0 : plan.skipped[static_cast<std::size_t>(rank_)];
    if (!offloaded_) return resizer_->begin_period(stream, uncomputed_fraction);
    const std::vector<layout::Migration> migrations = list_own_team_migrations();
    std::vector<std::size_t> offloaded_channels;  // number per projection
    for (const model::ProjectionShape& projection : resizer_->projections())
        offloaded_channels.push_back(offloaded_->count_offloaded_channels(migrations, projection));
    resizer_->begin_period(stream, uncomputed_fraction, offloaded_channels);
    offload(migrations);
}

std::vector<layout::Migration> RankModel::list_own_team_migrations() const {
    const plan::Plan& plan = current_.plan;
    return find_team_migrations(plan.migrations,
                                plan.teams[static_cast<std::size_t>(plan.find_team(rank_))].ranks);
}

// Offloads some of the channels that this rank does not skip, as `migrations` says. If the migrations have
// changed, changes the memory of passes.
void RankModel::offload(const std::vector<layout::Migration>& migrations) {
    resizer_->resizing().begin_period(offloaded_->begin_period(migrations, resizer_->kept_channels()));
    offloaded_->send_channel_lists(*groups_.tensor);
    if (migrations == std::exchange(migrations_, migrations)) return;
    stage::LocalWork work = setup::make_local_work({job_, current_}, rank_);
    if (job_.memory_space != device::MemorySpace::ghost) setup::limit_step_memory({job_, current_}, work);
    stages_->change_memory(work);
}

void RankModel::resume_rebalancing() {
    if (offloaded_) offload(list_own_team_migrations());
}

std::optional<model::ResizingState> RankModel::resizing_state() const {
    if (!resizer_ || current_.plan.max_skipped_fraction == 0) return std::nullopt;
    return resizer_->state();
}

optim::SkippedChannelMap RankModel::skipped_channels() const {
    return resizer_ ? resizer_->list_skipped_channels() : optim::SkippedChannelMap{};
}

bool RankModel::executes_microbatch(const schedule::PipelineShape& shape, int microbatch) const {
    if (is_idle()) return false;
    const int team = current_.plan.find_team(rank_);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        if (shape.find_executor(stage, microbatch) == team) return true;
    }
    return false;
}

void RankModel::begin(device::Stream& stream, const plan::ProvedPrograms& programs,
                      const ExecutionOptions& options) {
    programs_ = &programs;
    if (is_idle()) return;
    team_program_ = programs.unroll_program(current_.plan.find_team(rank_), 1);
    execution_.emplace(stage::Execution{.shape = programs.shape,
                                        .program = team_program_,
                                        .dropout_key = options.dropout_key,
                                        .label_smoothing = options.label_smoothing,
                                        .events = options.events});
    if (cache::SampleCache* const cache = find_cache(job_, rank_))
        execution_->cache.emplace(stage::CacheUse{
            .cache = *cache,
            .split = programs.shape.is_training ? cache::Split::train : cache::Split::validation,
            .simulated_link = find_cache_link(job_)});
    reserve_memory(stream);
    stages_->begin(stream, *execution_);
    engine().measure_passes(options.measures_passes);
}

// Allocates memory in advance, because an allocation in the middle of a step would stall a GPU.
void RankModel::reserve_memory(device::Stream& stream) {
    if (job_.memory_space == device::MemorySpace::ghost) return;
    stages_->buffers().reserve();
    get_uploader(stream);
}

void RankModel::add_step(const std::deque<BatchView>& microbatches, stage::StepWork work) {
    if (is_idle()) return;
    for (const BatchView& view : microbatches) work.batches.push_back(&view.tokens());
    stages_->add_step(std::move(work));
}

void RankModel::begin_steps() {
    if (is_idle()) return;
    engine().advance(programs_->prologue[static_cast<std::size_t>(current_.plan.find_team(rank_))], *stages_);
}

StepResult RankModel::execute_step(int step) {
    if (is_idle()) return {};
    const int team = current_.plan.find_team(rank_);
    const schedule::PipelineShape& shape = programs_->shape;
    const schedule::Program& body = programs_->programs[static_cast<std::size_t>(team)];
    engine().advance(shift_microbatches(body, step * shape.microbatches), *stages_);
    StepResult result{.pass_times = engine().pass_times()};
    for (int m = 0; m < shape.microbatches; ++m) {
        if (is_team_leader() && shape.find_executor(0, m) == team) {
            result.padded_tokens += stages_->count_rows(step * shape.microbatches + m);
        }
    }
    std::map<int, model::LossState> outcomes = stages_->take_outcomes(step);
    if (is_team_leader()) result.outcomes = std::move(outcomes);
    return result;
}

void RankModel::finish() {
    if (is_idle()) return;
    engine().finish(*stages_);

    stages_->buffers().return_state();
}

StepResult RankModel::execute(device::Stream& stream, const plan::ProvedPrograms& programs,
                              const std::vector<data::Batch>& batches) {
    std::deque<BatchView> views;
    for (const data::Batch& batch : batches) views.emplace_back(batch, get_uploader(stream));
    begin(stream, programs, {});
    add_step(views, {});
    begin_steps();
    StepResult result = execute_step(0);
    finish();
    return result;
}

device::GpuUploader* RankModel::get_uploader(device::Stream& stream) {
    if (stream.is_on_gpu() && !uploader_)
        uploader_ = std::make_unique<device::GpuUploader>(stream.gpu_times->queue(), held_batches_.bytes_each,
                                                          held_batches_.count);
    return uploader_.get();
}

double RankModel::sum_own_losses(int step) const {
    double sum = 0;
    if (!is_team_leader()) return sum;
    for (const auto& [microbatch, outcome] : stages_->outcomes(step)) sum += outcome.loss;
    return sum;
}

double RankModel::compute_executed_fraction() const {
    return is_idle() ? 0 : training_->compute_executed_fraction();
}

std::string RankModel::describe_position() const {
    if (is_idle()) return "holds no stage";
    return (training_->is_executing() ? training_ : evaluation_)->describe_position();
}

plan::RankWaits RankModel::measure_waits() const {
    const auto get_wait_seconds = [](const std::unique_ptr<comm::Communicator>& group) {
        return group ? group->traffic().wait_seconds : 0;
    };
    plan::RankWaits waits{.others = get_wait_seconds(groups_.record)};
    // With several stages, a wait for gradient norms is mainly a wait for other stages.
    const bool has_several_stages = current_.plan.layout.stages.size() > 1;
    (has_several_stages ? waits.pipeline : waits.data) += get_wait_seconds(groups_.update);
    if (is_idle()) return waits;
    waits.pipeline += get_wait_seconds(groups_.activations) + get_wait_seconds(groups_.gradients);
    if (groups_.tensor) waits.tensor = get_wait_seconds(groups_.tensor);
    if (groups_.tensor && stages_->ghosts() != nullptr) waits.tensor += stages_->ghosts()->waits().wait_seconds;
    for (const auto& [ranks, group] : groups_.data) waits.data += get_wait_seconds(group);
    return waits;
}

void RankModel::set_meter(const device::ClockedDevice* meter) {
    for (comm::Communicator* const group : list_groups(groups_)) group->set_meter(meter);
}

double RankModel::measure_joules_of_waits() const {
    double joules = is_idle() || stages_->ghosts() == nullptr ? 0 : stages_->ghosts()->waits().wait_joules;
    for (const comm::Communicator* const group : list_groups(groups_)) joules += group->traffic().wait_joules;
    return joules;
}

void RankModel::reset_traffic() {
    for (comm::Communicator* const group : list_groups(groups_)) group->reset_traffic();
    if (!is_idle() && stages_->ghosts() != nullptr) stages_->ghosts()->reset_waits();
}

}  // namespace trireme::rank

#include "trireme/rank/rank_model.hpp"

#include <utility>

#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::rank {

device::Stream make_stream(config::DeviceKind device, int threads, const device::KernelSeconds& seconds_of) {
    switch (device) {
        case config::DeviceKind::reference:
            return {.backend = device::ReferenceStream{}, .seconds_of = seconds_of};
        case config::DeviceKind::cpu:
        case config::DeviceKind::automatic:  // ranks have not chosen a device
            return {.backend = device::CpuStream{.threads = threads}, .seconds_of = seconds_of};
        case config::DeviceKind::cuda:
            return kernels::gpu_stream();
        case config::DeviceKind::ghost:
            return {.backend = device::GhostStream{}, .seconds_of = seconds_of};
    }
    throw BugError("unknown device");
}

int threads_of(const device::Stream& stream) {
    const device::CpuStream* const cpu = std::get_if<device::CpuStream>(&stream.backend);
    return cpu == nullptr ? 1 : cpu->threads;
}

RankModel::RankModel(const setup::Job& job, const setup::PlanState& current, int rank, RankGroups groups,
                     device::Trace* trace)
    : job_(job), current_(current), rank_(rank), groups_(std::move(groups)) {
    const stage::LocalWork work = setup::work_of({job, current}, rank_);
    if (work.team < 0) return;
    in_flight_ = setup::in_flight({job, current}, work);
    stages_ =
        std::make_unique<stage::LocalStages>(work, groups_.tensor.get(), current.plan.cuts_rows, job.place);
    training_ = make_engine(current.plan.training, trace);
    evaluation_ = make_engine(current.plan.evaluation, nullptr);
    stages_->call_now_and_then([this] {
        training_->progress();
        if (round_ && round_->events != nullptr) round_->events->after_layer();
    });
}

std::unique_ptr<pipeline::Engine> RankModel::make_engine(const plan::ProvedPrograms& programs,
                                                         device::Trace* trace) const {
    return std::make_unique<pipeline::Engine>(pipeline::EngineWiring{.rank = rank_,
                                                                     .teams = current_.plan.teams,
                                                                     .shape = programs.shape,
                                                                     .are_rows_cut = current_.plan.cuts_rows,
                                                                     .activations = *groups_.activations,
                                                                     .gradients = *groups_.gradients,
                                                                     .ranks = groups_.pipe,
                                                                     .steps_in_flight = programs.look_ahead + 2,
                                                                     .trace = trace});
}

void RankModel::fill(device::Stream& stream, std::uint64_t seed, const FirstValues& values,
                     optim::Optimizer* optimizer) {
    if (is_idle()) return;
    if (optimizer != nullptr && optimizer->masters() != nullptr)
        return fill_rounded(stream, seed, values, *optimizer);
    const stage::LocalParameters& held = stages_->parameters();
    if (!values.resumes) initialise(stream, held.specs(), held.values(), seed);
    if (values.stored != nullptr) load(*values.stored, held.specs(), held.values(), threads_of(stream));
}

std::size_t RankModel::stored_bytes(const checkpoint::StoredModel& stored) const {
    return is_idle() ? 0 : stored.stored_bytes(stages_->parameters().specs());
}

// Fills one parameter after the other, so that only one of them needs memory in full precision.
void RankModel::fill_rounded(device::Stream& stream, std::uint64_t seed, const FirstValues& values,
                             optim::Optimizer& optimizer) {
    const stage::LocalParameters& held = stages_->parameters();
    if (values.stored != nullptr) check_fit(*values.stored, held.specs());
    for (std::size_t i = 0; i < held.specs().size(); ++i) {
        const std::vector<model::ParameterSpec> one{held.specs()[i]};
        const model::ParameterTensors exact(one, wide_of(job_.dtype), job_.place);
        if (!values.resumes) initialise(stream, one, exact, seed);
        if (values.stored != nullptr) values.stored->read(one, exact, threads_of(stream));
        optimizer.begin_with(stream, i, exact[0]);
        launch(stream, kernels::Copy{.input = exact[0], .output = held.values()[i]});
    }
}

void RankModel::prepare_to_share_products(device::Stream& stream, const config::ResizeConfig& resize,
                                          std::uint64_t seed) {
    if (is_idle()) return;
    const stage::LocalWork work = setup::work_of({job_, current_}, rank_);
    stage::ResizerConfig config = setup::resizer_config({job_, current_});
    if (current_.plan.most_left_out > 0) {
        config.policy = resize.select;
        config.filling = resize.fill;
        config.by_variation = resize.by_variation;
    }
    config.key = RandomKey{seed}.then("left out").then(static_cast<std::uint64_t>(rank_));
    config.place = job_.place;
    resizer_ = std::make_unique<stage::Resizer>(stream, config, projections_of(work.model, work.specs),
                                                stages_->parameters());
    if (groups_.tensor)
        helped_ = std::make_unique<model::HelpedProducts>(projections_of_team(work.model, work.specs),
                                                          groups_.tensor->rank(), current_.plan.spread);
    stages_->rebalance({.resizing = &resizer_->products(), .helped = helped_.get()});
}

void RankModel::share_products(device::Stream& stream) {
    if (!resizer_) return;
    const plan::Plan& plan = current_.plan;
    const double left_out = plan.left_out.empty() ? 0 : plan.left_out[static_cast<std::size_t>(rank_)];
    if (!helped_) return resizer_->begin_period(stream, left_out);
    const std::vector<layout::Migration> migrations = migrations_of_team();
    std::vector<std::size_t> lent;
    for (const model::ProjectionShape& projection : resizer_->projections())
        lent.push_back(helped_->lent_count(migrations, projection));
    resizer_->begin_period(stream, left_out, lent);
    lend(migrations);
}

std::vector<layout::Migration> RankModel::migrations_of_team() const {
    const plan::Plan& plan = current_.plan;
    return within(plan.migrations, plan.teams[static_cast<std::size_t>(plan.team_of(rank_))].ranks);
}

// Offloads some of the channels that are kept in this period.
void RankModel::lend(const std::vector<layout::Migration>& migrations) {
    resizer_->products().keep(helped_->begin(migrations, resizer_->kept()));
    helped_->tell(*groups_.tensor);
    if (migrations != std::exchange(migrations_, migrations))
        stages_->work_in(setup::work_of({job_, current_}, rank_).memory);
}

void RankModel::go_on_sharing_products() {
    if (helped_) lend(migrations_of_team());
}

std::optional<model::ResizingState> RankModel::resizing_state() const {
    if (!resizer_ || current_.plan.most_left_out == 0) return std::nullopt;
    return resizer_->state();
}

optim::LeftOuts RankModel::left_out() const { return resizer_ ? resizer_->left_out() : optim::LeftOuts{}; }

bool RankModel::needs(const schedule::PipelineShape& shape, int microbatch) const {
    if (is_idle()) return false;
    const int team = current_.plan.team_of(rank_);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        if (shape.executor_of(stage, microbatch) == team) return true;
    }
    return false;
}

bool RankModel::speaks_for_team() const { return !groups_.tensor || groups_.tensor->rank() == 0; }

void RankModel::begin(device::Stream& stream, const plan::ProvedPrograms& programs,
                      const RoundOptions& options) {
    programs_ = &programs;
    if (is_idle()) return;
    one_step_ = unrolled_of(current_.plan.team_of(rank_), programs.phases(), programs.shape, 1);
    round_.emplace(stage::Round{.shape = programs.shape,
                                .program = one_step_,
                                .dropout_key = options.dropout_key,
                                .label_smoothing = options.label_smoothing,
                                .events = options.events});
    make_room(stream);
    stages_->begin(stream, *round_);
}

// Allocates memory in advance, because an allocation in the middle of a step would stall a GPU.
void RankModel::make_room(device::Stream& stream) {
    if (job_.place == device::MemorySpace::ghost) return;
    stages_->reserve(in_flight_.flights, in_flight_.row_buffers);
    sender_to(stream);
}

void RankModel::add_step(const std::deque<BatchView>& microbatches, double loss_scale) {
    if (is_idle()) return;
    stage::StepWork work{.batches = {}, .loss_scale = loss_scale};
    for (const BatchView& view : microbatches) work.batches.push_back(&view.tokens());
    stages_->add_step(std::move(work));
}

void RankModel::begin_steps() {
    if (is_idle()) return;
    engine().go_on(programs_->prologue[static_cast<std::size_t>(current_.plan.team_of(rank_))], *stages_);
}

RoundResult RankModel::execute_step(int step) {
    if (is_idle()) return {};
    const int team = current_.plan.team_of(rank_);
    const schedule::PipelineShape& shape = programs_->shape;
    const schedule::Program& body = programs_->programs[static_cast<std::size_t>(team)];
    engine().go_on(shifted(body, step * shape.microbatches), *stages_);
    RoundResult result;
    for (int m = 0; m < shape.microbatches; ++m) {
        if (speaks_for_team() && shape.executor_of(0, m) == team) {
            result.padded_tokens += stages_->rows(step * shape.microbatches + m);
        }
    }
    std::map<int, model::LossState> outcomes = stages_->take_outcomes(step);
    if (speaks_for_team()) result.outcomes = std::move(outcomes);
    return result;
}

void RankModel::finish() {
    if (!is_idle()) engine().finish(*stages_);
}

RoundResult RankModel::execute(device::Stream& stream, const plan::ProvedPrograms& programs,
                               const std::vector<data::Batch>& batches) {
    std::deque<BatchView> views;
    for (const data::Batch& batch : batches) views.emplace_back(batch, sender_to(stream));
    begin(stream, programs, {});
    add_step(views, 1);
    begin_steps();
    RoundResult result = execute_step(0);
    finish();
    return result;
}

device::ByteSender* RankModel::sender_to(device::Stream& stream) {
    if (stream.is_on_gpu() && !sender_)
        sender_ = std::make_unique<device::ByteSender>(stream.gpu_times->queue(), in_flight_.batch_bytes,
                                                       in_flight_.batches);
    return sender_.get();
}

double RankModel::own_loss(int step) const {
    double sum = 0;
    if (!speaks_for_team()) return sum;
    for (const auto& [microbatch, outcome] : stages_->outcomes(step)) sum += outcome.loss;
    return sum;
}

double RankModel::part_done() const { return is_idle() ? 0 : training_->part_done(); }

std::string RankModel::position() const {
    if (is_idle()) return "holds no stage";
    return (training_->is_executing() ? training_ : evaluation_)->position();
}

plan::RankWaits RankModel::waits() const {
    const auto of = [](const std::unique_ptr<comm::Communicator>& group) {
        return group ? group->traffic().wait_seconds : 0;
    };
    plan::RankWaits waits{.others = of(groups_.record)};
    const bool has_stages = current_.plan.layout.stages.size() > 1;
    (has_stages ? waits.pipeline : waits.data) += of(groups_.update);
    if (is_idle()) return waits;
    waits.pipeline += of(groups_.activations) + of(groups_.gradients);
    if (groups_.tensor) waits.tensor = of(groups_.tensor);
    if (groups_.tensor && stages_->ghosts() != nullptr) waits.tensor += stages_->ghosts()->wait_seconds();
    for (const auto& [ranks, group] : groups_.data) waits.data += of(group);
    return waits;
}

void RankModel::reset_traffic() {
    groups_.update->reset_traffic();
    groups_.record->reset_traffic();
    if (is_idle()) return;
    if (stages_->ghosts() != nullptr) stages_->ghosts()->reset_waits();
    groups_.activations->reset_traffic();
    groups_.gradients->reset_traffic();
    if (groups_.tensor) groups_.tensor->reset_traffic();
    for (const auto& [ranks, group] : groups_.data) group->reset_traffic();
}

}  // namespace trireme::rank

#include "train/rank_model.hpp"

#include "train/planning.hpp"
#include "train/whole_tensor.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {

Stream make_stream(DeviceKind device, int threads) {
    switch (device) {
        case DeviceKind::reference:
            return {.backend = ReferenceStream{}};
        case DeviceKind::cpu:
            return {.backend = CpuStream{.threads = threads}};
    }
    throw BugError("unknown device");
}

RankModel::RankModel(const Setup& setup, const GradientPlan& gradients, int rank, RankGroups groups)
    : setup_(setup), gradients_(gradients), rank_(rank), groups_(std::move(groups)) {
    const LocalWork work = work_of(setup, rank_);
    if (work.team < 0) return;
    stages_ = std::make_unique<LocalStages>(work, groups_.tensor.get(), setup.plan.cuts_rows, Place::memory);
    training_ = make_engine(setup.plan.training);
    evaluation_ = make_engine(setup.plan.evaluation);
    stages_->call_now_and_then([this] { training_->progress(); });
}

std::unique_ptr<Engine> RankModel::make_engine(const ProvedPrograms& programs) const {
    return std::make_unique<Engine>(EngineWiring{.rank = rank_,
                                                 .teams = setup_.plan.teams,
                                                 .shape = programs.shape,
                                                 .are_rows_cut = setup_.plan.cuts_rows,
                                                 .activations = *groups_.activations,
                                                 .gradients = *groups_.gradients,
                                                 .ranks = groups_.pipe});
}

void RankModel::fill(Stream& stream, std::uint64_t seed) {
    if (is_idle()) return;
    const LocalParameters& held = stages_->parameters();
    initialise(stream, held.specs(), held.values(), seed);
    if (setup_.stored) load(*setup_.stored, held.specs(), held.values());
}

bool RankModel::needs(const PipelineShape& shape, int micro_batch) const {
    if (is_idle()) return false;
    const int team = setup_.plan.team_of(rank_);
    for (int stage = 0; stage < shape.stages(); ++stage) {
        if (shape.executor_of(stage, micro_batch) == team) return true;
    }
    return false;
}

bool RankModel::speaks_for_team() const { return !groups_.tensor || groups_.tensor->rank() == 0; }

RoundResult RankModel::execute(Stream& stream, const ProvedPrograms& programs,
                               const std::vector<Batch>& batches, const RoundOptions& options) {
    if (is_idle()) return {};
    const int team = setup_.plan.team_of(rank_);
    const Program& program = programs.programs[static_cast<std::size_t>(team)];
    std::vector<BatchView> views(batches.begin(), batches.end());
    Round round{.shape = programs.shape,
                .program = program,
                .batches = {},
                .dropout_key = options.dropout_key,
                .loss_scale = options.loss_scale,
                .label_smoothing = options.label_smoothing,
                .update = options.update};
    for (const BatchView& view : views) round.batches.push_back(&view.tokens());
    stages_->begin(stream, round);
    (programs.shape.is_training ? training_ : evaluation_)->execute(program, *stages_);
    RoundResult result;
    if (!speaks_for_team()) return result;
    result.outcomes = stages_->outcomes();
    for (int m = 0; m < programs.shape.micro_batches; ++m) {
        if (programs.shape.executor_of(0, m) == team) {
            result.padded_tokens += batches[static_cast<std::size_t>(m)].rows();
        }
    }
    return result;
}

void RankModel::save(CheckpointWriter* writer, Communicator& control) const {
    const StoredType type = setup_.dtype == DType::f64 ? StoredType::f64 : StoredType::f32;
    const LocalParameters* const held = is_idle() ? nullptr : &stages_->parameters();
    TensorCollector collector(gradients_, setup_.dtype, held, control);
    for (const ParameterSpec& spec : unique_parameters(build_layers(setup_.model))) {
        const ConstTensor whole = collector.collect(spec);
        if (writer != nullptr) writer->add(spec, whole, type);
        barrier(control);  // so that nobody waits longer than one tensor takes to be written
    }
}

double RankModel::own_loss() const {
    double sum = 0;
    if (is_idle() || !speaks_for_team()) return sum;
    for (const auto& [micro_batch, outcome] : stages_->outcomes()) sum += outcome.loss;
    return sum;
}

std::string RankModel::position() const {
    if (is_idle()) return "holds no stage";
    return (training_->is_executing() ? training_ : evaluation_)->position();
}

double RankModel::wait_seconds() const {
    if (is_idle()) return 0;
    double sum = groups_.activations->traffic().wait_seconds + groups_.gradients->traffic().wait_seconds;
    if (groups_.tensor) sum += groups_.tensor->traffic().wait_seconds;
    for (const auto& [ranks, group] : groups_.data) sum += group->traffic().wait_seconds;
    return sum;
}

void RankModel::reset_traffic() {
    if (is_idle()) return;
    groups_.activations->reset_traffic();
    groups_.gradients->reset_traffic();
    if (groups_.tensor) groups_.tensor->reset_traffic();
    for (const auto& [ranks, group] : groups_.data) group->reset_traffic();
}

}  // namespace trireme

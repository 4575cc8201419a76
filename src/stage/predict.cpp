#include "trireme/stage/predict.hpp"

#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "trireme/comm/communicator.hpp"
#include "trireme/model/channel_choice.hpp"
#include "trireme/model/offloaded_matmuls.hpp"
#include "trireme/model/tensor_group.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::stage {

BatchShape find_shape(const model::TokenBatch& batch) {
    return {.segments = {batch.segments.begin(), batch.segments.end()},
            .rows = batch.rows(),
            .predicted_rows = batch.predicted_rows.columns};
}

model::TokenBatch make_ghost_batch(const model::ModelConfig& config, const BatchShape& shape,
                                   device::Arena& inputs) {
    const auto make_integers = [&](std::size_t rows, std::size_t columns) {
        return inputs.tensor(device::DType::i32, rows, columns);
    };
    const std::size_t predicted_rows = shape.predicted_rows.value_or(shape.rows);
    const std::size_t patches =
        config.reads_images() ? shape.segments.size() * config.image.count_patches() : 0;
    return {.tokens = make_integers(1, shape.rows),
            .positions = make_integers(1, shape.rows),
            .types = make_integers(1, shape.rows),
            .visits = inputs.tensor(device::DType::i64, 1, shape.rows),
            .segments = shape.segments,
            .predicted_rows = make_integers(1, predicted_rows),
            .targets = make_integers(1, predicted_rows),
            .answers = make_integers(shape.segments.size(), 2),
            .contexts = make_integers(shape.segments.size(), 2),
            .pixels = inputs.tensor(device::DType::f32, patches, config.image.count_patch_values())};
}

namespace {

// Returns the lists of kept channels that need the largest copies. A projection copies its channels only if it
// computes some of them but not all. Therefore, in these lists, a projection that may skip channels skips one
// tile. A projection with a helper rank skips none, because it already does not compute its offloaded channels.
model::Resizing::ChannelLists make_longest_lists(const std::vector<model::ProjectionShape>& projections,
                                                 const model::OffloadedMatmuls& offloaded_work,
                                                 const PassVariant& variant) {
    model::Resizing::ChannelLists lists;
    for (const model::ProjectionShape& projection : projections) {
        const bool has_helper = offloaded_work.count_offloaded_channels(variant.migrations, projection) > 0;
        const bool may_skip_channels =
            model::count_kept_channels(projection.channels, variant.resizing_limit) < projection.channels;
        std::vector<std::int32_t>& kept_channels = lists[projection.id];
        kept_channels.resize(projection.channels -
                             (may_skip_channels && !has_helper ? model::channel_tile : 0));
        std::iota(kept_channels.begin(), kept_channels.end(), 0);
    }
    return lists;
}

// A stage with ghost tensors, and the passes of a micro-batch through it.
class GhostStage {
public:
    GhostStage(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
               const PassVariant& variant)
        : variant_(variant),
          stage_(config, spec),
          parameters_(stage_.parameters(), variant.dtype, device::MemorySpace::ghost),
          inputs_("input", 0, device::MemorySpace::ghost),
          batch_(make_ghost_batch(config, shape, inputs_)),
          communicator_(
              comm::make_ghost_group("tensor", spec.part.rank, static_cast<int>(spec.part.shares.size()))),
          group_{
              .communicator = *communicator_, .exchange = workspace_.exchange, .cuts_rows = variant.cuts_rows},
          is_tensor_parallel_(!spec.part.is_whole()) {
        stage_.bind(parameters_);
        if (!variant.changes_matmuls()) return;
        resizing_.emplace(stage_.projections(), model::Filling::zero, variant.dtype, shape.rows,
                          device::MemorySpace::ghost);
        offloaded_.emplace(list_team_projections(config, {spec}), spec.part.rank, variant.spread);
        resizing_->begin_period(offloaded_->begin_period(
            variant.migrations, make_longest_lists(stage_.projections(), *offloaded_, variant)));
        stage_.rebalance({.resizing = &*resizing_, .offloaded_work = &*offloaded_});
    }

    // Replaces the micro-batch. Requires that no channels are skipped or offloaded.
    void set_batch(const model::ModelConfig& config, const BatchShape& shape) {
        inputs_ = device::Arena("input", 0, device::MemorySpace::ghost);
        batch_ = make_ghost_batch(config, shape, inputs_);
        workspace_ = Workspace({}, device::MemorySpace::ghost);
        stash_ = ActivationStash(0, device::MemorySpace::ghost);
        stream_.ledger.clear();  // it would grow with each new shape
        stream_.matmuls = {};
    }

    TrainingMemory run_training_passes() {
        TrainingMemory memory;
        const auto end_pass = [&](schedule::Op op) {
            StageMemory& sizes = memory.workspaces[static_cast<std::size_t>(op)];
            sizes = {.scratch = workspace_.scratch.peak(),
                     .block_activations = workspace_.block_activations.peak(),
                     .exchange = workspace_.exchange.peak()};
            memory.peak = elementwise_max(memory.peak, sizes);
            workspace_ = Workspace({}, device::MemorySpace::ghost);  // forgets the peaks
        };
        forward();
        end_pass(schedule::Op::forward);
        memory.stash_after_forward = stash_.arena.mark();
        if (!stage_.is_trained()) {
            // There is no backward pass.
        } else if (variant_.halves == BackwardHalves::together) {
            backward();
            end_pass(schedule::Op::backward);
        } else {
            backward_input();
            end_pass(schedule::Op::backward_input);
            memory.stash_after_input_half = stash_.arena.mark();
            backward_weight();
            end_pass(schedule::Op::backward_weight);
        }
        memory.peak.activations = stash_.arena.peak();
        stash_.clear();
        return memory;
    }

    void run_evaluation_pass() {
        stage_.forward(make_pass(false), make_boundary_tensor(stage_.is_first()), stash_, workspace_);
        stash_.clear();
    }

    TrainingWork list_work(bool has_halves) {
        TrainingWork work;
        work.forward = record_work([&] { forward(); });
        if (stage_.is_trained()) work.backward = record_work([&] { backward(); });
        stash_.clear();
        if (!has_halves || !stage_.is_trained()) return work;
        forward();
        work.backward_input = record_work([&] { backward_input(); });
        work.backward_weight = record_work([&] { backward_weight(); });
        stash_.clear();
        return work;
    }

    StageMemory peak() const {
        return {.activations = stash_.arena.peak(),
                .scratch = workspace_.scratch.peak(),
                .block_activations = workspace_.block_activations.peak(),
                .exchange = workspace_.exchange.peak()};
    }

private:
    void forward() {
        stage_.forward(make_pass(true), make_boundary_tensor(stage_.is_first()), stash_, workspace_);
    }
    void backward() {
        stage_.backward(make_pass(true), make_boundary_tensor(stage_.is_last()),
                        make_boundary_tensor(stage_.is_first_trained()), stash_, workspace_);
    }
    void backward_input() {
        stage_.backward_input(make_pass(true), make_boundary_tensor(stage_.is_last()),
                              make_boundary_tensor(stage_.is_first_trained()), stash_);
    }
    void backward_weight() { stage_.backward_weight(make_pass(true), stash_); }

    // Returns the work of run_pass().
    template <class RunPass>
    PassWork record_work(RunPass&& run_pass) {
        PassWork work;
        double matmul_flops = stream_.matmuls.flops;
        // The stream adds a block's matmul to `matmuls` only after it has called predict_seconds for the
        // matmul. The matmul's kernel is therefore marked before the next kernel is recorded.
        const auto mark_last_kernel = [&] {
            if (stream_.matmuls.flops > matmul_flops) work.kernels.back().is_block_matmul = true;
            matmul_flops = stream_.matmuls.flops;
        };
        stream_.predict_seconds = [&](const device::Cost& cost, double) {
            mark_last_kernel();
            work.kernels.push_back({.cost = cost});
            return 0.0;
        };
        communicator_->reset_traffic();
        run_pass();
        mark_last_kernel();
        stream_.predict_seconds = {};
        work.bytes_sent = communicator_->traffic().bytes_sent;
        work.messages_sent = communicator_->traffic().messages_sent;
        return work;
    }

    model::Pass make_pass(bool is_training) {
        return {.stream = stream_,
                .batch = batch_,
                .scratch = workspace_.scratch,
                .dtype = variant_.dtype,
                .is_training = is_training,
                .group = is_tensor_parallel_ ? &group_ : nullptr};
    }

    // Returns a tensor (rows of this rank, width) that stands for a message to or from a neighbouring stage.
    // The tensor is absent at an end of the model, where the stage has no neighbour.
    device::Tensor make_boundary_tensor(bool is_model_end) {
        if (is_model_end) return {};
        return inputs_.tensor(variant_.dtype, find_own_rows(make_pass(true)).count, stage_.width());
    }

    PassVariant variant_;
    Stage stage_;
    LocalParameters parameters_;
    device::Stream stream_{.backend = device::GhostStream{}};
    device::Arena inputs_;
    model::TokenBatch batch_;
    Workspace workspace_{{}, device::MemorySpace::ghost};
    ActivationStash stash_{0, device::MemorySpace::ghost};
    std::unique_ptr<comm::Communicator> communicator_;
    model::TensorGroup group_;
    bool is_tensor_parallel_;
    // Both are empty if no channels are skipped or offloaded.
    std::optional<model::Resizing> resizing_;
    std::optional<model::OffloadedMatmuls> offloaded_;
};

}  // namespace

TrainingMemory predict_training(const model::ModelConfig& config, const StageSpec& spec,
                                const BatchShape& shape, const PassVariant& variant) {
    return GhostStage(config, spec, shape, variant).run_training_passes();
}

struct TrainingPredictor::State {
    GhostStage stage;
};

TrainingPredictor::TrainingPredictor() = default;
TrainingPredictor::~TrainingPredictor() = default;
TrainingPredictor::TrainingPredictor(TrainingPredictor&&) noexcept = default;
TrainingPredictor& TrainingPredictor::operator=(TrainingPredictor&&) noexcept = default;

TrainingMemory TrainingPredictor::predict(const model::ModelConfig& config, const StageSpec& spec,
                                          const BatchShape& shape, const PassVariant& variant) {
    if (variant.changes_matmuls()) return predict_training(config, spec, shape, variant);
    if (state_) {
        state_->stage.set_batch(config, shape);
    } else {
        state_.reset(new State{.stage = {config, spec, shape, variant}});
    }
    return state_->stage.run_training_passes();
}

StageMemory predict_evaluation(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                               const PassVariant& variant) {
    GhostStage stage(config, spec, shape, variant);
    stage.run_evaluation_pass();
    return stage.peak();
}

StageMemory predict(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                    const PassVariant& variant) {
    return elementwise_max(predict_training(config, spec, shape, variant).peak,
                           predict_evaluation(config, spec, shape, variant));
}

TrainingWork list_work(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                       const PassVariant& variant) {
    return list_works(config, spec, {shape}, variant).front();
}

std::vector<TrainingWork> list_works(const model::ModelConfig& config, const StageSpec& spec,
                                     const std::vector<BatchShape>& shapes, const PassVariant& variant) {
    const bool has_halves = spec.recompute != plan::Recompute::full;
    std::vector<TrainingWork> works;
    std::optional<GhostStage> ghost;
    for (const BatchShape& shape : shapes) {
        if (ghost && !variant.changes_matmuls()) {
            ghost->set_batch(config, shape);
        } else {
            ghost.emplace(config, spec, shape, variant);
        }
        works.push_back(ghost->list_work(has_halves));
    }
    return works;
}

// Layers of one kind have parameters of equal sizes. Only the tied token table belongs to two layers.
std::vector<std::size_t> list_trained_sizes(const model::ModelConfig& config, const StageSpec& spec) {
    std::map<std::string_view, std::vector<model::ParameterSpec>> parameters;  // by kind
    std::vector<std::size_t> sizes;
    bool has_tied_table = false;
    std::size_t layer = spec.layers.begin;
    for (const std::string_view kind : list_kinds(config, spec.layers)) {
        const auto [known, is_new] = parameters.try_emplace(kind);
        if (is_new) known->second = list_parameters(build_layers(config, spec.part, {layer, 1}).front());
        for (const model::ParameterSpec& each : known->second) {
            if (each.is_tied && (spec.first_trained_layer > 0 || std::exchange(has_tied_table, true))) continue;
            if (layer >= spec.first_trained_layer) sizes.push_back(each.size());
        }
        ++layer;
    }
    return sizes;
}

}  // namespace trireme::stage

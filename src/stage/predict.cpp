#include "trireme/stage/predict.hpp"

#include <memory>
#include <numeric>
#include <optional>

#include "trireme/comm/communicator.hpp"
#include "trireme/model/channel_choice.hpp"
#include "trireme/model/helped_products.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::stage {

model::TokenBatch ghost_batch(const model::ModelConfig& config, const BatchShape& shape,
                              device::Arena& inputs) {
    const auto numbers = [&](std::size_t rows, std::size_t columns) {
        return inputs.tensor(device::DType::i32, rows, columns);
    };
    const std::size_t patches = config.reads_images() ? shape.segments.size() * config.image.patches() : 0;
    return {.tokens = numbers(1, shape.rows),
            .positions = numbers(1, shape.rows),
            .types = numbers(1, shape.rows),
            .visits = inputs.tensor(device::DType::i64, 1, shape.rows),
            .segments = shape.segments,
            .predicted = numbers(1, shape.rows),
            .targets = numbers(1, shape.rows),
            .answers = numbers(shape.segments.size(), 2),
            .contexts = numbers(shape.segments.size(), 2),
            .pixels = inputs.tensor(device::DType::f32, patches, config.image.patch_values())};
}

namespace {

// Returns the longest possible lists of kept channels: all but one tile if the projection may skip channels and
// no rank helps with it, otherwise all.
model::Resizing::Lists longest_lists(const std::vector<model::ProjectionShape>& projections,
                                     const model::HelpedProducts& helped, const PassKind& kind) {
    model::Resizing::Lists lists;
    for (const model::ProjectionShape& projection : projections) {
        const bool is_helped = helped.lent_count(kind.migrations, projection) > 0;
        const bool leaves_out =
            model::kept_count(projection.channels, kind.resizing_limit) < projection.channels;
        std::vector<std::int32_t>& list = lists[projection.place];
        list.resize(projection.channels - (leaves_out && !is_helped ? model::channel_tile : 0));
        std::iota(list.begin(), list.end(), 0);
    }
    return lists;
}

// Passes of a micro-batch through a ghost stage whose neighbours are ghosts, too.
class GhostWalk {
public:
    GhostWalk(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
              const PassKind& kind)
        : kind_(kind),
          stage_(config, spec),
          parameters_(stage_.parameters(), kind.dtype, device::MemorySpace::ghost),
          inputs_("input", 0, device::MemorySpace::ghost),
          batch_(ghost_batch(config, shape, inputs_)),
          ranks_(comm::ghost_group("tensor", spec.part.rank, static_cast<int>(spec.part.shares.size()))),
          group_{.ranks = *ranks_, .exchange = workspace_.exchange, .cuts_rows = kind.cuts_rows},
          is_shared_(!spec.part.is_whole()) {
        stage_.bind(parameters_);
        if (kind.resizing_limit == 0 && kind.migrations.empty()) return;
        resizing_.emplace(stage_.projections(), model::Filling::zero, kind.dtype, shape.rows,
                          device::MemorySpace::ghost);
        helped_.emplace(projections_of_team(config, {spec}), spec.part.rank, kind.spread);
        resizing_->keep(helped_->begin(kind.migrations, longest_lists(stage_.projections(), *helped_, kind)));
        stage_.rebalance({.resizing = &*resizing_, .helped = &*helped_});
    }

    void train() {
        const model::Pass pass = pass_of(true);
        stage_.forward(pass, neighbour(stage_.is_first()), flight_, workspace_);
        const device::ConstTensor grad_output = neighbour(stage_.is_last());
        const device::Tensor grad_input = neighbour(stage_.is_first());
        if (kind_.halves == BackwardHalves::together) {
            stage_.backward(pass, grad_output, grad_input, flight_, workspace_);
        } else {
            stage_.backward_input(pass, grad_output, grad_input, flight_);
            stage_.backward_weight(pass, flight_);
        }
        flight_.clear();
    }

    void evaluate() {
        stage_.forward(pass_of(false), neighbour(stage_.is_first()), flight_, workspace_);
        flight_.clear();
    }

    device::Ledger& work() { return stream_.ledger; }

    StageMemory peak() const {
        return {.activations = flight_.kept.peak(),
                .scratch = workspace_.scratch.peak(),
                .again = workspace_.again.peak(),
                .exchange = workspace_.exchange.peak()};
    }

private:
    model::Pass pass_of(bool is_training) {
        return {.stream = stream_,
                .batch = batch_,
                .scratch = workspace_.scratch,
                .dtype = kind_.dtype,
                .is_training = is_training,
                .group = is_shared_ ? &group_ : nullptr};
    }

    // Returns the rows that a neighbouring stage sends or receives; absent at the ends of the model.
    device::Tensor neighbour(bool is_end) {
        if (is_end) return {};
        return inputs_.tensor(kind_.dtype, own_rows(pass_of(true)).count, stage_.width());
    }

    PassKind kind_;
    Stage stage_;
    LocalParameters parameters_;
    device::Stream stream_{.backend = device::GhostStream{}};
    device::Arena inputs_;
    model::TokenBatch batch_;
    Workspace workspace_{{}, device::MemorySpace::ghost};
    Flight flight_{0, device::MemorySpace::ghost};
    std::unique_ptr<comm::Communicator> ranks_;
    model::TensorGroup group_;
    bool is_shared_;
    std::optional<model::Resizing> resizing_;  // empty if the plan rebalances nothing
    std::optional<model::HelpedProducts> helped_;
};

}  // namespace

StageMemory predict(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                    const PassKind& kind) {
    GhostWalk walk(config, spec, shape, kind);
    walk.train();
    walk.evaluate();
    return walk.peak();
}

device::Ledger work_of_pass(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                            const PassKind& kind) {
    GhostWalk walk(config, spec, shape, kind);
    walk.train();
    return std::move(walk.work());
}

}  // namespace trireme::stage

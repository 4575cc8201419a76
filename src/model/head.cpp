#include "trireme/model/head.hpp"

#include <algorithm>

#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/read.hpp"

namespace trireme {
namespace {

// Enough rows for an efficient matrix product at GPT-2's vocabulary, and still a small part of the activations.
constexpr std::size_t tile_bytes = std::size_t{64} << 20;

}  // namespace

// What is left out is an absent tensor.
struct Head::Tile {
    Tensor grad_input = {};   // (rows, width)
    Tensor grad_weight = {};  // (vocabulary, width)
    bool counts_loss = true;
};

Head::Head(const ModelConfig& config)
    : width_(config.width),
      vocabulary_(config.vocabulary),
      tied_(config.tied),
      deviation_(config.init_deviation) {}

std::vector<ParameterSpec> Head::parameters() const {
    return {{.name = tied_ ? token_table_name : "lm_head.weight",
             .rows = vocabulary_,
             .columns = width_,
             .init = Init::normal,
             .deviation = deviation_,
             .decays = true}};
}

std::size_t Head::most_tile_rows(DType dtype) const {
    return std::max<std::size_t>(1, tile_bytes / (vocabulary_ * bytes_of(dtype)));
}

std::size_t Head::tile_rows(DType dtype, std::size_t rows) const {
    const std::size_t most = most_tile_rows(dtype);
    const std::size_t tiles = std::max<std::size_t>(1, (rows + most - 1) / most);
    return (rows + tiles - 1) / tiles;
}

Tensor Head::forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const {
    state.loss = 0;
    if (!pass.is_training) for_each_tile(pass, weights, input, {}, state, kept);
    return {};
}

void Head::backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor /*grad_output*/,
                          Tensor grad_input, State& state, Arena& kept) const {
    for_each_tile(pass, weights, input, {.grad_input = grad_input}, state, kept);
}

void Head::backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor /*grad_output*/,
                           State& state, Gradients gradients, Arena& scratch) const {
    for_each_tile(pass, weights, input, {.grad_weight = gradients[0], .counts_loss = false}, state, scratch);
}

void Head::backward(const Pass& pass, Weights weights, ConstTensor input, Tensor grad_input, State& state,
                    Gradients gradients, Arena& scratch) const {
    for_each_tile(pass, weights, input, {.grad_input = grad_input, .grad_weight = gradients[0]}, state,
                  scratch);
}

void Head::for_each_tile(const Pass& pass, Weights weights, ConstTensor input, const Tile& tile, State& state,
                         Arena& scratch) const {
    const ArenaScope scope(scratch);
    const bool wants_gradients = tile.grad_input.is_present() || tile.grad_weight.is_present();
    const std::size_t most = tile_rows(pass.dtype, input.rows);
    // As much as the tile of any smaller micro-batch may need, so that memory follows the largest one.
    const Tensor space =
        scratch.tensor(pass.dtype, std::min(most_tile_rows(pass.dtype), input.rows), vocabulary_);
    const Tensor losses = scratch.tensor(DType::f64, 1, input.rows);
    for (std::size_t begin = 0; begin < input.rows; begin += most) {
        const std::size_t count = std::min(most, input.rows - begin);
        const Tensor logits = space.row_range(0, count);
        const ConstTensor hidden = input.row_range(begin, count);
        launch(pass.stream, Linear{.input = hidden,
                                   .weight = weights[0],
                                   .bias = {},
                                   .output = logits,
                                   .axes = WeightAxes::out_in});
        launch(pass.stream, CrossEntropy{.logits = logits,
                                         .targets = pass.batch.targets.column_range(begin, count),
                                         .losses = losses.column_range(begin, count),
                                         .gradient_scale = wants_gradients ? pass.loss_scale : 0});
        if (tile.grad_input.is_present()) {
            launch(pass.stream, LinearBackwardInput{.grad_output = logits,
                                                    .weight = weights[0],
                                                    .grad_input = tile.grad_input.row_range(begin, count),
                                                    .axes = WeightAxes::out_in});
        }
        if (tile.grad_weight.is_present()) {
            launch(pass.stream, LinearBackwardWeight{.input = hidden,
                                                     .grad_output = logits,
                                                     .grad_weight = tile.grad_weight,
                                                     .grad_bias = {},
                                                     .axes = WeightAxes::out_in});
        }
    }
    if (tile.counts_loss) state.loss = read_sum(pass.stream, losses);
}

}  // namespace trireme

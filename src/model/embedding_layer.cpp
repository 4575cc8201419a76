#include "trireme/model/embedding_layer.hpp"

#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/model/residual_branch.hpp"

namespace trireme {

EmbeddingLayer::EmbeddingLayer(const ModelConfig& config)
    : width_(config.width),
      vocabulary_(config.vocabulary),
      positions_(config.positions),
      deviation_(config.init_deviation),
      dropout_(config.dropout) {}

std::vector<ParameterSpec> EmbeddingLayer::parameters() const {
    return {{.name = token_table_name,
             .rows = vocabulary_,
             .columns = width_,
             .init = Init::normal,
             .deviation = deviation_,
             .decays = true},
            {.name = "transformer.wpe.weight",
             .rows = positions_,
             .columns = width_,
             .init = Init::normal,
             .deviation = deviation_,
             .decays = true}};
}

Tensor EmbeddingLayer::forward(const Pass& pass, Weights weights, ConstTensor /*input*/, State& /*state*/,
                               Arena& kept) const {
    const Tensor output = kept.tensor(pass.dtype, pass.batch.rows(), width_);
    launch(pass.stream, Embedding{.tokens = pass.batch.tokens,
                                  .positions = pass.batch.positions,
                                  .token_table = weights[0],
                                  .position_table = weights[1],
                                  .output = output});
    const Dropout dropout = dropout_at(pass, dropout_, 0, Site::embedding);
    if (dropout.is_on()) {
        launch(pass.stream, ResidualAdd{.residual = {}, .input = output, .output = output, .dropout = dropout});
    }
    return output;
}

void EmbeddingLayer::backward_input(const Pass&, Weights, ConstTensor, ConstTensor, Tensor, State&,
                                    Arena&) const {}

void EmbeddingLayer::backward_weight(const Pass& pass, Weights /*weights*/, ConstTensor /*input*/,
                                     ConstTensor grad_output, State& /*state*/, Gradients gradients,
                                     Arena& scratch) const {
    const ArenaScope scope(scratch);
    const Dropout dropout = dropout_at(pass, dropout_, 0, Site::embedding);
    if (dropout.is_on()) {
        const Tensor grad = scratch.tensor(pass.dtype, grad_output.rows, width_);
        launch(pass.stream,
               DropoutBackward{.grad_output = grad_output, .grad_input = grad, .dropout = dropout});
        grad_output = grad;
    }
    launch(pass.stream, EmbeddingBackward{.tokens = pass.batch.tokens,
                                          .positions = pass.batch.positions,
                                          .grad_output = grad_output,
                                          .grad_token_table = gradients[0],
                                          .grad_position_table = gradients[1]});
}

}  // namespace trireme

#include "trireme/model/embedding_layer.hpp"

#include "model/family.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/model/dropout_site.hpp"

namespace trireme {
namespace {

enum : std::size_t { token_table, position_table, type_table };

}  // namespace

EmbeddingLayer::EmbeddingLayer(const ModelConfig& config) : width_(config.width), dropout_(config.dropout) {
    const FamilyTraits traits = traits_of(config.family);
    const auto add = [&](const std::string& name, std::size_t rows) {
        tables_.push_back(matrix_spec(name, rows, width_, config.init_deviation));
    };
    add(traits.token_table, config.vocabulary);
    if (!traits.position_table.empty()) add(traits.position_table, config.positions);
    if (config.family == Family::bert) {
        add("bert.embeddings.token_type_embeddings.weight", config.token_types);
        norm_.emplace(config, "bert.embeddings.LayerNorm");
    }
}

std::vector<ParameterSpec> EmbeddingLayer::parameters() const {
    std::vector<ParameterSpec> specs = tables_;
    if (norm_) {
        for (ParameterSpec& spec : norm_->parameters()) specs.push_back(std::move(spec));
    }
    return specs;
}

Tensor EmbeddingLayer::forward(const Pass& pass, Weights weights, ConstTensor /*input*/, State& state,
                               Arena& kept) const {
    const Tensor sum = kept.tensor(pass.dtype, pass.batch.rows(), width_);
    launch(pass.stream, Embedding{.tokens = pass.batch.tokens,
                                  .positions = pass.batch.positions,
                                  .token_table = weights[token_table],
                                  .position_table = has_positions() ? weights[position_table] : ConstTensor{},
                                  .types = has_types() ? pass.batch.types : ConstTensor{},
                                  .type_table = has_types() ? weights[type_table] : ConstTensor{},
                                  .output = sum});
    Tensor output = sum;
    if (norm_) {
        state.sum = sum;
        output = kept.tensor(pass.dtype, pass.batch.rows(), width_);
        norm_->forward(pass, weights.subspan(tables_.size()), sum, output, state.norm, kept);
    }
    drop_out(pass, output, dropout_at(pass, dropout_, 0, Site::embedding));
    return output;
}

void EmbeddingLayer::backward_input(const Pass&, Weights, ConstTensor, ConstTensor, Tensor, State&,
                                    Arena&) const {}

void EmbeddingLayer::backward_weight(const Pass& pass, Weights weights, ConstTensor /*input*/,
                                     ConstTensor grad_output, State& state, Gradients gradients,
                                     Arena& scratch) const {
    const ArenaScope scope(scratch);
    grad_output = drop_out_backward(pass, grad_output, dropout_at(pass, dropout_, 0, Site::embedding), scratch);
    if (norm_) {
        const Tensor grad = scratch.tensor(pass.dtype, grad_output.rows, width_);
        norm_->backward_weight(pass, state.sum, grad_output, state.norm, gradients.subspan(tables_.size()));
        norm_->backward_input(pass, weights.subspan(tables_.size()), state.sum, grad_output, {}, grad,
                              state.norm);
        grad_output = grad;
    }
    launch(pass.stream,
           EmbeddingBackward{.tokens = pass.batch.tokens,
                             .positions = pass.batch.positions,
                             .grad_output = grad_output,
                             .grad_token_table = gradients[token_table],
                             .grad_position_table = has_positions() ? gradients[position_table] : Tensor{},
                             .types = has_types() ? pass.batch.types : ConstTensor{},
                             .grad_type_table = has_types() ? gradients[type_table] : Tensor{}});
}

}  // namespace trireme

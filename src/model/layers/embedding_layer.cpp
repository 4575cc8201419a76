#include "trireme/model/embedding_layer.hpp"

#include "trireme/kernels/embedding.hpp"
#include "trireme/model/dropout_site.hpp"
#include "trireme/model/family.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

// Indices into parameters().
enum : std::size_t { token_table_index, position_table_index, type_table_index };

}  // namespace

EmbeddingLayer::EmbeddingLayer(const ModelConfig& config, const TensorPart& part)
    : width_(config.width),
      first_token_(part.find_vocabulary_rows(config).begin),
      vocabulary_(config.vocabulary),
      dropout_(config.dropout) {
    const FamilyTraits& traits = find_traits(config.family);
    const auto make_table = [&](std::string_view name, std::size_t rows) {
        return make_matrix_spec(std::string(name), rows, width_, config.init_deviation);
    };
    tables_.push_back(cut_parameter(make_table(traits.token_table, vocabulary_),
                                    {.width = vocabulary_, .own_ranges = {part.find_vocabulary_rows(config)}},
                                    make_all_channels(width_)));
    tables_.back().is_tied = config.tied && config.has_vocabulary_head();
    if (part.is_first() && !traits.position_table.empty()) {
        tables_.push_back(make_table(traits.position_table, config.positions));
    }
    if (part.is_first() && !traits.token_type_table.empty()) {
        tables_.push_back(make_table(traits.token_type_table, config.token_types));
    }
    if (!traits.embedding_norm.empty()) norm_.emplace(config, std::string(traits.embedding_norm));
}

std::vector<ParameterSpec> EmbeddingLayer::parameters() const {
    std::vector<ParameterSpec> specs = tables_;
    if (norm_) {
        for (ParameterSpec& spec : norm_->parameters()) specs.push_back(std::move(spec));
    }
    return specs;
}

device::Tensor EmbeddingLayer::forward(const Pass& pass, Weights weights, device::ConstTensor /*input*/,
                                       State& state, device::Arena& stash) const {
    const device::Tensor partial_sum = stash.tensor(pass.dtype, pass.batch.rows(), width_);
    launch(pass.stream,
           kernels::Embedding{
               .tokens = pass.batch.tokens,
               .positions = pass.batch.positions,
               .token_table = weights[token_table_index],
               .position_table = has_positions() ? weights[position_table_index] : device::ConstTensor{},
               .types = has_types() ? pass.batch.types : device::ConstTensor{},
               .type_table = has_types() ? weights[type_table_index] : device::ConstTensor{},
               .output = partial_sum,
               .first_token = first_token_,
               .vocabulary = vocabulary_});
    const device::Tensor sum = reduce_over_ranks(pass, partial_sum);
    device::Tensor output = sum;
    if (norm_) {
        state.sum = sum;
        output = stash.tensor(pass.dtype, sum.rows, width_);
        norm_->forward(pass, weights.subspan(tables_.size()), sum, output, state.norm, stash);
    }
    apply_dropout(pass, output, make_dropout_for_own_rows(pass, dropout_, 0, DropoutSite::embedding));
    return output;
}

// The layer reads tokens, which have no gradient.
void EmbeddingLayer::backward_input(const Pass&, Weights, device::ConstTensor, device::ConstTensor,
                                    device::Tensor, State&, device::Arena&) const {}

void EmbeddingLayer::backward_weight(const Pass& pass, Weights weights, device::ConstTensor /*input*/,
                                     device::ConstTensor grad_output, State& state, Gradients gradients,
                                     device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    grad_output = apply_dropout_backward(
        pass, grad_output, make_dropout_for_own_rows(pass, dropout_, 0, DropoutSite::embedding), scratch);
    if (norm_) {
        const device::Tensor grad_sum = scratch.tensor(pass.dtype, grad_output.rows, width_);
        norm_->backward_weight(pass, state.sum, grad_output, state.norm, gradients.subspan(tables_.size()));
        norm_->backward_input(pass, weights.subspan(tables_.size()), state.sum, grad_output, {}, grad_sum,
                              state.norm);
        grad_output = grad_sum;
    }
    launch(pass.stream,
           kernels::EmbeddingBackward{
               .tokens = pass.batch.tokens,
               .positions = pass.batch.positions,
               .grad_output = gather_all_rows(pass, grad_output, scratch),
               .grad_token_table = gradients[token_table_index],
               .grad_position_table = has_positions() ? gradients[position_table_index] : device::Tensor{},
               .types = has_types() ? pass.batch.types : device::ConstTensor{},
               .grad_type_table = has_types() ? gradients[type_table_index] : device::Tensor{},
               .first_token = first_token_,
               .vocabulary = vocabulary_});
}

}  // namespace trireme::model

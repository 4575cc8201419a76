// The embedding of tokens. For each token, the layer adds a row of the token table, a row of the position table
// (if positions are learned) and a row of the token type table (bert only). A norm (bert only) and dropout
// follow. Each tensor rank holds some rows of the token table (vocabulary parallel). Only the first tensor rank
// holds the other tables.
#pragma once

#include <optional>

#include "trireme/model/norm.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

class EmbeddingLayer {
public:
    struct State {
        device::Tensor sum;  // (own rows, width): input of the norm; absent without a norm
        Norm::State norm;
    };

    EmbeddingLayer(const ModelConfig& config, const TensorPart& part);
    std::vector<ParameterSpec> parameters() const;  // the tables of this rank, then the norm

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    bool has_positions() const { return tables_.size() > 1; }  // true if this rank holds the position table
    bool has_types() const { return tables_.size() > 2; }      // true if this rank holds the token type table

    std::vector<ParameterSpec> tables_;  // of this rank, in the order: tokens, positions, token types
    std::size_t width_;
    std::size_t first_token_;  // first row of this rank in the token table
    std::size_t vocabulary_;   // rows of the whole token table
    std::optional<Norm> norm_;
    double dropout_;
};

}  // namespace trireme::model

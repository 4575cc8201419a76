// The embedding of tokens: the sum of the token's rows in a token table and, if the family has them, in a table
// of learned positions and a table of token types, followed by a norm (bert only) and dropout. Each tensor rank
// holds some rows of the token table (vocabulary parallel). The first tensor rank also holds the other tables.
#pragma once

#include <optional>

#include "trireme/model/norm.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

class EmbeddingLayer {
public:
    struct State {
        device::Tensor sum;  // (own rows, width): input of the norm
        Norm::State norm;
    };

    EmbeddingLayer(const ModelConfig& config, const TensorPart& part);
    std::vector<ParameterSpec> parameters() const;  // the tables, then the norm

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    // True if this rank holds the table of positions, or of token types.
    bool has_positions() const { return tables_.size() > 1; }
    bool has_types() const { return tables_.size() > 2; }

    std::vector<ParameterSpec> tables_;  // tokens, positions, token types
    std::size_t width_;
    std::size_t first_token_;  // first row of this rank in the token table
    std::size_t vocabulary_;   // rows of the whole token table
    std::optional<Norm> norm_;
    double dropout_;
};

}  // namespace trireme::model

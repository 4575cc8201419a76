// The embedding of tokens: the sum of a token table, a table of learned positions and a table of token types,
// followed by a norm (bert only) and dropout. Each tensor rank has some rows of the token table. The first one
// also has the other tables.
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
                           device::Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    // True if this rank has the table.
    bool has_positions() const { return tables_.size() > 1; }
    bool has_types() const { return tables_.size() > 2; }

    std::vector<ParameterSpec> tables_;  // tokens, positions, types
    std::size_t width_, first_token_, vocabulary_;
    std::optional<Norm> norm_;
    double dropout_;
};

}  // namespace trireme::model

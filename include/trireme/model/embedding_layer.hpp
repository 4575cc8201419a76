// The tables that tokens become rows by: of tokens, of learned positions, of token types; in bert a norm;
// dropout. A tensor rank has some rows of the token table; the first one has the other tables.
#pragma once

#include <optional>

#include "trireme/model/norm.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

class EmbeddingLayer {
public:
    struct State {
        device::Tensor sum;  // (own rows, width): what the norm reads
        Norm::State norm;
    };

    EmbeddingLayer(const ModelConfig& config, const TensorPart& part);
    std::vector<ParameterSpec> parameters() const;  // the tables, then the norm's

    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;

private:
    bool has_positions() const { return tables_.size() > 1; }  // this rank
    bool has_types() const { return tables_.size() > 2; }

    std::vector<ParameterSpec> tables_;  // tokens, positions, types
    std::size_t width_, first_token_, vocabulary_;
    std::optional<Norm> norm_;
    double dropout_;
};

}  // namespace trireme::model

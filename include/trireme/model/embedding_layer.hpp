// The tables that tokens become rows by: of tokens, of learned positions, of token types; in bert a norm;
// dropout.
#pragma once

#include <optional>

#include "trireme/model/norm.hpp"

namespace trireme {

class EmbeddingLayer {
public:
    struct State {
        Tensor sum;  // (rows, width): what the norm reads
        Norm::State norm;
    };

    explicit EmbeddingLayer(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const;  // the tables, then the norm's

    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;

private:
    std::size_t table_count() const { return tables_.size(); }
    bool has_positions() const { return tables_.size() > 1; }
    bool has_types() const { return tables_.size() > 2; }

    std::vector<ParameterSpec> tables_;  // tokens, positions, types
    std::size_t width_;
    std::optional<Norm> norm_;
    double dropout_;
};

}  // namespace trireme

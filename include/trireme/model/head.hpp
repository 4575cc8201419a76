// The output projection and the loss: over a vocabulary or over classes. Only rows from which something is to
// be predicted have logits, and those exist one tile of rows at a time.
//
// In training the forward pass only remembers that it was asked: nothing downstream waits for the loss, and a
// backward pass that makes each tile of logits once serves the loss and both gradients with it. (Told apart
// into its two halves, the weight half makes the tiles a second time.)
#pragma once

#include <optional>

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

class Head {
public:
    struct State : LossState {};

    explicit Head(const ModelConfig& config);
    std::vector<ParameterSpec> parameters() const;  // the matrix, and its bias if it has one

    // Gives back an absent tensor: the loss is in the state.
    Tensor forward(const Pass& pass, Weights weights, ConstTensor input, State& state, Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                        Tensor grad_input, State& state, Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                         State& state, Gradients gradients, Arena& scratch) const;
    // Both halves at once, with each tile of logits made once.
    void backward(const Pass& pass, Weights weights, ConstTensor input, Tensor grad_input, State& state,
                  Gradients gradients, Arena& scratch) const;

    // Rows of logits in a tile: as many as fit the memory kept for one, cut evenly.
    std::size_t tile_rows(DType dtype, std::size_t rows) const;

private:
    struct Wanted;  // what is to be done with each tile
    struct Tile;    // some of the predicted rows

    std::size_t most_tile_rows(DType dtype) const;
    void for_each_tile(const Pass& pass, Weights weights, ConstTensor input, const Wanted& wanted, State& state,
                       Arena& scratch) const;
    void compute(const Pass& pass, Weights weights, ConstTensor input, const Tile& tile,
                 const Wanted& wanted) const;

    ParameterSpec weight_;
    std::optional<ParameterSpec> bias_;
    std::size_t width_, outputs_;
    bool smooths_;  // label smoothing applies
};

}  // namespace trireme

// The output projection and the loss: over a vocabulary or over classes. Only rows from which something is to
// be predicted have logits, and those exist one tile of rows at a time. Tensor ranks have some columns of a
// vocabulary each; classes are few, and every rank computes them all.
//
// In training the forward pass only remembers that it was asked: nothing downstream waits for the loss, and a
// backward pass that makes each tile of logits once serves the loss and both gradients with it. (Told apart
// into its two halves, the weight half makes the tiles a second time.)
#pragma once

#include <optional>

#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/tensor_part.hpp"

namespace trireme::model {

class Head {
public:
    struct State : LossState {};

    Head(const ModelConfig& config, const TensorPart& part);
    std::vector<ParameterSpec> parameters() const;  // the matrix, and its bias if it has one

    // Gives back an absent tensor: the loss is in the state.
    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;
    // Both halves at once, with each tile of logits made once.
    void backward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor grad_input,
                  State& state, Gradients gradients, device::Arena& scratch) const;

    // Rows of logits in a tile: as many as fit the memory kept for one, cut evenly.
    std::size_t tile_rows(device::DType dtype, std::size_t rows) const;

private:
    struct Wanted;  // what is to be done with each tile
    struct Tile;    // some of the predicted rows

    std::size_t most_tile_rows(device::DType dtype) const;
    void for_each_tile(const Pass& pass, Weights weights, device::ConstTensor input, const Wanted& wanted,
                       State& state, device::Arena& scratch) const;
    void compute(const Pass& pass, Weights weights, device::ConstTensor input, const Tile& tile,
                 const Wanted& wanted) const;
    // From logits to losses and choices, and to gradients where they are wanted.
    void find_loss(const Pass& pass, const Tile& tile, double gradient_scale) const;
    void find_loss_of_shared(const Pass& pass, const Tile& tile, double gradient_scale) const;
    void give_own_rows(const Pass& pass, device::Tensor all, device::Tensor own) const;
    void add_gradients(const Pass& pass, Weights weights, device::ConstTensor hidden, const Tile& tile,
                       const Wanted& wanted) const;

    ParameterSpec weight_;
    std::optional<ParameterSpec> bias_;
    std::size_t width_, all_outputs_;
    layout::Range outputs_;     // of this rank
    std::size_t most_outputs_;  // of any tensor rank
    bool smooths_;              // label smoothing applies
    bool is_shared_;            // tensor ranks have some outputs each
    bool is_first_;             // of the tensor ranks
};

}  // namespace trireme::model

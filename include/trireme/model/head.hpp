// The output projection and the cross-entropy loss over a vocabulary or over classes. Only rows with a target
// have logits, and logits exist for one tile of rows at a time. Each tensor rank has some columns of a
// vocabulary. Classes are few, so every rank computes them all.
//
// In training the forward pass computes nothing, because no later layer waits for the loss. The backward pass
// computes each tile of logits once for the loss and both gradients. (If its halves run separately, the weight
// half computes the tiles a second time.)
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
    std::vector<ParameterSpec> parameters() const;  // the matrix, then the bias if there is one

    // Returns an absent tensor; the loss is in `state`.
    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& kept) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& kept) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;
    // Runs both halves at once and computes each tile of logits only once.
    void backward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor grad_input,
                  State& state, Gradients gradients, device::Arena& scratch) const;

    // Returns the number of rows per tile: `rows` cut evenly into the fewest tiles that fit the tile memory.
    std::size_t tile_rows(device::DType dtype, std::size_t rows) const;

private:
    struct Wanted;  // requested results
    struct Tile;    // some of the predicted rows

    std::size_t most_tile_rows(device::DType dtype) const;
    void for_each_tile(const Pass& pass, Weights weights, device::ConstTensor input, const Wanted& wanted,
                       State& state, device::Arena& scratch) const;
    void compute(const Pass& pass, Weights weights, device::ConstTensor input, const Tile& tile,
                 const Wanted& wanted) const;
    // Compute losses and choices. A nonzero `gradient_scale` also replaces the logits by their gradients.
    void find_loss(const Pass& pass, const Tile& tile, double gradient_scale) const;
    void find_loss_of_shared(const Pass& pass, const Tile& tile, double gradient_scale) const;
    void give_own_rows(const Pass& pass, device::Tensor all, device::Tensor own) const;
    void add_gradients(const Pass& pass, Weights weights, device::ConstTensor hidden, const Tile& tile,
                       const Wanted& wanted) const;

    ParameterSpec weight_;
    std::optional<ParameterSpec> bias_;
    std::size_t width_, all_outputs_;
    layout::Range outputs_;     // this rank's outputs
    std::size_t most_outputs_;  // maximum over the tensor ranks
    bool smooths_;              // label smoothing applies
    bool is_shared_;            // the outputs are divided among the tensor ranks
    bool is_first_;             // this is the first tensor rank
};

}  // namespace trireme::model

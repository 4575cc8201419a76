// The output projection and the cross-entropy loss. The outputs are the tokens of a vocabulary, or classes.
// Only rows with a target have logits. These rows are cut into tiles, and the logits of only one tile are in
// memory at a time. Each tensor rank computes the logits of its own range of the vocabulary (vocabulary
// parallel). Classes are few, so every tensor rank computes the logits of all classes.
//
// In training, forward() computes nothing, because no later layer waits for the loss. backward() computes the
// logits of each tile once, for the loss and for the gradients of input and parameters. If a schedule splits
// the backward pass, backward_input() and backward_weight() each compute the logits of all tiles.
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

    // Returns an absent tensor, because no layer follows the head. Computes state.loss and state.choices only
    // in evaluation passes: see LossState.
    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;
    // Computes the results of both backward_input() and backward_weight(). The logits are computed only once.
    void backward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor grad_input,
                  State& state, Gradients gradients, device::Arena& scratch) const;

    // Cuts `rows` rows evenly into the smallest number of tiles of at most max_tile_rows() rows. Returns the
    // number of rows per tile; the last tile may have fewer rows.
    std::size_t compute_tile_rows(device::DType dtype, std::size_t rows) const;

    // Returns the maximum number of rows whose logits are in memory at a time.
    std::size_t max_tile_rows(device::DType dtype) const;

private:
    struct Requests;  // the results that a call must compute
    struct Tile;      // some of the rows with a target, and their logits

    void process_tiles(const Pass& pass, Weights weights, device::ConstTensor own_input,
                       const Requests& caller_requests, State& state, device::Arena& scratch) const;
    void process_tile(const Pass& pass, Weights weights, device::ConstTensor input, const Tile& tile,
                      const Requests& requests) const;
    // Compute the losses of a tile and, if tile.choices is present, the argmax of each row of logits. If
    // `gradient_scale` is not 0, the gradients of the logits, times `gradient_scale`, replace the logits.
    // compute_loss() requires all outputs on this rank. compute_sharded_loss() is collective over the tensor
    // group, whose ranks each have some of the outputs.
    void compute_loss(const Pass& pass, const Tile& tile, double gradient_scale) const;
    void compute_sharded_loss(const Pass& pass, const Tile& tile, double gradient_scale) const;
    void extract_own_rows(const Pass& pass, device::Tensor grad_all_rows, device::Tensor grad_own_rows) const;
    void add_gradients(const Pass& pass, Weights weights, device::ConstTensor hidden, const Tile& tile,
                       const Requests& requests) const;

    ParameterSpec weight_;
    std::optional<ParameterSpec> bias_;
    std::size_t width_;
    std::size_t all_outputs_;  // vocabulary size, or number of classes
    layout::Range outputs_;    // outputs that this tensor rank computes
    std::size_t max_outputs_;  // maximum of outputs_.count over the tensor ranks
    bool has_label_smoothing_;
    bool is_sharded_;     // true if the outputs are divided among the tensor ranks
    bool is_first_rank_;  // true on the first tensor rank
};

}  // namespace trireme::model

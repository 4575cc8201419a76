// The output projection and the cross-entropy loss over a vocabulary or over classes ("outputs"). Only rows
// with a target have logits, and the logits of only one tile of rows are in memory at a time. Each tensor rank
// computes the logits of its own range of the vocabulary (vocabulary parallel). Classes are few, so every
// tensor rank computes all of them.
//
// In training the forward pass computes nothing, because no later layer waits for the loss. backward() computes
// each tile of logits once, for the loss and both gradients. backward_input() and backward_weight() compute
// all tiles once each.
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

    // Returns an absent tensor. Computes the results in `state` only in evaluation passes: see LossState.
    device::Tensor forward(const Pass& pass, Weights weights, device::ConstTensor input, State& state,
                           device::Arena& stash) const;
    void backward_input(const Pass& pass, Weights weights, device::ConstTensor input,
                        device::ConstTensor grad_output, device::Tensor grad_input, State& state,
                        device::Arena& stash) const;
    void backward_weight(const Pass& pass, Weights weights, device::ConstTensor input,
                         device::ConstTensor grad_output, State& state, Gradients gradients,
                         device::Arena& scratch) const;
    // Computes the results of backward_input() and backward_weight().
    void backward(const Pass& pass, Weights weights, device::ConstTensor input, device::Tensor grad_input,
                  State& state, Gradients gradients, device::Arena& scratch) const;

    // Returns the number of rows per tile: `rows` cut evenly into the fewest tiles that fit the tile memory.
    std::size_t compute_tile_rows(device::DType dtype, std::size_t rows) const;

private:
    struct Requests;  // the results that a call must compute
    struct Tile;      // some of the rows with a target, and their logits

    std::size_t max_tile_rows(device::DType dtype) const;
    void process_tiles(const Pass& pass, Weights weights, device::ConstTensor own_input,
                       const Requests& caller_requests, State& state, device::Arena& scratch) const;
    void process_tile(const Pass& pass, Weights weights, device::ConstTensor input, const Tile& tile,
                      const Requests& requests) const;
    // Compute the losses of a tile and, if tile.choices is present, the argmax of each row of logits: with all
    // outputs on this rank, or with outputs divided among the tensor ranks. If `gradient_scale` is not 0, the
    // gradients of the logits, times `gradient_scale`, replace the logits.
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
    std::size_t max_outputs_;  // maximum over the tensor ranks
    bool has_label_smoothing_;
    bool is_sharded_;     // the outputs are divided among the tensor ranks
    bool is_first_rank_;  // this is the first tensor rank
};

}  // namespace trireme::model

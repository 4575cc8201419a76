// What every layer shares. A layer is a value that knows its sizes and its parameters; it owns no tensor. A
// call is given the weights to use (so that old versions can be used) and keeps what its backward pass needs in
// a State of its own type, one for each micro-batch in flight.
//
// Each layer type has
//   std::vector<ParameterSpec> parameters() const;
//   struct State;
//   Tensor forward(const Pass&, Weights, ConstTensor input, State&, Arena& kept) const;
//   void backward_input(const Pass&, Weights, ConstTensor input, ConstTensor grad_output, Tensor grad_input,
//                       State&, Arena& kept) const;
//   void backward_weight(const Pass&, Weights, ConstTensor input, ConstTensor grad_output, State&, Gradients,
//                        Arena& scratch) const;
// Tensors that must live until the matching backward_weight come from `kept`; grad_output may be overwritten
// only after that. The halves of a block may make the norm of the next layer along with their output: forward
// takes it as a last argument. `input` and `grad_input` are (own rows, width), see own_rows(), absent for the
// embedding, which reads tokens or pixels.
#pragma once

#include <span>
#include <vector>

#include "trireme/kernels/attention.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::model {

// The tensors of one micro-batch. What a family or a task has no use for may be absent.
struct TokenBatch {
    device::ConstTensor tokens;     // (rows) i32
    device::ConstTensor positions;  // (rows) i32, within the sample
    device::ConstTensor types;      // (rows) i32, token types
    device::ConstTensor visits;     // (rows) i64, unique to (epoch, sample)
    std::span<const kernels::Segment> segments;
    device::ConstTensor
        predicted;                 // (predictions) i32: rows from which something is to be predicted, ascending
    device::ConstTensor targets;   // (predictions) i32: token or class
    device::ConstTensor answers;   // (segments, 2) i32: see SpanLoss
    device::ConstTensor contexts;  // (segments, 2) i32: see BestSpan
    device::ConstTensor pixels;    // (segments * patches, channels * patch * patch) f32

    std::size_t rows() const { return tokens.columns; }
};

struct TensorGroup;

// One micro-batch's way through the model.
struct Pass {
    device::Stream& stream;
    const TokenBatch& batch;
    device::Arena& scratch;  // for what no later call needs; not the arena that a forward pass keeps in
    device::DType dtype = device::DType::f32;
    bool is_training = false;            // dropout is on, and the head leaves the loss to its backward pass
    RandomKey dropout_key = {};          // of the run
    double loss_scale = 1;               // gradients are of loss_scale * sum of losses
    double label_smoothing = 0;          // of the classes, in training
    bool keeps_little = false;           // what is cheap to compute again is not kept for the backward pass
    const TensorGroup* group = nullptr;  // the ranks that share this replica's tensors; null: one rank
};

// What the last layer, a head, leaves in its state.
struct LossState {
    double loss = 0;                    // sum over predictions or answers; after forward when evaluating, after
                                        // backward when training
    std::vector<std::int32_t> choices;  // after forward when evaluating: the token or class chosen for each
                                        // prediction, or the first and last row chosen in each segment
};

// In the order of the layer's parameters().
using Weights = std::span<const device::ConstTensor>;
using Gradients = std::span<const device::Tensor>;

}  // namespace trireme::model

// The interface that all layers share. A layer is a value that knows its sizes and its parameters; it owns no
// tensor. The caller passes the weights, so that old versions can be used. A layer keeps what its backward pass
// needs in a State of its own type; there is one State per in-flight micro-batch.
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
// only after that. The halves of a block may compute the norm of the next layer together with their output:
// their forward takes it as a last argument. `input` and `grad_input` are (own rows, width), see own_rows().
// They are absent for the embedding, which reads tokens or pixels. All calls are collective over pass.group.
#pragma once

#include <span>
#include <vector>

#include "trireme/kernels/attention.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::model {

// The tensors of one micro-batch. Tensors that the family or the task does not use may be absent.
struct TokenBatch {
    device::ConstTensor tokens;     // (rows) i32
    device::ConstTensor positions;  // (rows) i32, within the sample
    device::ConstTensor types;      // (rows) i32, token types
    device::ConstTensor visits;     // (rows) i64, unique per (epoch, sample)
    std::span<const kernels::Segment> segments;
    device::ConstTensor predicted;  // (predictions) i32: rows that have a target, ascending
    device::ConstTensor targets;    // (predictions) i32: token or class
    device::ConstTensor answers;    // (segments, 2) i32: see SpanLoss
    device::ConstTensor contexts;   // (segments, 2) i32: see BestSpan
    device::ConstTensor pixels;     // (segments * patches, channels * patch * patch) f32

    std::size_t rows() const { return tokens.columns; }
};

struct TensorGroup;

// Settings and resources of one pass of a micro-batch through layers.
struct Pass {
    device::Stream& stream;
    const TokenBatch& batch;
    device::Arena& scratch;  // for temporaries of one call; not the arena `kept` of a forward pass
    device::DType dtype = device::DType::f32;
    bool is_training = false;    // dropout is on, and the head computes the loss in its backward pass
    RandomKey dropout_key = {};  // the run's key
    double loss_scale = 1;       // gradients are those of loss_scale * sum of losses
    double label_smoothing = 0;  // for classes, in training
    bool keeps_little = false;   // selective recomputation: tensors that are cheap to recompute are not kept
    const TensorGroup* group = nullptr;  // ranks that share this replica's tensors; null for a single rank
};

// The results of a head.
struct LossState {
    // Sum over predictions or answers. Set by forward in evaluation passes, by backward in training passes.
    double loss = 0;
    // Set by forward in evaluation passes: the chosen token or class per prediction, or the chosen first and
    // last row per segment.
    std::vector<std::int32_t> choices;
};

// One tensor per parameter, in the order of the layer's parameters().
using Weights = std::span<const device::ConstTensor>;
using Gradients = std::span<const device::Tensor>;

}  // namespace trireme::model

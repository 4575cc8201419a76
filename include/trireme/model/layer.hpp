// The interface that all layers share. A layer is a value type with sizes and parameter specs; it owns no
// tensor. The caller passes the weights, so that a pass can use stashed weights. A layer stores what its
// backward pass needs in an object of its type State; there is one State per layer and in-flight micro-batch.
//
// Each layer type has
//   std::vector<ParameterSpec> parameters() const;
//   struct State;
//   Tensor forward(const Pass&, Weights, ConstTensor input, State&, Arena& stash) const;
//   void backward_input(const Pass&, Weights, ConstTensor input, ConstTensor grad_output, Tensor grad_input,
//                       State&, Arena& stash) const;
//   void backward_weight(const Pass&, Weights, ConstTensor input, ConstTensor grad_output, State&, Gradients,
//                        Arena& scratch) const;
// forward() and backward_input() allocate from `stash` the tensors that they store for backward_weight(). The
// caller keeps these tensors until backward_weight() ends. The `stash` of backward_input() may be pass.scratch.
// The caller must not overwrite `input` and `grad_output` before backward_weight() ends. backward_weight() adds
// to the gradients. The halves of a block may compute the norm of the next layer together with their output.
// Their forward() takes this norm as its last argument.
//
// `input`, the output, `grad_input` and `grad_output` are (own rows, width), see find_own_rows(). An embedding
// reads tokens or pixels: its `input` is absent, and it does not write `grad_input`. A head returns an absent
// tensor, and its `grad_output` is absent. forward(), backward_input() and backward_weight() are collective
// over pass.group.
#pragma once

#include <span>
#include <vector>

#include "trireme/kernels/attention.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::model {

// The inputs and targets of one micro-batch. In the shapes, `rows` is the number of tokens, including padding,
// `targets` the number of rows with a target, and `segments` the number of samples. Tensors that the family or
// the task does not use may be absent.
struct TokenBatch {
    device::ConstTensor tokens;                  // (rows) i32
    device::ConstTensor positions;               // (rows) i32: position within the sample
    device::ConstTensor types;                   // (rows) i32: token types
    device::ConstTensor visits;                  // (rows) i64: identifies the visit (sample and epoch)
    std::span<const kernels::Segment> segments;  // one per sample: the rows of its tokens
    device::ConstTensor predicted_rows;          // (targets) i32: indices of the rows with a target, ascending
    device::ConstTensor targets;                 // (targets) i32: token or class
    device::ConstTensor answers;                 // (segments, 2) i32: see SpanLoss
    device::ConstTensor contexts;                // (segments, 2) i32: see BestSpan
    device::ConstTensor pixels;                  // (segments * patches, channels * patch * patch) f32

    std::size_t rows() const { return tokens.columns; }
};

struct TensorGroup;

// Settings and resources of one pass of a micro-batch through layers.
struct Pass {
    device::Stream& stream;
    const TokenBatch& batch;
    device::Arena& scratch;  // temporaries of one call; differs from forward()'s `stash`, except in a head
    device::DType dtype = device::DType::f32;  // of weights and activations
    bool is_training = false;    // dropout is on, and the head computes the loss in its backward pass
    RandomKey dropout_key = {};  // equal for all passes and ranks of the run
    double loss_scale = 1;       // gradients are those of loss_scale * (sum of the losses of all targets)
    double label_smoothing = 0;  // only for Task::classify; 0 in evaluation passes
    // Selective recomputation: tensors that are cheap to recompute are not stored.
    bool recomputes_selectively = false;
    const TensorGroup* group = nullptr;  // ranks that share this replica's tensors; null for a single rank
};

// The results of a head.
struct LossState {
    // Sum of the losses of the micro-batch's targets, without loss_scale. Set by forward() in evaluation
    // passes, and by backward_input() or Head::backward() in training passes.
    double loss = 0;
    // Predictions, set by forward() in evaluation passes. For Task::span, there are two numbers per segment:
    // the first and last row of the best answer, see BestSpan. For other tasks, there is one number per target:
    // the token or class with the largest logit.
    std::vector<std::int32_t> choices;
};

// Lists of one tensor per parameter, in the order of the layer's parameters().
using Weights = std::span<const device::ConstTensor>;
using Gradients = std::span<const device::Tensor>;

}  // namespace trireme::model

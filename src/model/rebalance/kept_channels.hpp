// Products of some input channels read and write compact copies, which lie in the pass's scratch memory.
#pragma once

#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme {

ConstTensor kept_input(const Pass& pass, ConstTensor input, const KeptChannels& kept);  // (rows, kept)
ConstTensor kept_weight(const Pass& pass, ConstTensor weight, WeightAxes axes,
                        const KeptChannels& kept);  // (kept, out) or (out, kept)

// For a gradient of the kept channels, of the input or of a weight; not cleared.
Tensor room_for_input(const Pass& pass, std::size_t rows, const KeptChannels& kept);
Tensor room_for_weight(const Pass& pass, ConstTensor weight, WeightAxes axes, const KeptChannels& kept);

// From those to gradients of all channels: grad_input = ...; grad_weight += ..., of matrix number `part`.
void spread_input(const Pass& pass, ConstTensor compact, KeptChannels& kept, Tensor grad_input);
void spread_weight(const Pass& pass, ConstTensor compact, WeightAxes axes, KeptChannels& kept, std::size_t part,
                   Tensor grad_weight);

// Gradients of some channels, made elsewhere, into those of all: input[:, some] = or += ..., weight[some] +=
// ...
void put_in_input(const Pass& pass, ConstTensor compact, const KeptChannels& some, Tensor grad_input);
void add_to_input(const Pass& pass, ConstTensor compact, const KeptChannels& some, Tensor grad_input);
void add_to_weight(const Pass& pass, ConstTensor compact, WeightAxes axes, const KeptChannels& some,
                   Tensor grad_weight);

}  // namespace trireme

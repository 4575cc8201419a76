// Products of some input channels read and write compact copies, which lie in the pass's scratch memory.
#pragma once

#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

device::ConstTensor kept_input(const Pass& pass, device::ConstTensor input,
                               const KeptChannels& kept);  // (rows, kept)
device::ConstTensor kept_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                                const KeptChannels& kept);  // (kept, out) or (out, kept)

// For a gradient of the kept channels, of the input or of a weight; not cleared.
device::Tensor room_for_input(const Pass& pass, std::size_t rows, const KeptChannels& kept);
device::Tensor room_for_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                               const KeptChannels& kept);

// From those to gradients of all channels: grad_input = ...; grad_weight += ..., of matrix number `part`.
void spread_input(const Pass& pass, device::ConstTensor compact, KeptChannels& kept, device::Tensor grad_input);
void spread_weight(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes, KeptChannels& kept,
                   std::size_t part, device::Tensor grad_weight);

// Gradients of some channels, made elsewhere, into those of all: input[:, some] = or += ..., weight[some] +=
// ...
void put_in_input(const Pass& pass, device::ConstTensor compact, const KeptChannels& some,
                  device::Tensor grad_input);
void add_to_input(const Pass& pass, device::ConstTensor compact, const KeptChannels& some,
                  device::Tensor grad_input);
void add_to_weight(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                   const KeptChannels& some, device::Tensor grad_weight);

}  // namespace trireme::model

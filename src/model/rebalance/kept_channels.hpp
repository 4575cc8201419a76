// Compact copies of some input channels, in the scratch memory of the pass. Matmuls with these channels read
// and write them.
#pragma once

#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Return copies of the kept channels of an input or a weight.
device::ConstTensor kept_input(const Pass& pass, device::ConstTensor input,
                               const KeptChannels& kept);  // (rows, kept)
device::ConstTensor kept_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                                const KeptChannels& kept);  // (kept, out) or (out, kept)

// Return memory for a gradient of the kept channels of the input or of a weight; not cleared.
device::Tensor room_for_input(const Pass& pass, std::size_t rows, const KeptChannels& kept);
device::Tensor room_for_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                               const KeptChannels& kept);

// Expand such gradients to all channels, with substitutes for skipped ones (see Filling): grad_input = ..., and
// grad_weight += ... for matrix number `part`.
void spread_input(const Pass& pass, device::ConstTensor compact, KeptChannels& kept, device::Tensor grad_input);
void spread_weight(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes, KeptChannels& kept,
                   std::size_t part, device::Tensor grad_weight);

// Write gradients of offloaded channels into those of all channels:
//   grad_input[:, some] = ...      grad_input[:, some] += ...      grad_weight[some] += ...
void put_in_input(const Pass& pass, device::ConstTensor compact, const KeptChannels& some,
                  device::Tensor grad_input);
void add_to_input(const Pass& pass, device::ConstTensor compact, const KeptChannels& some,
                  device::Tensor grad_input);
void add_to_weight(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                   const KeptChannels& some, device::Tensor grad_weight);

}  // namespace trireme::model

// Compact tensors, which have only the selected input channels of a projection and are the operands of its
// matmuls. They are in the scratch memory of the pass. In shapes, `kept` is the number of selected channels.
#pragma once

#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Return a compact copy of an input or a weight.
device::ConstTensor gather_kept_input(const Pass& pass, device::ConstTensor input,
                                      const SelectedChannels& kept);  // (rows, kept)
device::ConstTensor gather_kept_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                                       const SelectedChannels& kept);  // (kept, out) or (out, kept)

// Return a compact, uninitialized tensor for a gradient of the input: (rows, kept), or of a weight: (kept, out)
// or (out, kept).
device::Tensor allocate_kept_input(const Pass& pass, std::size_t rows, const SelectedChannels& kept);
device::Tensor allocate_kept_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                                    const SelectedChannels& kept);

// Expand compact gradients to all channels, with substitutes for the skipped channels (see Filling).
// expand_input_gradient() overwrites `grad_input`; expand_weight_gradient() adds to `grad_weight`, the gradient
// of matrix number `matrix_index`.
void expand_input_gradient(const Pass& pass, device::ConstTensor compact, SelectedChannels& kept,
                           device::Tensor grad_input);
void expand_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            SelectedChannels& kept, std::size_t matrix_index, device::Tensor grad_weight);

// Write or add compact gradients of offloaded channels J to the gradients of all channels:
//   grad_input[:, J] = compact      grad_input[:, J] += compact      grad_weight[J] += compact
void copy_into_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                              device::Tensor grad_input);
void add_to_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                           device::Tensor grad_input);
void add_to_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            const SelectedChannels& offloaded, device::Tensor grad_weight);

}  // namespace trireme::model

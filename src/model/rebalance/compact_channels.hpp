// Compact tensors, which have only the selected input channels of a projection and are the operands of its
// matmuls. They are in the scratch memory of the pass. In shapes, `selected` is the number of selected
// channels, and `out` is the number of output channels of a matrix.
#pragma once

#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Return a compact copy of an input or a weight.
device::ConstTensor gather_selected_input(const Pass& pass, device::ConstTensor input,
                                          const SelectedChannels& selected);  // (rows, selected)
device::ConstTensor gather_selected_weight(
    const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
    const SelectedChannels& selected);  // (selected, out) or (out, selected)

// Return a compact, uninitialized tensor for an input or its gradient, (rows, selected), or for a weight or its
// gradient, (selected, out) or (out, selected).
device::Tensor allocate_compact_input_gradient(const Pass& pass, std::size_t rows,
                                               const SelectedChannels& selected);
device::Tensor allocate_compact_weight_gradient(const Pass& pass, device::ConstTensor weight,
                                                kernels::WeightAxes axes, const SelectedChannels& selected);

// Expand compact gradients to all channels, with substitutes for the skipped channels (see Filling).
// expand_input_gradient() overwrites `grad_input`; expand_weight_gradient() adds to `grad_weight`, the gradient
// of matrix number `matrix_index`.
void expand_input_gradient(const Pass& pass, device::ConstTensor compact, SelectedChannels& selected,
                           device::Tensor grad_input);
void expand_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            SelectedChannels& selected, std::size_t matrix_index, device::Tensor grad_weight);

// Write or add compact gradients of offloaded channels J to the gradients of all channels:
//   grad_input[:, J] = compact      grad_input[:, J] += compact      grad_weight[J] += compact
void copy_into_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                              device::Tensor grad_input);
void add_to_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                           device::Tensor grad_input);
void add_to_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            const SelectedChannels& offloaded, device::Tensor grad_weight);

}  // namespace trireme::model

// Compact tensors have only the selected input channels of a projection. The projection's matmuls read and
// write compact tensors, which are in the scratch memory of the pass. In shapes, `count` is the number of
// selected channels, and `out` is the number of output channels of a matrix.
#pragma once

#include "trireme/model/layer.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::model {

// Return a compact copy of an input, or of a weight matrix.
device::ConstTensor gather_selected_input(const Pass& pass, device::ConstTensor input,
                                          const SelectedChannels& selected);  // (rows, count)
device::ConstTensor gather_selected_weight(const Pass& pass, device::ConstTensor weight,
                                           kernels::WeightAxes axes,
                                           const SelectedChannels& selected);  // (count, out) or (out, count)

// Returns a compact, uninitialized tensor for an input or its gradient: (rows, count).
device::Tensor allocate_compact_input(const Pass& pass, std::size_t rows, const SelectedChannels& selected);
// Returns a compact, uninitialized tensor for a weight matrix or its gradient. It has the type of `weight`,
// which is the matrix with all channels. Shape: (count, out) for WeightAxes::in_out, (out, count) for out_in.
device::Tensor allocate_compact_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                                       const SelectedChannels& selected);

// Expand compact gradients to all channels. A skipped channel gets a substitute: see Filling. With
// Filling::same, both functions also store the compact gradients in `selected`, for later substitutes.
// expand_input_gradient() overwrites `grad_input`. expand_weight_gradient() adds to `grad_weight`, the gradient
// of matrix `matrix_index` of the projection.
void expand_input_gradient(const Pass& pass, device::ConstTensor compact, SelectedChannels& selected,
                           device::Tensor grad_input);
void expand_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            SelectedChannels& selected, std::size_t matrix_index, device::Tensor grad_weight);

// Write or add compact gradients of the offloaded channels J to the gradients of all channels. The gradients of
// other channels do not change.
//   copy_into_input_gradient   grad_input[:, J] = compact
//   add_to_input_gradient      grad_input[:, J] += compact
//   add_to_weight_gradient     grad_weight[J] += compact       for WeightAxes::in_out
//                              grad_weight[:, J] += compact    for WeightAxes::out_in
void copy_into_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                              device::Tensor grad_input);
void add_to_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                           device::Tensor grad_input);
void add_to_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            const SelectedChannels& offloaded, device::Tensor grad_weight);

}  // namespace trireme::model

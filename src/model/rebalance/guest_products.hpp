// Products of channels that another rank has lent to this one.
#pragma once

#include "trireme/model/helped_projection.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

std::size_t channels_of(const GuestChannels& guest);
// The weights, not filled yet.
std::vector<Tensor> room_for_weights(const GuestChannels& guest, DType dtype, Arena& arena);

// P = X W: (rows, all outputs), from scratch memory.
Tensor output_of(const Pass& pass, const GuestChannels& guest, const GuestState& state, ConstTensor input);
// output += X W
void add_output(const Pass& pass, const GuestChannels& guest, const GuestState& state, Tensor output);
// dX = dY W^T: (rows, channels), from scratch memory.
Tensor input_gradient_of(const Pass& pass, const GuestChannels& guest, const GuestState& state,
                         ConstTensor grad_output);
// dW = X^T dY of each matrix, from scratch memory.
std::vector<Tensor> weight_gradients_of(const Pass& pass, const GuestChannels& guest, ConstTensor input,
                                        ConstTensor grad_output);

}  // namespace trireme

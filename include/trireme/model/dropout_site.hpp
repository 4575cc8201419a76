// The sites of a model where dropout is applied, and the dropout at each of them.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

// A place in the model where dropout is applied. The values of the enumerators enter the random keys, so that
// another order would change the dropout masks.
enum class DropoutSite : std::uint64_t { embedding, attention, attention_residual, mlp_residual, head };

// Returns the key of the random numbers of a site in a block; `block` is 0 outside the blocks.
RandomKey make_site_key(const Pass& pass, std::size_t block, DropoutSite site);
// Both functions return the dropout of activations with probability `rate`. The first is for a tensor that has
// only this rank's rows of the micro-batch (a part of them with sequence parallelism), the second for one that
// has all rows. In evaluation passes the dropout is off.
kernels::Dropout make_dropout_for_own_rows(const Pass& pass, double rate, std::size_t block, DropoutSite site);
kernels::Dropout make_dropout_for_all_rows(const Pass& pass, double rate, std::size_t block, DropoutSite site);

// Computes values = dropout(values); a no-op if the dropout is off.
void apply_dropout(const Pass& pass, device::Tensor values, const kernels::Dropout& dropout);

// Returns the gradient of the input of the dropout: a new tensor, or `grad_output` itself without dropout.
device::ConstTensor apply_dropout_backward(const Pass& pass, device::ConstTensor grad_output,
                                           const kernels::Dropout& dropout, device::Arena& arena);

}  // namespace trireme::model

// The sites of a model where dropout is applied, and the dropout at each site.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

// A site in the model where dropout is applied. The dropout masks depend on the values of the enumerators,
// which must therefore keep their order.
enum class DropoutSite : std::uint64_t { embedding, attention, attention_residual, mlp_residual, head };

// Returns the key of the random numbers of a site. `block` is the number of the site's block, or 0 outside
// blocks.
RandomKey make_site_key(const Pass& pass, std::size_t block, DropoutSite site);

// Return the dropout with probability `rate` at a site. The first function is for a tensor that has only this
// rank's own rows of the micro-batch: see find_own_rows(). The second is for a tensor that has all rows. In
// evaluation passes the dropout is off.
kernels::Dropout make_dropout_for_own_rows(const Pass& pass, double rate, std::size_t block, DropoutSite site);
kernels::Dropout make_dropout_for_all_rows(const Pass& pass, double rate, std::size_t block, DropoutSite site);

// Computes values = dropout(values) in place; a no-op if the dropout is off.
void apply_dropout(const Pass& pass, device::Tensor values, const kernels::Dropout& dropout);

// Returns the gradient of the input of the dropout: a new tensor from `arena`, or `grad_output` itself if the
// dropout is off.
device::ConstTensor apply_dropout_backward(const Pass& pass, device::ConstTensor grad_output,
                                           const kernels::Dropout& dropout, device::Arena& arena);

}  // namespace trireme::model

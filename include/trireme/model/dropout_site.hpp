// The sites of a model where dropout is applied, and the dropout at each of them.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

enum class Site : std::uint64_t { embedding, attention, attention_residual, mlp_residual, head };

RandomKey site_key(const Pass& pass, std::size_t block, Site site);
// Return the dropout of own_rows(), or of all rows of the micro-batch. It is off in evaluation passes.
kernels::Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site);
kernels::Dropout dropout_of_all_rows(const Pass& pass, double rate, std::size_t block, Site site);

// Computes values = dropout(values); a no-op if the dropout is off.
void drop_out(const Pass& pass, device::Tensor values, const kernels::Dropout& dropout);

// Returns the gradient of the input of the dropout: a new tensor, or `grad_output` itself if it is off.
device::ConstTensor drop_out_backward(const Pass& pass, device::ConstTensor grad_output,
                                      const kernels::Dropout& dropout, device::Arena& arena);

}  // namespace trireme::model

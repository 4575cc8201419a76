// The places in a model where dropout happens.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::model {

enum class Site : std::uint64_t { embedding, attention, attention_residual, mlp_residual, head };

RandomKey site_key(const Pass& pass, std::size_t block, Site site);
// Of the own rows of the micro-batch, or of all; off when evaluating.
kernels::Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site);
kernels::Dropout dropout_of_all_rows(const Pass& pass, double rate, std::size_t block, Site site);

// values = dropout(values), where it is on.
void drop_out(const Pass& pass, device::Tensor values, const kernels::Dropout& dropout);

// The gradient before the dropout: a new tensor, or `grad_output` itself where it is off.
device::ConstTensor drop_out_backward(const Pass& pass, device::ConstTensor grad_output,
                                      const kernels::Dropout& dropout, device::Arena& arena);

}  // namespace trireme::model

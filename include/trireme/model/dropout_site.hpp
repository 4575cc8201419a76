// The places in a model where dropout happens.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

enum class Site : std::uint64_t { embedding, attention, attention_residual, mlp_residual, head };

RandomKey site_key(const Pass& pass, std::size_t block, Site site);
// Of the own rows of the micro-batch, or of all; off when evaluating.
Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site);
Dropout dropout_of_all_rows(const Pass& pass, double rate, std::size_t block, Site site);

// values = dropout(values), where it is on.
void drop_out(const Pass& pass, Tensor values, const Dropout& dropout);

// The gradient before the dropout: a new tensor, or `grad_output` itself where it is off.
ConstTensor drop_out_backward(const Pass& pass, ConstTensor grad_output, const Dropout& dropout, Arena& arena);

}  // namespace trireme

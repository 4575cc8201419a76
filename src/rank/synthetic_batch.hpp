// Makes a synthetic micro-batch, for measurements without a corpus.
#pragma once

#include "trireme/data/batch.hpp"
#include "trireme/model/config.hpp"

namespace trireme::rank {

// Returns `samples` samples of `length` rows with random tokens or pixels. The first row of an image is its
// class token. The task of the model determines the targets of each sample: every token (language), the
// fraction `mask_fraction` of the tokens, rounded up (masked), one answer (span), or one class (classify).
data::Batch make_synthetic_batch(const model::ModelConfig& model, std::size_t samples, std::size_t length,
                                 double mask_fraction);

}  // namespace trireme::rank

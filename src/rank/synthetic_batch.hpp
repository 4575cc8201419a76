// Makes a synthetic micro-batch, for measurements without a corpus.
#pragma once

#include "trireme/data/batch.hpp"
#include "trireme/model/config.hpp"

namespace trireme::rank {

// Returns `samples` samples of `length` rows with random tokens or pixels. The samples have the number of
// targets that the task requires: every token, the fraction `mask_fraction` of the tokens, or one answer or
// class per sample.
data::Batch make_synthetic_batch(const model::ModelConfig& model, std::size_t samples, std::size_t length,
                                 double mask_fraction);

}  // namespace trireme::rank

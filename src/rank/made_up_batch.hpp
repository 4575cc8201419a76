// Makes a synthetic micro-batch, for measurements without a corpus.
#pragma once

#include "trireme/data/batch.hpp"
#include "trireme/model/config.hpp"

namespace trireme::rank {

// Returns `samples` samples of `length` rows with random tokens or pixels. They have as many targets as those
// of a corpus: each next token, the fraction `mask_share` of the tokens, or one answer or class per sample.
data::Batch made_up_batch(const model::ModelConfig& model, std::size_t samples, std::size_t length,
                          double mask_share);

}  // namespace trireme::rank

// The output of the frozen layers of a stage, as far as possible from a cache of samples.
#pragma once

#include "trireme/stage/predict.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// Collective over pass.group. Returns the output of the stage's frozen layers, a view of the only tensor that
// is added to the stash: the rows of all samples. Reads the samples of which the cache has entries. Computes
// the other samples, and those that have passed fewer frozen blocks than there are now, and writes them to the
// cache. The rows of padding are 0.
device::Tensor run_with_cache(const Stage& stage, const CacheUse& use, const model::Pass& pass,
                              device::ConstTensor input, ActivationStash& stash, Workspace& workspace,
                              const PassEvents& events);

// Returns the bytes of the stash that run_with_cache() may use at a time for `batch`, a micro-batch of `model`.
std::size_t count_stash_bytes_with_cache(const model::ModelConfig& model, const BatchShape& batch,
                                         const PassVariant& variant);

}  // namespace trireme::stage

// Costs of stages by counting: what their matrix products do, in GFLOP.
#pragma once

#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/model/config.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme {

// The cost of each stage for the micro-batch, for a rank with an even share of the stage's smallest replica.
// Messages and updates cost nothing. Attention counts the whole square of scores, as the MFU does.
std::vector<StageCost> counted_costs(const ModelConfig& model, const Layout& layout,
                                     const BatchShape& micro_batch);

}  // namespace trireme

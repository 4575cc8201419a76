// Predicts how long replicas exchange gradients.
#pragma once

#include <vector>

namespace trireme::setup {

struct Machine;
struct PricedPlan;

// Seconds of a stage's exchange of gradients with other holders, without overlap. The late reduce-scatter sums
// the gradients that are complete only when the backward pass of the stage ends. The early reduce-scatter sums
// all other gradients.
struct ExchangeSeconds {
    double early_reduce_scatter = 0;
    double late_reduce_scatter = 0;
    double all_gather = 0;  // of gradients or, if replicas shard the optimizer state, of values
};

// Returns, per stage, the longest times of any rank of the stage. The exchange times of a rank that holds
// several stages are divided evenly among these stages.
std::vector<ExchangeSeconds> predict_gradient_exchanges(const PricedPlan& priced, const Machine& machine);

}  // namespace trireme::setup

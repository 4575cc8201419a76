// Sizes of the exchanges of gradients, known without making one for each rank.
#pragma once

#include <vector>

#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme {

// Sizes of one rank's exchange.
struct ExchangeSize {
    std::size_t bytes = 0;                     // GradientExchange::bytes()
    std::vector<std::size_t> own_shards = {};  // elements of each of GradientExchange::own_shards()
};

// The sizes for each of `ranks`, which ascend and hold equal parts of the same tensors: `held` has the
// parameters of any of them.
std::vector<ExchangeSize> exchange_sizes(const GradientPlan& plan, const std::vector<int>& ranks,
                                         const LocalParameters& held);

}  // namespace trireme

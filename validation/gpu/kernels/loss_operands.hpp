// Operands of losses for several tests.
#pragma once

#include "gpu_comparison.hpp"
#include "trireme/kernels/cross_entropy.hpp"

namespace trireme {

// Returns random columns of the vocabulary; every fifth row has no target.
inline std::vector<double> some_targets(std::size_t rows, std::size_t vocabulary) {
    std::vector<double> targets;
    for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t column = random_block(RandomKey{7}, r)[0] % vocabulary;
        targets.push_back(r % 5 == 1 ? kernels::no_target : static_cast<double>(column));
    }
    return targets;
}

// Returns choices with values that no kernel computes.
inline device::Tensor unchosen(GpuOperands& t, std::size_t rows, std::size_t columns) {
    return t.numbers_of(device::DType::i32, rows, columns, std::vector<double>(rows * columns, -777));
}

}  // namespace trireme

// What vendors say of their GPUs.
#pragma once

#include <optional>
#include <string>

#include "trireme/device/tensor.hpp"

namespace trireme {

// Multiplications and additions a second of dense matrix products, as the data sheet has them: of bf16 on
// tensor cores, of f32 without rounding to shorter numbers. None: no sheet of that GPU is known here.
std::optional<double> dense_rate_of(const std::string& gpu, DType dtype);

}  // namespace trireme

// A matrix product of our own, for double where the library has none.
#pragma once

#include "kernels/cpu/product.hpp"

namespace trireme::cpu {

void multiply_blocked(int threads, const Product<double>& product);

}  // namespace trireme::cpu

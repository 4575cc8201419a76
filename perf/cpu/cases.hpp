// Every kernel at the shapes of GPT-2 124M, with the limit that it is compared with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "floors.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::perf {

// The limit that a kernel's seconds are compared with.
enum class Floor : std::uint8_t {
    matmul,  // one plain library call for the same matmul
    flops,   // its flops at the rate of a 512^3 matmul, or its bytes at copy bandwidth if these take longer
    bytes,   // its bytes at copy bandwidth
};

// One kernel call to measure.
struct Case {
    std::string kernel;
    std::string shape;  // "2048 x 768 -> 2304"
    Floor floor = Floor::bytes;
    device::Cost cost;
    std::optional<PlainMatmul> matmul;  // set for Floor::matmul
    std::function<void(device::CpuStream&)> run;
};

// Passes each case to `use` in turn. The tensors of a case exist only until `use` returns.
void for_each_case(std::size_t samples, std::size_t length, const std::function<void(const Case&)>& use);

}  // namespace trireme::perf

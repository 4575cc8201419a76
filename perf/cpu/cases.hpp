// Every kernel at the shapes of GPT-2 124M, with the limit it is compared with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "floors.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::perf {

// What a kernel's seconds are compared with.
enum class Floor : std::uint8_t {
    product,  // the same product by a plain library call
    flops,    // its operations at the rate of a 512^3 product, or its bytes if they take longer
    bytes,    // its bytes at copy bandwidth
};

struct Case {
    std::string kernel;
    std::string shape;  // "2048 x 768 -> 2304"
    Floor floor = Floor::bytes;
    device::Cost cost;
    std::optional<PlainProduct> product;  // of Floor::product
    std::function<void(device::CpuStream&)> run;
};

// Gives each case to `use` in turn; its tensors live only as long.
void for_each_case(std::size_t samples, std::size_t length, const std::function<void(const Case&)>& use);

}  // namespace trireme::perf

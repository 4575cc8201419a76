// Dropout whose choice for an element depends on the sample, the element's place in it and the site in the
// model, and so is the same under every layout, padding and packing.
#pragma once

#include <cstdint>

#include "trireme/base/random.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// Element (row, channel) is kept if word channel % 4 of
//   random_block(key.then(samples[row]), {channel / 4, positions[row], 0, 0})
// is at least keep_threshold(rate); kept elements are scaled by 1 / (1 - rate).
struct Dropout {
    double rate = 0;                     // 0: everything is kept, and the rest of the fields is not looked at
    RandomKey key = {};                  // (seed, layer, site)
    device::ConstTensor samples = {};    // (rows) i64: what names each row's sample and epoch
    device::ConstTensor positions = {};  // (rows) i32: the row's place in its sample
    std::size_t first_channel = 0;       // global channel of column 0

    bool is_on() const { return rate > 0; }
};

// Words below this number drop their element.
constexpr std::uint64_t keep_threshold(double rate) { return static_cast<std::uint64_t>(rate * 0x1p32); }

// output = residual + dropout(input)
struct ResidualAdd {
    device::ConstTensor residual = {};  // (rows, channels), or absent: output = dropout(input)
    device::ConstTensor input;          // (rows, channels)
    device::Tensor output;              // (rows, channels); may be the memory of residual or input
    Dropout dropout = {};

    bool is_present() const { return input.is_present(); }  // as a part of another operation
    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = dropout'(grad_output)
struct DropoutBackward {
    device::ConstTensor grad_output;  // (rows, channels)
    device::Tensor grad_input;        // (rows, channels); may be the memory of grad_output
    Dropout dropout = {};

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const ResidualAdd& op);
void run(device::ReferenceStream& stream, const DropoutBackward& op);
void run(device::CpuStream& stream, const ResidualAdd& op);
void run(device::CpuStream& stream, const DropoutBackward& op);
void run(device::CudaStream& stream, const ResidualAdd& op);
void run(device::CudaStream& stream, const DropoutBackward& op);

}  // namespace trireme::kernels

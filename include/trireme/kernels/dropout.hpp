// Dropout and the residual addition. Whether an element is dropped depends only on its sample, its position in
// the sample, its channel and the site of the dropout in the model. The dropped elements are therefore the same
// under every layout, padding and packing.
#pragma once

#include <cstdint>

#include "trireme/base/random.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// The element in row `row` and column `channel` - first_channel is kept if word channel % 4 of
//   random_block(key.then(samples[row]), {channel / 4, positions[row], 0, 0})
// is at least compute_drop_threshold(rate), and set to 0 otherwise. Kept elements are scaled by 1 / (1 - rate).
struct Dropout {
    double rate = 0;     // probability that an element is dropped; if 0, the other fields are ignored
    RandomKey key = {};  // derived from the seed, the layer and the dropout's site in the layer
    device::ConstTensor samples = {};    // (rows) i64: identifies the sample and the epoch of each row
    device::ConstTensor positions = {};  // (rows) i32: position of the row in its sample
    std::size_t first_channel = 0;       // global index of the channel in column 0

    bool is_on() const { return rate > 0; }
};

// Returns the bound of the 32-bit random words: an element whose word is below the bound is dropped.
constexpr std::uint64_t compute_drop_threshold(double rate) {
    return static_cast<std::uint64_t>(rate * 0x1p32);
}

// output = residual + dropout(input)
struct ResidualAdd {
    device::ConstTensor residual = {};  // (rows, channels), or absent: output = dropout(input)
    device::ConstTensor input;          // (rows, channels)
    device::Tensor output;              // (rows, channels); may share memory with residual or input
    Dropout dropout = {};

    bool is_present() const { return input.is_present(); }  // false in a norm without a fused sum
    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_input = dropout(grad_output), with the dropped elements and the scale of the forward pass
struct DropoutBackward {
    device::ConstTensor grad_output;  // (rows, channels)
    device::Tensor grad_input;        // (rows, channels); may share memory with grad_output
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

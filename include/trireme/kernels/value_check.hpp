// Finds the first kernel of a stream that makes a value that is not finite. A stream without a check pays for
// one comparison with null per kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// A tensor of an operation, by the name of its field. A Tensor is written, a ConstTensor is only read.
struct NamedTensor {
    NamedTensor(const char* field, const device::ConstTensor& read) : name(field), tensor(read) {}
    NamedTensor(const char* field, const device::Tensor& written)
        : name(field), tensor(written), is_written(true) {}

    const char* name;  // a literal: "grad_input"
    device::ConstTensor tensor;
    bool is_written = false;
};
using NamedTensors = std::vector<NamedTensor>;

// An element that is NaN or infinite.
struct NonFiniteValue {
    std::string tensor;          // the name of its field
    const void* data = nullptr;  // the address of the tensor
    std::size_t row = 0;
    std::size_t column = 0;
    double value = 0;
};

// Returns the first one, row by row. Waits for the stream. Ghosts and whole numbers have none.
std::optional<NonFiniteValue> find_non_finite(device::Stream& stream, const NamedTensor& named);

// "nan", "inf" or "-inf"
std::string describe_non_finite(double value);

// The place of a kernel in a step.
struct KernelPlace {
    int stage = 0;
    int microbatch = 0;  // of the step, from 0
    bool is_backward = false;
    std::string layer = {};  // "h.5.mlp"
};

struct NonFiniteOutput {
    KernelPlace place;
    std::string kernel;  // "linear"
    NonFiniteValue output;
    std::optional<NonFiniteValue> input = {};  // an input that is not finite; none: all are finite
};

class ValueCheck {
public:
    // The kernels from here on belong to this pass, or to this layer of it.
    void begin_pass(int stage, int microbatch, bool is_backward);
    void begin_layer(std::string name) { place_.layer = std::move(name); }

    // Called before and after each kernel. After the first finding these are no-ops.
    void before(device::Stream& stream, const NamedTensors& tensors);
    void after(device::Stream& stream, std::string_view kernel, const NamedTensors& tensors);

    const std::optional<NonFiniteOutput>& finding() const { return finding_; }

private:
    KernelPlace place_;
    std::optional<NonFiniteValue> input_;  // of the kernel that runs
    std::optional<NonFiniteOutput> finding_;
};

}  // namespace trireme::kernels

// Finds the first kernel of a stream that produces a non-finite value. A stream without a value check spends
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

// A tensor of an operation and the name of its field. A Tensor is written, a ConstTensor is only read.
struct NamedTensor {
    NamedTensor(const char* field, const device::ConstTensor& read) : name(field), tensor(read) {}
    NamedTensor(const char* field, const device::Tensor& written)
        : name(field), tensor(written), is_written(true) {}

    const char* name;  // string literal, for example "grad_input"
    device::ConstTensor tensor;
    bool is_written = false;
};
using NamedTensors = std::vector<NamedTensor>;

// An element that is NaN or infinite.
struct NonFiniteValue {
    std::string tensor;          // name of the tensor's field
    const void* data = nullptr;  // address of the tensor
    std::size_t row = 0;
    std::size_t column = 0;
    double value = 0;
};

// Returns the first non-finite element in row-major order, or nullopt if there is none. Waits for the stream.
// Always nullopt for ghost streams and integer tensors.
std::optional<NonFiniteValue> find_non_finite(device::Stream& stream, const NamedTensor& named);

// Returns "nan", "inf" or "-inf".
std::string describe_non_finite(double value);

// Identifies the pass and layer of a step in which a kernel runs.
struct KernelPlace {
    int stage = 0;
    int microbatch = 0;  // index in the step, from 0
    bool is_backward = false;
    std::string layer = {};  // for example "h.5.mlp"
};

// The first kernel with a non-finite output.
struct NonFiniteOutput {
    KernelPlace place;
    std::string kernel;  // for example "linear"
    NonFiniteValue output;
    std::optional<NonFiniteValue> input = {};  // a non-finite input; nullopt if all are finite
};

// Checks the inputs and outputs of each kernel of a stream and keeps the first finding.
class ValueCheck {
public:
    // Set the pass and the layer of the kernels that follow.
    void begin_pass(int stage, int microbatch, bool is_backward);
    void begin_layer(std::string name) { place_.layer = std::move(name); }

    // Called before and after each kernel. After the first finding these are no-ops.
    void before(device::Stream& stream, const NamedTensors& tensors);
    void after(device::Stream& stream, std::string_view kernel, const NamedTensors& tensors);

    const std::optional<NonFiniteOutput>& finding() const { return finding_; }

private:
    KernelPlace place_;
    std::optional<NonFiniteValue> input_;  // first non-finite input of the current kernel
    std::optional<NonFiniteOutput> finding_;
};

}  // namespace trireme::kernels

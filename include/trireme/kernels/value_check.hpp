// Finds the first kernel of a stream that produces a non-finite value. A stream without a value check only
// compares a pointer with null for each kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/device/tensor.hpp"

namespace trireme::kernels {

// A tensor of an operation and its name. The operation writes a Tensor and only reads a ConstTensor.
struct NamedTensor {
    NamedTensor(const char* tensor_name, const device::ConstTensor& input) : name(tensor_name), tensor(input) {}
    NamedTensor(const char* tensor_name, const device::Tensor& output)
        : name(tensor_name), tensor(output), is_written(true) {}

    const char* name;  // for messages, for example "grad_input"; a string literal
    device::ConstTensor tensor;
    bool is_written = false;
};
using NamedTensors = std::vector<NamedTensor>;

// An element of a tensor that is NaN or infinite.
struct NonFiniteValue {
    std::string tensor_name;     // NamedTensor::name
    const void* data = nullptr;  // address of the tensor
    std::size_t row = 0;
    std::size_t column = 0;
    double value = 0;
};

// Returns the first non-finite element in row-major order, or nullopt if there is none. Waits for the stream.
// Returns nullopt for ghost streams and integer tensors.
std::optional<NonFiniteValue> find_non_finite_value(device::Stream& stream, const NamedTensor& named_tensor);

// Returns "nan", "inf" or "-inf".
std::string describe_non_finite(double value);

// Identifies the pass and layer of a step in which a kernel runs.
struct KernelContext {
    int stage = 0;
    int microbatch = 0;  // index in the step, from 0
    bool is_backward = false;
    std::string layer = {};  // for example "h.5.mlp"
};

// The first kernel with a non-finite output.
struct NonFiniteOutput {
    KernelContext context;
    std::string kernel;                        // for example "linear"
    NonFiniteValue output;                     // its first non-finite output
    std::optional<NonFiniteValue> input = {};  // its first non-finite input; nullopt if all inputs are finite
};

// Checks the inputs and outputs of each kernel of a stream and stores the first kernel with a non-finite
// output.
class ValueCheck {
public:
    // Set the KernelContext of later kernels. begin_pass() clears the layer, which begin_layer() then sets.
    void begin_pass(int stage, int microbatch, bool is_backward);
    void begin_layer(std::string name) { context_.layer = std::move(name); }

    // check_inputs() is called before each kernel, and check_outputs() after the kernel. The two functions are
    // no-ops once finding() is set.
    void check_inputs(device::Stream& stream, const NamedTensors& tensors);
    void check_outputs(device::Stream& stream, std::string_view kernel, const NamedTensors& tensors);

    const std::optional<NonFiniteOutput>& finding() const { return finding_; }

private:
    KernelContext context_;                // context of the current kernel
    std::optional<NonFiniteValue> input_;  // first non-finite input of the current kernel
    std::optional<NonFiniteOutput> finding_;
};

}  // namespace trireme::kernels

#include "trireme/kernels/value_check.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/host_values.hpp"

namespace trireme::kernels {
namespace {

bool is_float(device::DType dtype) { return dtype != device::DType::i32 && dtype != device::DType::i64; }

template <class T>
std::optional<NonFiniteValue> find_first_non_finite(const device::Elements<const T>& elements) {
    for (std::size_t r = 0; r < elements.rows; ++r) {
        for (std::size_t c = 0; c < elements.columns; ++c) {
            const double value = elements(r, c);
            if (!std::isfinite(value))
                return NonFiniteValue{.tensor_name = {}, .row = r, .column = c, .value = value};
        }
    }
    return std::nullopt;
}

std::optional<NonFiniteValue> find_first_non_finite(const HostValues& values, device::DType dtype) {
    std::optional<NonFiniteValue> found;
    if (dtype == device::DType::bf16) {
        found = find_first_non_finite(values.as<device::Bf16>());
    } else {
        visit_float(dtype, [&]<class T>(T) { found = find_first_non_finite(values.as<T>()); });
    }
    return found;
}

}  // namespace

std::optional<NonFiniteValue> find_non_finite_value(device::Stream& stream, const NamedTensor& named_tensor) {
    const device::ConstTensor& tensor = named_tensor.tensor;
    if (stream.is_ghost() || !tensor.is_present() || !is_float(tensor.dtype)) return std::nullopt;
    std::optional<NonFiniteValue> found = find_first_non_finite(HostValues(stream, tensor), tensor.dtype);
    if (!found) return std::nullopt;
    found->tensor_name = named_tensor.name;
    found->data = tensor.data;
    return found;
}

std::string describe_non_finite(double value) {
    if (std::isnan(value)) return "nan";
    return value > 0 ? "inf" : "-inf";
}

void ValueCheck::begin_pass(int stage, int microbatch, bool is_backward) {
    context_ = {.stage = stage, .microbatch = microbatch, .is_backward = is_backward};
}

// An operation may overwrite its inputs, so the inputs are checked before the operation runs.
void ValueCheck::check_inputs(device::Stream& stream, const NamedTensors& tensors) {
    input_.reset();
    if (finding_) return;
    for (const NamedTensor& named_tensor : tensors) {
        if (!named_tensor.is_written && !input_) input_ = find_non_finite_value(stream, named_tensor);
    }
}

void ValueCheck::check_outputs(device::Stream& stream, std::string_view kernel, const NamedTensors& tensors) {
    if (finding_) return;
    for (const NamedTensor& named_tensor : tensors) {
        if (!named_tensor.is_written) continue;
        const std::optional<NonFiniteValue> output = find_non_finite_value(stream, named_tensor);
        if (!output) continue;
        finding_ = {.context = context_, .kernel = std::string(kernel), .output = *output, .input = input_};
        return;
    }
}

}  // namespace trireme::kernels

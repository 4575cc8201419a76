#include "trireme/kernels/read.hpp"

#include "kernels/host_values.hpp"

namespace trireme::kernels {
namespace {

template <class T, class Number>
void append(const HostValues& values, std::vector<Number>& numbers) {
    const auto elements = values.as<T>();
    for (std::size_t r = 0; r < elements.rows; ++r)
        numbers.insert(numbers.end(), elements.row(r), elements.row(r) + elements.columns);
}

}  // namespace

double read_sum(device::Stream& stream, device::ConstTensor values) {
    if (stream.is_ghost()) return 0;
    const HostValues on_host(stream, values);
    const auto elements = on_host.as<double>();
    double sum = 0;
    for (std::size_t i = 0; i < elements.columns; ++i) sum += elements[i];
    return sum;
}

std::vector<double> read_values(device::Stream& stream, device::ConstTensor values) {
    std::vector<double> numbers;
    if (stream.is_ghost()) return numbers;
    numbers.reserve(values.size());
    const HostValues on_host(stream, values);
    if (values.dtype == device::DType::bf16) {
        append<device::Bf16>(on_host, numbers);
    } else {
        visit_float(values.dtype, [&]<class T>(T) { append<T>(on_host, numbers); });
    }
    return numbers;
}

std::vector<std::int32_t> read_numbers(device::Stream& stream, device::ConstTensor values) {
    std::vector<std::int32_t> numbers;
    if (stream.is_ghost()) return numbers;
    numbers.reserve(values.size());
    append<std::int32_t>(HostValues(stream, values), numbers);
    return numbers;
}

}  // namespace trireme::kernels

#include "trireme/kernels/read.hpp"

#include "kernels/host_values.hpp"

namespace trireme::kernels {
namespace {

template <class T, class Number>
void append_elements(const HostValues& values, std::vector<Number>& elements_read) {
    const auto elements = values.as<T>();
    for (std::size_t r = 0; r < elements.rows; ++r)
        elements_read.insert(elements_read.end(), elements.row(r), elements.row(r) + elements.columns);
}

}  // namespace

double read_sum(device::Stream& stream, device::ConstTensor values) {
    if (stream.is_ghost()) return 0;
    const HostValues host_values(stream, values);
    const auto elements = host_values.as<double>();
    double sum = 0;
    for (std::size_t i = 0; i < elements.columns; ++i) sum += elements[i];
    return sum;
}

std::vector<double> read_values(device::Stream& stream, device::ConstTensor values) {
    std::vector<double> elements_read;
    if (stream.is_ghost()) return elements_read;
    elements_read.reserve(values.size());
    const HostValues host_values(stream, values);
    if (values.dtype == device::DType::bf16) {
        append_elements<device::Bf16>(host_values, elements_read);
    } else {
        visit_float(values.dtype, [&]<class T>(T) { append_elements<T>(host_values, elements_read); });
    }
    return elements_read;
}

std::vector<std::int32_t> read_integers(device::Stream& stream, device::ConstTensor values) {
    std::vector<std::int32_t> elements_read;
    if (stream.is_ghost()) return elements_read;
    elements_read.reserve(values.size());
    append_elements<std::int32_t>(HostValues(stream, values), elements_read);
    return elements_read;
}

}  // namespace trireme::kernels

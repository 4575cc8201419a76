#include "trireme/kernels/read.hpp"

namespace trireme {

double read_sum(Stream& stream, ConstTensor values) {
    if (stream.is_ghost()) return 0;
    const auto elements = values.as<double>();
    double sum = 0;
    for (std::size_t i = 0; i < elements.columns; ++i) sum += elements[i];
    return sum;
}

std::vector<double> read_values(Stream& stream, ConstTensor values) {
    std::vector<double> numbers;
    if (stream.is_ghost()) return numbers;
    numbers.reserve(values.size());
    visit_float(values.dtype, [&]<class T>(T) {
        const auto elements = values.as<T>();
        for (std::size_t r = 0; r < elements.rows; ++r)
            numbers.insert(numbers.end(), elements.row(r), elements.row(r) + elements.columns);
    });
    return numbers;
}

std::vector<std::int32_t> read_numbers(Stream& stream, ConstTensor values) {
    std::vector<std::int32_t> numbers;
    if (stream.is_ghost()) return numbers;
    const auto elements = values.as<std::int32_t>();
    numbers.reserve(values.size());
    for (std::size_t r = 0; r < elements.rows; ++r) {
        numbers.insert(numbers.end(), elements.row(r), elements.row(r) + elements.columns);
    }
    return numbers;
}

}  // namespace trireme

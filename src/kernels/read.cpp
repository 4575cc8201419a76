#include "trireme/kernels/read.hpp"

#include "trireme/device/copy.hpp"
#include "trireme/device/gpu_times.hpp"

namespace trireme {
namespace {

// A tensor where the processor can read it: the GPU's are copied, once its stream has made them.
class OnHost {
public:
    OnHost(Stream& stream, const ConstTensor& values) : values_(values) {
        if (values.place != Place::gpu) return;
        stream.gpu_times->queue().wait();
        copy_.resize(values.bytes());
        const Tensor copy{copy_.data(), values.dtype, values.rows, values.columns, values.columns};
        copy_rows(values, copy);
        values_ = copy;
    }

    template <class T>
    Elements<const T> as() const {
        return values_.as<T>();
    }

private:
    std::vector<std::byte> copy_;
    ConstTensor values_;
};

template <class T, class Number>
void append(const OnHost& values, std::vector<Number>& numbers) {
    const auto elements = values.as<T>();
    for (std::size_t r = 0; r < elements.rows; ++r)
        numbers.insert(numbers.end(), elements.row(r), elements.row(r) + elements.columns);
}

}  // namespace

double read_sum(Stream& stream, ConstTensor values) {
    if (stream.is_ghost()) return 0;
    const OnHost on_host(stream, values);
    const auto elements = on_host.as<double>();
    double sum = 0;
    for (std::size_t i = 0; i < elements.columns; ++i) sum += elements[i];
    return sum;
}

std::vector<double> read_values(Stream& stream, ConstTensor values) {
    std::vector<double> numbers;
    if (stream.is_ghost()) return numbers;
    numbers.reserve(values.size());
    const OnHost on_host(stream, values);
    if (values.dtype == DType::bf16) {
        append<Bf16>(on_host, numbers);
    } else {
        visit_float(values.dtype, [&]<class T>(T) { append<T>(on_host, numbers); });
    }
    return numbers;
}

std::vector<std::int32_t> read_numbers(Stream& stream, ConstTensor values) {
    std::vector<std::int32_t> numbers;
    if (stream.is_ghost()) return numbers;
    numbers.reserve(values.size());
    append<std::int32_t>(OnHost(stream, values), numbers);
    return numbers;
}

}  // namespace trireme

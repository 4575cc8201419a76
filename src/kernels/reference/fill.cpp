// The oracle: one element after the other.
#include "trireme/kernels/fill.hpp"

#include "kernels/normal.hpp"

namespace trireme {
namespace {

template <class T>
void fill(const Fill& op) {
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t c = 0; c < output.columns; ++c) output(r, c) = static_cast<T>(op.value);
    }
}

template <class T>
void fill_normal(const FillNormal& op) {
    const auto output = op.output.as<T>();
    for (std::size_t r = 0; r < output.rows; ++r) {
        for (std::size_t c = 0; c < output.columns; ++c) {
            const std::size_t element = op.first_element + r * op.global_columns + c;
            output(r, c) = static_cast<T>(op.deviation * normal_block(op.key, element / 4)[element % 4]);
        }
    }
}

}  // namespace

void run(ReferenceStream&, const Fill& op) {
    visit_float(op.output.dtype, [&](auto zero) { fill<decltype(zero)>(op); });
}

void run(ReferenceStream&, const FillNormal& op) {
    visit_float(op.output.dtype, [&](auto zero) { fill_normal<decltype(zero)>(op); });
}

}  // namespace trireme

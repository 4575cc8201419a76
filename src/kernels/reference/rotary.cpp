// Reference implementation: one pair of channels at a time, in double.
#include "trireme/kernels/rotary.hpp"

#include <cmath>

namespace trireme::kernels {
namespace {

template <class T>
void rotate_pair(T& first, T& second, double angle) {
    const double x = first;
    const double y = second;
    first = static_cast<T>(x * std::cos(angle) - y * std::sin(angle));
    second = static_cast<T>(y * std::cos(angle) + x * std::sin(angle));
}

template <class T>
void rotate_rows(const Rotary& op) {
    const auto values = op.values.as<T>();
    const auto positions = op.positions.as<std::int32_t>();
    const std::size_t half = op.frequencies.size();  // half of the channels of a head
    for (std::size_t r = 0; r < values.rows; ++r) {
        for (std::size_t column = 0; column < values.columns; column += 2 * half) {
            for (std::size_t c = 0; c < half; ++c) {
                const double angle = positions[r] * op.frequencies[c];
                rotate_pair(values(r, column + c), values(r, column + half + c),
                            op.is_backward ? -angle : angle);
            }
        }
    }
}

}  // namespace

void run(device::ReferenceStream&, const Rotary& op) {
    visit_float(op.values.dtype, [&](auto zero) { rotate_rows<decltype(zero)>(op); });
}

}  // namespace trireme::kernels

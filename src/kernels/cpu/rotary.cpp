#include "trireme/kernels/rotary.hpp"

#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/sine.hpp"

namespace trireme::kernels {
namespace {

// Sines and cosines of the angles of one row, computed once for all its heads.
template <class T>
class RowRotation {
public:
    RowRotation(std::span<const double> frequencies, bool is_backward)
        : frequencies_(frequencies),
          direction_(is_backward ? -1 : 1),
          angles_(frequencies.size()),
          sines_(frequencies.size()),
          cosines_(frequencies.size()) {}

    // Computes the sines and cosines for a position. A separate loop stores the angles, so that each angle is
    // rounded to double. Otherwise the compiler could fuse the multiplication with later operations, and rows
    // at large positions would be rotated by another angle than on a processor without FMA.
    void set_position(std::int32_t position) {
        const std::size_t count = frequencies_.size();
        const double* frequencies = frequencies_.data();
        double* angles = angles_.data();
        T* sines = sines_.data();
        T* cosines = cosines_.data();
        const double signed_position = position * direction_;
#pragma omp simd
        for (std::size_t c = 0; c < count; ++c) angles[c] = signed_position * frequencies[c];
#pragma omp simd
        for (std::size_t c = 0; c < count; ++c) {
            const cpu::SineCosine sine_and_cosine = cpu::compute_sine_cosine(angles[c]);
            sines[c] = static_cast<T>(sine_and_cosine.sine);
            cosines[c] = static_cast<T>(sine_and_cosine.cosine);
        }
    }

    // Rotates each pair of channels (c, c + half) of one head by angle c.
    void rotate_head(T* head) const {
        const std::size_t half = frequencies_.size();
        const T* sines = sines_.data();
        const T* cosines = cosines_.data();
        T* first = head;
        T* second = head + half;
#pragma omp simd
        for (std::size_t c = 0; c < half; ++c) {
            const T x = first[c];
            const T y = second[c];
            first[c] = x * cosines[c] - y * sines[c];
            second[c] = y * cosines[c] + x * sines[c];
        }
    }

private:
    std::span<const double> frequencies_;
    double direction_;
    std::vector<double> angles_;
    std::vector<T> sines_;
    std::vector<T> cosines_;
};

template <class T>
void rotate_rows(int threads, const Rotary& op) {
    const auto values = op.values.as<T>();
    const std::int32_t* positions = op.positions.as<std::int32_t>().data;
    const std::size_t head_size = 2 * op.frequencies.size();
    cpu::for_each_rows(threads, values.rows, values.columns, [&](std::size_t begin, std::size_t end) {
        RowRotation<T> rotation(op.frequencies, op.is_backward);
        for (std::size_t r = begin; r < end; ++r) {
            rotation.set_position(positions[r]);
            T* row = values.row(r);
            for (std::size_t c = 0; c < values.columns; c += head_size) rotation.rotate_head(row + c);
        }
    });
}

}  // namespace

void run(device::CpuStream& stream, const Rotary& op) {
    visit_float(op.values.dtype, [&](auto zero) { rotate_rows<decltype(zero)>(stream.threads, op); });
}

}  // namespace trireme::kernels

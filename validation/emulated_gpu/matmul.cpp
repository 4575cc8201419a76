// Matmuls of the emulated GPU: plain loops, sums in double.
#include <cmath>
#include <numbers>

#include "emulated_gpu/queue.hpp"
#include "kernels/cuda/matmul/matmul_library.hpp"

namespace trireme {
namespace {

// Rounds a double to bf16 through float, as tensor cores do, except for about one bit in billions.
template <class R>
R rounded(double value) {
    if constexpr (std::is_same_v<R, double>) return value;
    return static_cast<R>(static_cast<float>(value));
}

double gelu_tanh(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double gelu_tanh_slope(double x) {
    const double factor = std::sqrt(2 / std::numbers::pi);
    const double t = std::tanh(factor * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x);
}

template <class T, class R>
class Multiplication {
public:
    explicit Multiplication(const kernels::GpuMatmul& matmul) : p_(matmul) {}

    void run() const {
        for (std::size_t r = 0; r < p_.result.rows; ++r)
            for (std::size_t c = 0; c < p_.result.columns; ++c) put(r, c, element(r, c));
    }

private:
    static device::Elements<const T> elements(const device::ConstTensor& tensor) {
        return tensor.as<T>(device::MemorySpace::gpu);
    }

    double left(std::size_t row, std::size_t d) const {
        const auto all = elements(p_.left);
        return static_cast<double>(p_.is_left_transposed ? all(d, row) : all(row, d));
    }
    double right(std::size_t d, std::size_t column) const {
        const auto all = elements(p_.right);
        return static_cast<double>(p_.is_right_transposed ? all(column, d) : all(d, column));
    }
    double element(std::size_t r, std::size_t c) const {
        double sum = p_.accumulate ? static_cast<double>(p_.result.as<R>(device::MemorySpace::gpu)(r, c)) : 0;
        if (p_.bias.is_present()) sum += static_cast<double>(p_.bias.as<R>(device::MemorySpace::gpu)[c]);
        for (std::size_t d = 0; d < p_.depth(); ++d) sum += left(r, d) * right(d, c);
        return sum;
    }
    void put(std::size_t r, std::size_t c, double value) const {
        if (p_.activation_input.is_present())
            value *=
                gelu_tanh_slope(static_cast<double>(p_.activation_input.as<R>(device::MemorySpace::gpu)(r, c)));
        p_.result.as<R>(device::MemorySpace::gpu)(r, c) = rounded<R>(value);
        if (p_.activated_output.is_present())
            p_.activated_output.as<R>(device::MemorySpace::gpu)(r, c) = rounded<R>(gelu_tanh(value));
    }
    const kernels::GpuMatmul& p_;
};

void multiply_now(const kernels::GpuMatmul& p) {
    if (p.left.dtype == device::DType::f64) return Multiplication<double, double>(p).run();
    if (p.left.dtype == device::DType::f32) return Multiplication<float, float>(p).run();
    if (p.result.dtype == device::DType::f32) return Multiplication<device::Bf16, float>(p).run();
    Multiplication<device::Bf16, device::Bf16>(p).run();
}

bool is_aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

// True if the library supports the matrix as the input of an activation.
bool is_taken(const device::ConstTensor& matrix) {
    return is_aligned(matrix.data) && matrix.stride % 8 == 0 && matrix.dtype == device::DType::bf16;
}

// Rejects some matmuls, as the library does, so that tests cover both cases.
bool takes(const kernels::GpuMatmul& matmul) {
    if (matmul.bias.is_present() && (!is_aligned(matmul.bias.data) || matmul.bias.dtype == device::DType::f64))
        return false;
    if (matmul.activated_output.is_present()) return is_taken(matmul.result);
    return !matmul.activation_input.is_present() || is_taken(matmul.activation_input);
}

}  // namespace

namespace kernels {

class MatmulLibrary::Lt {};

MatmulLibrary::MatmulLibrary() = default;
MatmulLibrary::~MatmulLibrary() = default;
std::size_t MatmulLibrary::count_gpu_bytes() { return 0; }
void MatmulLibrary::multiply(device::GpuQueue& queue, const GpuMatmul& matmul) {
    emulated::submit_job(queue, [matmul] { multiply_now(matmul); });
}

bool MatmulLibrary::multiply_fused(device::GpuQueue& queue, const GpuMatmul& matmul) {
    if (!takes(matmul)) return false;
    multiply(queue, matmul);
    return true;
}

}  // namespace kernels
}  // namespace trireme

// Matrix products of the emulated GPU: plain loops, sums in double.
#include "emulated_gpu/queue.hpp"
#include "kernels/cuda/product_library.hpp"

namespace trireme {
namespace {

// bf16 from a double by way of a float: what a tensor core does, but for one bit in billions.
template <class R>
R rounded(double value) {
    if constexpr (std::is_same_v<R, double>) return value;
    return static_cast<R>(static_cast<float>(value));
}

template <class T, class R>
void multiply(const GpuProduct& p) {
    const auto left = p.left.as<T>(Place::gpu);
    const auto right = p.right.as<T>(Place::gpu);
    const auto result = p.result.as<R>(Place::gpu);
    for (std::size_t r = 0; r < result.rows; ++r) {
        for (std::size_t c = 0; c < result.columns; ++c) {
            double sum = p.accumulate ? static_cast<double>(result(r, c)) : 0;
            if (p.bias.is_present()) sum += static_cast<double>(p.bias.as<R>(Place::gpu)[c]);
            for (std::size_t d = 0; d < p.depth(); ++d) {
                const T a = p.is_left_transposed ? left(d, r) : left(r, d);
                const T b = p.is_right_transposed ? right(c, d) : right(d, c);
                sum += static_cast<double>(a) * static_cast<double>(b);
            }
            result(r, c) = rounded<R>(sum);
        }
    }
}

void multiply_now(const GpuProduct& p) {
    if (p.left.dtype == DType::f64) return multiply<double, double>(p);
    if (p.left.dtype == DType::f32) return multiply<float, float>(p);
    if (p.result.dtype == DType::f32) return multiply<Bf16, float>(p);
    multiply<Bf16, Bf16>(p);
}

}  // namespace

class ProductLibrary::Lt {};

ProductLibrary::ProductLibrary() = default;
ProductLibrary::~ProductLibrary() = default;
std::size_t ProductLibrary::bytes() { return 0; }
void ProductLibrary::multiply(GpuQueue& queue, const GpuProduct& product) {
    emulated::do_later(queue, [product] { multiply_now(product); });
}

// As the library, which refuses some, so that tests see both ways.
bool ProductLibrary::takes_bias(const GpuProduct& product) {
    return reinterpret_cast<std::uintptr_t>(product.bias.data) % 16 == 0 && product.bias.dtype != DType::f64;
}

}  // namespace trireme

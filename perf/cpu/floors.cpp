#include "floors.hpp"

#include <cstring>
#include <ctime>

#include "trireme/device/buffer.hpp"
#if TRIREME_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#else
extern "C" void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda, const float* b,
                       const int* ldb, const float* beta, float* c, const int* ldc);
#endif

namespace trireme::perf {
namespace {

// An array of numbers in a Buffer, the memory in which the program keeps its tensors. The large pages of a
// Buffer are faster to access than small pages.
class Numbers {
public:
    Numbers(std::size_t count, float value) : buffer_(count * sizeof(float), device::MemorySpace::host) {
        std::fill_n(data(), count, value);
    }
    float* data() const { return reinterpret_cast<float*>(buffer_.data()); }

private:
    device::Buffer buffer_;
};

struct Matrices {
    explicit Matrices(const PlainMatmul& p)
        : left(p.rows * p.depth, 0.5F), right(p.depth * p.columns, 0.25F), output(p.rows * p.columns, 0) {}

    Numbers left;
    Numbers right;
    Numbers output;
};

#if TRIREME_WITH_ONEDNN
Seconds gemm_seconds(const PlainMatmul& p, Matrices& m, std::size_t repeats) {
    const auto rows = static_cast<dnnl_dim_t>(p.rows);
    const auto columns = static_cast<dnnl_dim_t>(p.columns);
    const auto depth = static_cast<dnnl_dim_t>(p.depth);
    return measure(repeats, [&] {
        dnnl_sgemm(p.is_left_transposed ? 'T' : 'N', p.is_right_transposed ? 'T' : 'N', rows, columns, depth, 1,
                   m.left.data(), p.is_left_transposed ? rows : depth, m.right.data(),
                   p.is_right_transposed ? depth : columns, p.accumulate ? 1.0F : 0.0F, m.output.data(),
                   columns);
    });
}

dnnl::memory::desc description(std::size_t rows, std::size_t columns, bool is_transposed) {
    const auto r = static_cast<dnnl_dim_t>(rows);
    const auto c = static_cast<dnnl_dim_t>(columns);
    const dnnl::memory::dims strides = is_transposed ? dnnl::memory::dims{1, r} : dnnl::memory::dims{c, 1};
    return {{r, c}, dnnl::memory::data_type::f32, strides};
}

Seconds matmul_seconds(const PlainMatmul& p, Matrices& m, std::size_t repeats) {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const auto left = description(p.rows, p.depth, p.is_left_transposed);
    const auto right = description(p.depth, p.columns, p.is_right_transposed);
    const auto output = description(p.rows, p.columns, false);
    dnnl::primitive_attr attributes;
    if (p.accumulate) {
        dnnl::post_ops sum;
        sum.append_sum(1);
        attributes.set_post_ops(sum);
    }
    const dnnl::matmul matmul(dnnl::matmul::primitive_desc({left, right, output}, attributes, engine));
    const std::unordered_map<int, dnnl::memory> operands{
        {DNNL_ARG_SRC, dnnl::memory(left, engine, m.left.data())},
        {DNNL_ARG_WEIGHTS, dnnl::memory(right, engine, m.right.data())},
        {DNNL_ARG_DST, dnnl::memory(output, engine, m.output.data())}};
    return measure(repeats, [&] {
        matmul.execute(stream, operands);
        stream.wait();
    });
}
#else
Seconds gemm_seconds(const PlainMatmul& p, Matrices& m, std::size_t repeats) {
    const int rows = static_cast<int>(p.rows);
    const int columns = static_cast<int>(p.columns);
    const int depth = static_cast<int>(p.depth);
    const float one = 1;
    const float beta = p.accumulate ? 1 : 0;
    // sgemm_ expects column-major matrices, so the transposed matrices are multiplied in reverse order.
    return measure(repeats, [&] {
        sgemm_(p.is_right_transposed ? "T" : "N", p.is_left_transposed ? "T" : "N", &columns, &rows, &depth,
               &one, m.right.data(), p.is_right_transposed ? &depth : &columns, m.left.data(),
               p.is_left_transposed ? &rows : &depth, &beta, m.output.data(), &columns);
    });
}

Seconds matmul_seconds(const PlainMatmul& p, Matrices& m, std::size_t repeats) {
    return gemm_seconds(p, m, repeats);
}
#endif

}  // namespace

double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Seconds library_seconds(const PlainMatmul& shape, std::size_t repeats) {
    Matrices matrices(shape);
    const Seconds gemm = gemm_seconds(shape, matrices, repeats);
    const Seconds matmul = matmul_seconds(shape, matrices, repeats);
    return gemm.least < matmul.least ? gemm : matmul;
}

double measure_copy_bandwidth(std::size_t bytes, std::size_t repeats) {
    const std::size_t count = bytes / sizeof(float) + 1;
    const Numbers from(count, 1);
    const Numbers to(count, 2);
    const Seconds copy = measure(repeats, [&] {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory");  // keeps the compiler from removing the copy
    });
    const Seconds scale = measure(repeats, [&] {
        float* values = to.data();
#pragma omp simd
        for (std::size_t i = 0; i < count; ++i) values[i] *= 0.5F;
        asm volatile("" : : "r"(values) : "memory");
    });
    return 2 * static_cast<double>(bytes) / std::min(copy.least, scale.least);
}

}  // namespace trireme::perf

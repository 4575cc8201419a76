#include <cuda_runtime.h>

#include <type_traits>

#include "device/cuda/check_cuda.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

constexpr unsigned threads_per_block = 256;

// Implements sum_in_order() of buffer.hpp. `others` has one row per other rank, in rank order. Sums of bf16 are
// accumulated in f32 and rounded once.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    add_in_rank_order(T* own, std::size_t elements, std::size_t own_rank, Elements<const T> others) {
    const std::size_t i = std::size_t{blockIdx.x} * threads_per_block + threadIdx.x;
    if (i >= elements) return;
    using Accumulator = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;
    Accumulator total = 0;
    for (std::size_t rank = 0; rank <= others.rows; ++rank)
        total +=
            static_cast<Accumulator>(rank == own_rank ? own[i] : others(rank < own_rank ? rank : rank - 1, i));
    own[i] = static_cast<T>(total);
}

template <class T>
void launch_sum(const Tensor& own, std::size_t own_rank, const ConstTensor& others) {
    const auto blocks = static_cast<unsigned>((own.columns + threads_per_block - 1) / threads_per_block);
    T* data = own.as<T>(MemorySpace::gpu).data;
    std::size_t elements = own.columns;
    Elements<const T> rows = others.as<T>(MemorySpace::gpu);
    void* arguments[] = {&data, &elements, &own_rank, &rows};
    check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(&add_in_rank_order<T>), dim3(blocks),
                                dim3(threads_per_block), arguments, 0, nullptr),
               "the kernel add_in_rank_order");
}

}  // namespace

void sum_in_order_on_gpu(Tensor own, std::size_t own_rank, ConstTensor others) {
    if (own.dtype == DType::bf16) {
        launch_sum<Bf16>(own, own_rank, others);
    } else {
        visit_float(own.dtype, [&]<class T>(T) { launch_sum<T>(own, own_rank, others); });
    }
}

}  // namespace trireme::device

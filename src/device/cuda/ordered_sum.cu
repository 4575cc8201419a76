#include <cuda_runtime.h>

#include <type_traits>

#include "device/cuda/check_cuda.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

constexpr unsigned block_threads = 256;

template <class T>
__global__ void __launch_bounds__(block_threads)
    sum(T* own, std::size_t elements, std::size_t self, Elements<const T> others) {
    const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    if (i >= elements) return;
    using Wide = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;
    Wide total = 0;
    for (std::size_t rank = 0; rank <= others.rows; ++rank)
        total += static_cast<Wide>(rank == self ? own[i] : others(rank < self ? rank : rank - 1, i));
    own[i] = static_cast<T>(total);
}

template <class T>
void start_sum(const Tensor& own, std::size_t self, const ConstTensor& others) {
    const auto blocks = static_cast<unsigned>((own.columns + block_threads - 1) / block_threads);
    T* data = own.as<T>(MemorySpace::gpu).data;
    std::size_t elements = own.columns;
    Elements<const T> rows = others.as<T>(MemorySpace::gpu);
    void* arguments[] = {&data, &elements, &self, &rows};
    check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(&sum<T>), dim3(blocks), dim3(block_threads),
                                arguments, 0, nullptr),
               "a sum of ranks");
}

}  // namespace

void sum_in_order_on_gpu(Tensor own, std::size_t self, ConstTensor others) {
    if (own.dtype == DType::bf16) {
        start_sum<Bf16>(own, self, others);
    } else {
        visit_float(own.dtype, [&]<class T>(T) { start_sum<T>(own, self, others); });
    }
}

}  // namespace trireme::device

#include <algorithm>
#include <array>
#include <type_traits>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

// Replaces `own` by the sum of all ranks' terms, added in rank order. The function works on blocks that fit in
// the L1 cache. `sums` accumulates apart from `own`, because `own` is both a term and the destination.
template <class T>
void add_in_rank_order(Elements<T> own, std::size_t own_rank, Elements<const T> others) {
    using Accumulator = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;
    constexpr std::size_t block_size = 512;
    std::array<Accumulator, block_size> sums;
    for (std::size_t begin = 0; begin < own.columns; begin += block_size) {
        const std::size_t count = std::min(block_size, own.columns - begin);
        std::fill_n(sums.begin(), count, Accumulator{});
        for (std::size_t rank = 0; rank <= others.rows; ++rank) {
            const T* const row = rank == own_rank ? own.data : others.row(rank < own_rank ? rank : rank - 1);
            for (std::size_t i = 0; i < count; ++i) sums[i] += row[begin + i];
        }
        std::copy_n(sums.begin(), count, own.data + begin);
    }
}

}  // namespace

void sum_in_order(Tensor own, std::size_t own_rank, ConstTensor others) {
    if (!own.is_present() || own.memory_space == MemorySpace::ghost) return;
    if (own.memory_space == MemorySpace::gpu) return sum_in_order_on_gpu(own, own_rank, others);
    if (own.dtype == DType::bf16) return add_in_rank_order(own.as<Bf16>(), own_rank, others.as<Bf16>());
    visit_float(own.dtype, [&]<class T>(T) { add_in_rank_order<T>(own.as<T>(), own_rank, others.as<T>()); });
}

}  // namespace trireme::device

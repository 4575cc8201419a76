#include <algorithm>
#include <array>
#include <type_traits>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

// Sums in blocks that fit into the L1 cache. A block has its own
// accumulator, because `own` is both a term and the destination.
template <class T>
void sum(Elements<T> own, std::size_t self, Elements<const T> others) {
    using Wide = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;
    constexpr std::size_t block = 512;
    std::array<Wide, block> total;
    for (std::size_t begin = 0; begin < own.columns; begin += block) {
        const std::size_t count = std::min(block, own.columns - begin);
        std::fill_n(total.begin(), count, Wide{});
        for (std::size_t rank = 0; rank <= others.rows; ++rank) {
            const T* const row = rank == self ? own.data : others.row(rank < self ? rank : rank - 1);
            for (std::size_t i = 0; i < count; ++i) total[i] += row[begin + i];
        }
        std::copy_n(total.begin(), count, own.data + begin);
    }
}

}  // namespace

void sum_in_order(Tensor own, std::size_t self, ConstTensor others) {
    if (!own.is_present() || own.place == MemorySpace::ghost) return;
    if (own.place == MemorySpace::gpu) return sum_in_order_on_gpu(own, self, others);
    if (own.dtype == DType::bf16) return sum(own.as<Bf16>(), self, others.as<Bf16>());
    visit_float(own.dtype, [&]<class T>(T) { sum<T>(own.as<T>(), self, others.as<T>()); });
}

}  // namespace trireme::device

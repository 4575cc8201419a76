#include "comm/rank_order_sum.hpp"

#include <algorithm>
#include <array>

namespace trireme {
namespace {

std::size_t row_of(const Communicator& group, int peer) {
    return static_cast<std::size_t>(peer < group.rank() ? peer : peer - 1);
}

// A block at a time, as the own values are a term as well as the place of the sum.
template <class T>
void add(const Communicator& group, Elements<T> own, Elements<const T> received) {
    constexpr std::size_t block = 1024;
    std::array<T, block> sum;
    for (std::size_t begin = 0; begin < own.columns; begin += block) {
        const std::size_t count = std::min(block, own.columns - begin);
        std::fill_n(sum.begin(), count, T{});
        for (int rank = 0; rank < group.size(); ++rank) {
            const T* values = rank == group.rank() ? own.data : received.row(row_of(group, rank));
            for (std::size_t i = 0; i < count; ++i) sum[i] += values[begin + i];
        }
        std::copy_n(sum.begin(), count, own.data + begin);
    }
}

}  // namespace

Tensor received_from(const Communicator& group, Tensor received, int peer) {
    return received.row_range(row_of(group, peer), 1);
}

void add_in_rank_order(const Communicator& group, Tensor own, ConstTensor received) {
    if (group.is_ghost()) return;
    visit_float(own.dtype, [&](auto zero) {
        using T = decltype(zero);
        add<T>(group, own.as<T>(), received.as<T>());
    });
}

}  // namespace trireme

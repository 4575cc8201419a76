#include "comm/rank_order_sum.hpp"

#include "trireme/device/buffer.hpp"

namespace trireme {
namespace {

std::size_t row_of(const Communicator& group, int peer) {
    return static_cast<std::size_t>(peer < group.rank() ? peer : peer - 1);
}

}  // namespace

Tensor received_from(const Communicator& group, Tensor received, int peer) {
    return received.row_range(row_of(group, peer), 1);
}

void add_in_rank_order(const Communicator& group, Tensor own, ConstTensor received) {
    if (group.is_ghost()) return;
    const std::size_t peers = static_cast<std::size_t>(group.size()) - 1;
    sum_in_order(own, static_cast<std::size_t>(group.rank()),
                 received.row_range(0, peers).column_range(0, own.columns));
}

}  // namespace trireme

// Asynchronous copies: each thread of a block has its own groups.
#include <deque>
#include <utility>
#include <vector>

#include "emulated_gpu/order.hpp"
#include "kernels/cuda/hardware/tensor_core.cuh"

namespace trireme::kernels::gpu {
namespace {

struct Copy {
    void* to;
    const void* from;  // null for zeros
    std::size_t bytes;

    void carry_out() const {
        if (from == nullptr) std::memset(to, 0, bytes);
        if (from != nullptr) std::memcpy(to, from, bytes);
    }
};

struct Copies {
    std::vector<Copy> open = {};
    std::deque<std::vector<Copy>> committed = {};
};

Copies& current_copies() {
    static thread_local std::vector<Copies> of_threads(1024);
    return of_threads[emulated::place().thread.x];
}

}  // namespace

void copy_async(void* to, const void* from, std::size_t bytes) {
    const Copy copy{to, from, bytes};
    if (emulated::are_threads_shuffled()) return copy.carry_out();
    current_copies().open.push_back(copy);
}

void commit_copies() { current_copies().committed.push_back(std::exchange(current_copies().open, {})); }

void wait_for_copies(unsigned pending_groups) {
    Copies& own = current_copies();
    while (own.committed.size() > pending_groups) {
        for (const Copy& copy : own.committed.front()) copy.carry_out();
        own.committed.pop_front();
    }
}

}  // namespace trireme::kernels::gpu

// Kernels that go through many tensors in one start: each tensor has blocks of its own, one tensor's behind the
// other's.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/base/error.hpp"

namespace trireme::kernels::gpu {

// Which of so many owners, in the order of their `first_block`, a block belongs to: to the last one that begins
// no later. Owners without blocks begin where the next one does.
template <class Owner>
constexpr unsigned owner_of(const Owner* owners, unsigned count, unsigned block) {
    unsigned owner = 0;
    for (unsigned left = count; left > 1;) {
        const unsigned half = left / 2;
        if (owners[owner + half].first_block <= block) owner += half;
        left -= half;
    }
    return owner;
}

template <class Owner>
struct OwnedBlocks {
    std::vector<Owner> owners = {};
    unsigned blocks = 0;

    void add(Owner owner, std::size_t own_blocks) {
        constexpr std::size_t most = 0x7FFFFFFF;
        if (own_blocks > most - blocks)
            throw BugError(cat("a kernel was asked for ", blocks + own_blocks, " blocks"));
        owner.first_block = blocks;
        owners.push_back(owner);
        blocks += static_cast<unsigned>(own_blocks);
    }
};

}  // namespace trireme::kernels::gpu

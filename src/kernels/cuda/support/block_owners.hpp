// Finds the tensor that each block of threads processes if one launch processes many tensors. A tensor owns a
// contiguous range of the blocks of the launch. An `Owner` is the kernel's struct that describes one tensor.
// The member `first_block` of an owner is the index of the first block that belongs to the owner.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/base/error.hpp"

namespace trireme::kernels::gpu {

// Returns the index of the owner of a block, by binary search: the last owner whose `first_block` is at most
// `block`. Owners are sorted by `first_block`; an owner without blocks has the `first_block` of the next owner.
template <class Owner>
constexpr unsigned find_owner(const Owner* owners, unsigned count, unsigned block) {
    unsigned owner = 0;
    for (unsigned left = count; left > 1;) {
        const unsigned half = left / 2;
        if (owners[owner + half].first_block <= block) owner += half;
        left -= half;
    }
    return owner;
}

// The owners of the blocks of one launch, sorted by their `first_block`.
template <class Owner>
struct OwnedBlocks {
    std::vector<Owner> owners = {};
    unsigned blocks = 0;  // number of blocks of all owners

    // Appends an owner of `own_blocks` blocks and sets its `first_block`.
    void add(Owner owner, std::size_t own_blocks) {
        constexpr std::size_t block_limit = 0x7FFFFFFF;
        if (own_blocks > block_limit - blocks)
            throw BugError(
                cat("a kernel needs ", blocks + own_blocks, " blocks, but a grid has at most ", block_limit));
        owner.first_block = blocks;
        owners.push_back(owner);
        blocks += static_cast<unsigned>(own_blocks);
    }
};

}  // namespace trireme::kernels::gpu

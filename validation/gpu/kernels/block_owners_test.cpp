#include "kernels/cuda/support/block_owners.hpp"

#include <gtest/gtest.h>

#include <array>

namespace trireme::kernels::gpu {
namespace {

struct Owner {
    unsigned first_block = 0;
};

// Tests all lists of up to five owners with 0, 1 or 3 blocks each.
TEST(BlockOwners, AreFoundByBlockNumber) {
    constexpr std::array<std::size_t, 3> sizes{0, 1, 3};
    for (unsigned count = 1; count <= 5; ++count) {
        for (unsigned choice = 0; choice < 243; ++choice) {
            OwnedBlocks<Owner> blocks;
            std::vector<unsigned> expected;
            for (unsigned owner = 0, rest = choice; owner < count; ++owner, rest /= 3) {
                blocks.add({}, sizes[rest % 3]);
                expected.insert(expected.end(), sizes[rest % 3], owner);
            }
            ASSERT_EQ(blocks.blocks, expected.size());
            for (unsigned block = 0; block < blocks.blocks; ++block)
                ASSERT_EQ(find_owner(blocks.owners.data(), count, block), expected[block]) << choice;
        }
    }
}

TEST(BlockOwners, RejectMoreBlocksThanAGridHolds) {
    OwnedBlocks<Owner> blocks;
    blocks.add({}, 0x7FFFFFFF);
    EXPECT_NO_THROW(blocks.add({}, 0));
    EXPECT_THROW(blocks.add({}, 1), BugError);
}

}  // namespace
}  // namespace trireme::kernels::gpu

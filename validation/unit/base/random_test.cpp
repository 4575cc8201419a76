#include "trireme/base/random.hpp"

#include <gtest/gtest.h>

namespace trireme {
namespace {

// The expected values are the known answers published with Random123 for philox4x32-10.
TEST(Philox, MatchesThePublishedTestVectors) {
    EXPECT_EQ(random_block(RandomKey{0}, RandomBlock{0, 0, 0, 0}),
              (RandomBlock{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
    EXPECT_EQ(random_block(RandomKey{~0ULL}, RandomBlock{~0U, ~0U, ~0U, ~0U}),
              (RandomBlock{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
    EXPECT_EQ(random_block(RandomKey{0x299F31D0A4093822ULL},
                           RandomBlock{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}),
              (RandomBlock{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(RandomKey, DependsOnEveryPartAndOnTheirOrder) {
    const RandomKey root{7};

    EXPECT_NE(root.then(1).then(2), root.then(2).then(1));
    EXPECT_NE(root.then(0), root);
    EXPECT_NE(root.then("wte.weight"), root.then("wpe.weight"));
    EXPECT_EQ(root.then("wte.weight"), RandomKey{7}.then("wte.weight"));
}

}  // namespace
}  // namespace trireme

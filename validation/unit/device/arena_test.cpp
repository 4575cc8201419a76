#include <gtest/gtest.h>

#include "trireme/device/buffer.hpp"

namespace trireme::device {
namespace {

TEST(Arena, HasTheSamePeakWithAndWithoutMemory) {
    const auto use = [](Arena& arena) {
        arena.tensor(DType::f32, 3, 5);
        {
            const ArenaScope scope(arena);
            arena.tensor(DType::f64, 100, 7);
        }
        arena.tensor(DType::i32, 1, 1);
    };
    Arena ghost("test", 0, MemorySpace::ghost);

    use(ghost);
    Arena real("test", ghost.peak(), MemorySpace::host);
    use(real);

    EXPECT_EQ(ghost.peak(), 64U + 100 * 7 * 8);
    EXPECT_EQ(real.peak(), ghost.peak());
}

TEST(Arena, NamesItselfWhenItOverflows) {
    Arena arena("activation", 64, MemorySpace::host);
    arena.tensor(DType::f32, 1, 16);

    try {
        arena.tensor(DType::f32, 1, 1);
        FAIL() << "an arena of 64 bytes held 68";
    } catch (const BugError& error) {
        EXPECT_STREQ(error.what(), "the activation arena needs 68 bytes, but was predicted to need only 64");
    }
}

TEST(Tensor, SlicesRowsAndColumnsWithoutCopying) {
    float cells[6] = {0, 1, 2, 3, 4, 5};
    const Tensor matrix{cells, DType::f32, 2, 3, 3};

    EXPECT_EQ(matrix.row_range(1, 1).as<float>()(0, 2), 5);
    EXPECT_EQ(matrix.column_range(1, 2).as<float>()(1, 0), 4);
    EXPECT_FALSE(matrix.column_range(1, 2).is_contiguous());
    EXPECT_THROW(matrix.as<double>(), BugError);
}

}  // namespace
}  // namespace trireme::device

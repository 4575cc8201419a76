#include "trireme/layout/migration.hpp"

#include <gtest/gtest.h>

namespace trireme::layout {
namespace {

using Migrations = std::vector<Migration>;

const MatmulFractions some{0.5, 0.25, 0, 0.125}, others{0.75, 0, 0, 0};

TEST(TeamMigrations, NumberRanksByTheirPlaceInTheTeam) {
    const Migrations all{{5, 3, some}, {9, 3, others}, {5, 9, others}};

    EXPECT_EQ(find_team_migrations(all, {3, 5, 9}), (Migrations{{1, 0, some}, {2, 0, others}, {1, 2, others}}));
    EXPECT_EQ(find_team_migrations(all, {9, 5, 3}), (Migrations{{1, 2, some}, {0, 2, others}, {1, 0, others}}));
}

TEST(TeamMigrations, ExcludeMigrationsOfOtherTeams) {
    const Migrations all{{0, 1, some}, {3, 2, others}, {5, 4, some}};

    EXPECT_EQ(find_team_migrations(all, {0, 1}), (Migrations{{0, 1, some}}));
    EXPECT_EQ(find_team_migrations(all, {2, 3}), (Migrations{{1, 0, others}}));
    EXPECT_EQ(find_team_migrations(all, {6, 7}), Migrations{});
    EXPECT_EQ(find_team_migrations({}, {0, 1}), Migrations{});
}

// Rank 5 computes half of each matmul. Helper ranks compute the rest of the first two and less of the others.
TEST(UncomputedFractions, AreWhatNeitherTheRankNorItsHelpersCompute) {
    const Migrations all{{5, 3, some}, {5, 9, {0, 0.25, 0.125, 0.125}}, {3, 5, others}};

    EXPECT_EQ(compute_skipped_fractions(all, 5, 0.5), (MatmulFractions{0, 0, 0.375, 0.25}));
    EXPECT_EQ(compute_skipped_fractions(all, 5, 0), (MatmulFractions{0, 0, 0, 0}));
    EXPECT_EQ(compute_skipped_fractions(all, 9, 0.5), (MatmulFractions{0.5, 0.5, 0.5, 0.5}));
    EXPECT_EQ(compute_skipped_fractions({}, 5, 0.25), (MatmulFractions{0.25, 0.25, 0.25, 0.25}));
}

TEST(Migration, ReturnsItsFractionOfEachMatmul) {
    const Migration migration{1, 0, some};

    EXPECT_EQ(migration.fraction(Matmul::attention_in), 0.5);
    EXPECT_EQ(migration.fraction(Matmul::attention_out), 0.25);
    EXPECT_EQ(migration.fraction(Matmul::mlp_in), 0);
    EXPECT_EQ(migration.fraction(Matmul::mlp_out), 0.125);
}

}  // namespace
}  // namespace trireme::layout

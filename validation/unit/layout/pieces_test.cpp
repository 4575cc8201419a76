#include "trireme/layout/pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/layout/held_tensors.hpp"

namespace trireme::layout {
namespace {

using validation::column_slices;
using validation::row_slices;

bool holds(const Box& box, std::size_t row, std::size_t column) {
    return !intersect(box, Box{{row, 1}, {column, 1}}).is_empty();
}

std::vector<int> holders_of(const HeldTensor& tensor, std::size_t row, std::size_t column) {
    std::set<int> holders;
    for (const Slice& slice : tensor.slices) {
        if (holds(slice.box, row, column)) holders.insert(slice.rank);
    }
    return {holders.begin(), holders.end()};
}

// Returns the pieces of `tensor` that hold an element.
std::vector<Piece> pieces_at(const std::vector<Piece>& pieces, std::size_t tensor, std::size_t row,
                             std::size_t column) {
    std::vector<Piece> found;
    for (const Piece& piece : pieces) {
        if (piece.tensor == tensor && holds(piece.box, row, column)) found.push_back(piece);
    }
    return found;
}

void expect_held_elements_covered_once(const HeldTensor& tensor, std::size_t number,
                                       const std::vector<Piece>& pieces) {
    for (std::size_t row = 0; row < tensor.rows; ++row) {
        for (std::size_t column = 0; column < tensor.columns; ++column) {
            const std::vector<int> holders = holders_of(tensor, row, column);
            const std::vector<Piece> found = pieces_at(pieces, number, row, column);
            ASSERT_EQ(found.size(), holders.empty() ? 0U : 1U) << tensor.name << " " << row << " " << column;
            if (!found.empty()) {
                EXPECT_EQ(found.front().holders, holders);
            }
        }
    }
}

TEST(Pieces, CoverEveryHeldElementOnceWithItsHolders) {
    for (const auto& held : validation::held_cases()) {
        SCOPED_TRACE(held.name);
        const std::vector<Piece> pieces = cut_in_pieces(held.tensors);

        for (std::size_t t = 0; t < held.tensors.size(); ++t) {
            expect_held_elements_covered_once(held.tensors[t], t, pieces);
        }
    }
}

TEST(Pieces, AreSortedByTensorRowAndColumn) {
    for (const auto& held : validation::held_cases()) {
        SCOPED_TRACE(held.name);

        EXPECT_TRUE(std::ranges::is_sorted(cut_in_pieces(held.tensors), {}, [](const Piece& piece) {
            return std::tuple(piece.tensor, piece.box.rows.begin, piece.box.columns.begin);
        }));
    }
}

bool form_a_box(const Piece& a, const Piece& b) {
    const bool side_by_side = a.box.rows == b.box.rows && a.box.columns.end() == b.box.columns.begin;
    const bool below = a.box.columns == b.box.columns && a.box.rows.end() == b.box.rows.begin;
    return a.tensor == b.tensor && a.holders == b.holders && (side_by_side || below);
}

TEST(Pieces, AreJoinedIfTheyFormABoxWithEqualHolders) {
    for (const auto& held : validation::held_cases()) {
        SCOPED_TRACE(held.name);
        const std::vector<Piece> pieces = cut_in_pieces(held.tensors);

        for (const Piece& a : pieces) {
            for (const Piece& b : pieces) EXPECT_FALSE(form_a_box(a, b));
        }
    }
}

std::vector<Piece> pieces_of(std::size_t rows, std::size_t columns, std::vector<Slice> slices) {
    return cut_in_pieces({{"weight", rows, columns, 0, std::move(slices)}});
}

void expect_piece(const Piece& piece, const Box& box, const std::vector<int>& holders) {
    EXPECT_EQ(piece.box, box);
    EXPECT_EQ(piece.holders, holders);
}

TEST(Pieces, FollowTheCutsOfAllReplicas) {
    auto slices = column_slices(2, 8, 0, {5, 3});
    for (const Slice& slice : column_slices(2, 8, 2, {1, 1})) slices.push_back(slice);

    const auto pieces = pieces_of(2, 8, slices);

    ASSERT_EQ(pieces.size(), 3U);
    expect_piece(pieces[0], {{0, 2}, {0, 4}}, {0, 2});
    expect_piece(pieces[1], {{0, 2}, {4, 1}}, {0, 3});
    expect_piece(pieces[2], {{0, 2}, {5, 3}}, {1, 3});
}

TEST(Pieces, HaveHoldersInBothStagesForATiedTable) {
    auto slices = row_slices(6, 4, 0, {1, 1});
    for (const Slice& slice : row_slices(6, 4, 5, {1, 1, 1})) slices.push_back(slice);

    const auto pieces = pieces_of(6, 4, slices);

    ASSERT_EQ(pieces.size(), 4U);
    expect_piece(pieces[0], {{0, 2}, {0, 4}}, {0, 5});
    expect_piece(pieces[1], {{2, 1}, {0, 4}}, {0, 6});
    expect_piece(pieces[2], {{3, 1}, {0, 4}}, {1, 6});
    expect_piece(pieces[3], {{4, 2}, {0, 4}}, {1, 7});
}

TEST(Pieces, JoinTheBoxesOfARankInAFusedProjection) {
    const std::vector<Slice> q_k_v{{0, {{0, 2}, {0, 3}}}, {0, {{0, 2}, {3, 3}}}, {0, {{0, 2}, {6, 3}}}};

    const auto pieces = pieces_of(2, 9, q_k_v);

    ASSERT_EQ(pieces.size(), 1U);
    expect_piece(pieces[0], {{0, 2}, {0, 9}}, {0});
}

TEST(Pieces, OmitElementsThatNoRankHolds) {
    const auto pieces = pieces_of(4, 4, {{0, {{0, 1}, {0, 4}}}, {1, {{3, 1}, {1, 2}}}, {2, {{2, 0}, {0, 4}}}});

    ASSERT_EQ(pieces.size(), 2U);
    expect_piece(pieces[0], {{0, 1}, {0, 4}}, {0});
    expect_piece(pieces[1], {{3, 1}, {1, 2}}, {1});
}

TEST(Pieces, RejectASliceOutsideItsTensor) {
    EXPECT_EQ(validation::catch_message<BugError>([] {
                  pieces_of(2, 4, {{3, {{1, 2}, {0, 4}}}});
              }),
              "rank 3 holds rows up to 3 and columns up to 4 of weight, which is 2 x 4");
}

}  // namespace
}  // namespace trireme::layout

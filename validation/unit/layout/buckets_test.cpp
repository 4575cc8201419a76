#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>

#include "trireme/layout/pieces.hpp"
#include "unit/layout/held_tensors.hpp"

namespace trireme::layout {
namespace {

using validation::whole_tensor;

struct Filled {
    std::vector<HeldTensor> tensors;
    std::vector<Piece> pieces;
    BucketRules rules;
    std::vector<Bucket> buckets;
};

Filled filled(std::vector<HeldTensor> tensors, const BucketRules& rules) {
    Filled all{std::move(tensors), {}, rules, {}};
    all.pieces = cut_in_pieces(all.tensors);
    all.buckets = fill_buckets(all.tensors, all.pieces, rules);
    return all;
}

// Calls `check` for every case of held_cases() under every set of rules.
template <class Check>
void for_all_cases(Check check) {
    for (const BucketRules rules : {BucketRules{}, BucketRules{1, 1}, BucketRules{1, 8}, BucketRules{6, 12},
                                    BucketRules{10, 10}, BucketRules{20, 5}}) {
        for (const auto& held : validation::held_cases()) {
            SCOPED_TRACE(held.name + ", large " + std::to_string(rules.large_piece_elements));
            check(filled(held.tensors, rules));
        }
    }
}

TEST(Buckets, HoldEveryElementOfAPieceInOneShard) {
    for_all_cases([](const Filled& all) {
        std::map<std::size_t, std::map<std::pair<std::size_t, std::size_t>, int>>
            visits;  // visits per element, by piece
        for (const Bucket& bucket : all.buckets) {
            for (const auto& [piece, box, owner] : bucket.shards) {
                ASSERT_EQ(intersect(box, all.pieces[piece].box), box);
                for (std::size_t row = box.rows.begin; row < box.rows.end(); ++row) {
                    for (std::size_t c = box.columns.begin; c < box.columns.end(); ++c)
                        ++visits[piece][{row, c}];
                }
            }
        }

        for (std::size_t p = 0; p < all.pieces.size(); ++p) {
            EXPECT_EQ(visits[p].size(), all.pieces[p].box.size());
            EXPECT_TRUE(std::ranges::all_of(visits[p], [](const auto& visit) { return visit.second == 1; }));
        }
    });
}

TEST(Buckets, HaveShardsOfFullRowsOwnedByHolders) {
    for_all_cases([](const Filled& all) {
        for (const Bucket& bucket : all.buckets) {
            for (const Shard& shard : bucket.shards) {
                EXPECT_FALSE(shard.box.is_empty());
                EXPECT_EQ(shard.box.columns, all.pieces[shard.piece].box.columns);
                EXPECT_EQ(all.pieces[shard.piece].holders, bucket.holders);
                EXPECT_EQ(std::ranges::count(bucket.holders, shard.owner), 1);
            }
        }
    });
}

// Each shard continues the rows of its piece or begins the bucket's next piece.
TEST(Buckets, ListShardsByPieceWithAscendingRows) {
    for_all_cases([](const Filled& all) {
        for (const Bucket& bucket : all.buckets) {
            std::vector<std::size_t> pieces;
            for (std::size_t i = 0; i < bucket.shards.size(); ++i) {
                const Shard& shard = bucket.shards[i];
                if (i > 0 && bucket.shards[i - 1].piece == shard.piece) {
                    EXPECT_EQ(bucket.shards[i - 1].box.rows.end(), shard.box.rows.begin);
                } else {
                    pieces.push_back(shard.piece);
                }
            }
            EXPECT_EQ(pieces, bucket.pieces);
        }
    });
}

TEST(Buckets, AreInTheOrderInWhichABackwardPassCompletesThem) {
    for_all_cases([](const Filled& all) {
        EXPECT_TRUE(std::ranges::is_sorted(all.buckets, std::ranges::greater{}, &Bucket::last_use));
        for (const Bucket& bucket : all.buckets) {
            std::size_t last_use = SIZE_MAX;
            for (const std::size_t p : bucket.pieces) {
                last_use = std::min(last_use, all.tensors[all.pieces[p].tensor].last_use);
            }
            EXPECT_EQ(bucket.last_use, last_use);
        }
    });
}

TEST(Buckets, KeepToTheSizesOfTheRules) {
    for_all_cases([](const Filled& all) {
        for (const Bucket& bucket : all.buckets) {
            std::size_t elements = 0;
            std::size_t rows = 0;
            for (const Shard& shard : bucket.shards) {
                elements += shard.box.size();
                rows += shard.box.rows.count;
            }
            EXPECT_EQ(bucket.elements, elements);
            EXPECT_TRUE(elements <= all.rules.max_bucket_elements || rows == 1)
                << elements << " in " << rows << " rows";
            if (bucket.pieces.size() < 2) continue;
            for (const std::size_t p : bucket.pieces)
                EXPECT_LT(all.pieces[p].box.size(), all.rules.large_piece_elements);
        }
    });
}

TEST(Buckets, JoinSmallPiecesOfEqualHolders) {
    const auto all = filled({whole_tensor("a", 1, 4, {0, 1}, 0), whole_tensor("b", 1, 4, {0, 1}, 2),
                             whole_tensor("c", 1, 4, {0, 2}, 1), whole_tensor("d", 1, 4, {0, 1}, 1)},
                            {.large_piece_elements = 10, .max_bucket_elements = 20});

    ASSERT_EQ(all.buckets.size(), 2U);
    EXPECT_EQ(all.buckets[0].pieces, (std::vector<std::size_t>{2}));
    EXPECT_EQ(all.buckets[1].pieces, (std::vector<std::size_t>{1, 3, 0}));
    EXPECT_EQ(all.buckets[1].last_use, 0U);
}

TEST(Buckets, AreFullOnceTheyReachTheSizeOfALargePiece) {
    const auto all = filled({whole_tensor("a", 1, 8, {0, 1}, 0), whole_tensor("b", 1, 8, {0, 1}, 1),
                             whole_tensor("c", 1, 8, {0, 1}, 2)},
                            {.large_piece_elements = 10, .max_bucket_elements = 20});

    ASSERT_EQ(all.buckets.size(), 2U);
    EXPECT_EQ(all.buckets[0].pieces, (std::vector<std::size_t>{2, 1}));
    EXPECT_EQ(all.buckets[1].pieces, (std::vector<std::size_t>{0}));
}

TEST(Buckets, CutLargePiecesByRows) {
    const auto all =
        filled({whole_tensor("table", 10, 5, {0, 1})}, {.large_piece_elements = 10, .max_bucket_elements = 20});

    ASSERT_EQ(all.buckets.size(), 3U);  // 4, 3 and 3 rows
    EXPECT_EQ(all.buckets[0].elements, 20U);
    EXPECT_EQ(all.buckets[2].elements, 15U);
    EXPECT_EQ(all.buckets[2].shards[0].box, (Box{{7, 2}, {0, 5}}));
    EXPECT_EQ(all.buckets[2].shards[1].box, (Box{{9, 1}, {0, 5}}));
}

TEST(Buckets, GiveMoreRowsToTheOwnerWithFewerElements) {
    const auto all =
        filled({whole_tensor("first", 3, 2, {0, 1}, 1), whole_tensor("next", 3, 2, {0, 1}, 0)}, {});

    const std::vector<Shard>& shards = all.buckets.at(0).shards;
    ASSERT_EQ(shards.size(), 4U);
    EXPECT_EQ(shards[0].owner, 0);  // two rows
    EXPECT_EQ(shards[1].owner, 1);
    EXPECT_EQ(shards[2].owner, 1);  // two rows
    EXPECT_EQ(shards[3].owner, 0);
}

TEST(Buckets, GiveAPieceOfFewRowsToTheOwnerWithFewestElements) {
    const auto all = filled({whole_tensor("wide", 1, 9, {3, 4, 5}, 3), whole_tensor("gain", 1, 4, {3, 4, 5}, 2),
                             whole_tensor("two", 2, 1, {3, 4, 5}, 1), whole_tensor("bias", 1, 4, {3, 4, 5}, 0)},
                            {});

    std::vector<int> owners;
    for (const Shard& shard : all.buckets.at(0).shards) owners.push_back(shard.owner);
    EXPECT_EQ(owners, (std::vector{3, 4, 5, 5}));
}

std::map<int, std::size_t> elements_of_owners(const std::vector<Bucket>& buckets) {
    std::map<int, std::size_t> elements;
    for (const Bucket& bucket : buckets) {
        for (const Shard& shard : bucket.shards) elements[shard.owner] += shard.box.size();
    }
    return elements;
}

TEST(Buckets, BalanceTheirOwnersWithinOneRow) {
    for (std::size_t tensors = 1; tensors <= 12; ++tensors) {
        for (int holders = 1; holders <= 7; ++holders) {
            std::vector<int> ranks(static_cast<std::size_t>(holders));
            std::iota(ranks.begin(), ranks.end(), 0);
            std::vector<HeldTensor> held;
            for (std::size_t t = 0; t < tensors; ++t)
                held.push_back(whole_tensor("t", 7 + 3 * t, 1 + t % 5, ranks, t));

            const auto elements = elements_of_owners(filled(held, {40, 60}).buckets);

            ASSERT_EQ(elements.size(), ranks.size());
            const auto [least, most] = std::ranges::minmax(elements | std::views::values);
            EXPECT_LE(most - least, std::min<std::size_t>(tensors, 5));  // elements of the longest row
        }
    }
}

// 300 matrices on 128 replicas of teams of eight. On a large cluster each rank computes these buckets itself.
TEST(Buckets, AreBalancedForAThousandRanks) {
    std::vector<HeldTensor> tensors;
    for (std::size_t t = 0; t < 300; ++t) {
        HeldTensor& tensor = tensors.emplace_back(HeldTensor{"weight", 4096, 4096, t, {}});
        for (int first = 0; first < 1024; first += 8) {
            for (const Slice& slice :
                 validation::column_slices(4096, 4096, first, std::vector<std::size_t>(8, 1))) {
                tensor.slices.push_back(slice);
            }
        }
    }

    const auto all = filled(tensors, {});

    EXPECT_EQ(all.pieces.size(), 2400U);
    EXPECT_EQ(all.buckets.size(), 2400U);
    const auto elements = elements_of_owners(all.buckets);
    EXPECT_EQ(elements.size(), 1024U);
    EXPECT_EQ(std::ranges::count(elements | std::views::values, std::size_t{300} * 4096 * 4096 / 1024), 1024);
}

}  // namespace
}  // namespace trireme::layout

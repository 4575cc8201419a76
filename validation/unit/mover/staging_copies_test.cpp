#include "trireme/mover/staging_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "trireme/mover/move_execution.hpp"
#include "unit/mover/random_tensors.hpp"

namespace trireme::mover {
namespace {

using validation::Change;
using validation::changes;
using validation::holds;
using validation::random_change;
using validation::small_round_elements;
using validation::transfers_of;

const std::vector<int> nodes{0, 0, 3, 3, 3, 5};  // node per rank; the numbers are arbitrary

int find_node(int rank) { return nodes.at(static_cast<std::size_t>(rank)); }

struct Element {
    std::size_t tensor;
    std::size_t row, column;
};

bool has(const std::vector<layout::HeldTensor>& tensors, int rank, const Element& e) {
    return std::ranges::any_of(tensors[e.tensor].slices, [&](const layout::Slice& slice) {
        return slice.rank == rank && holds(slice.box, e.row, e.column);
    });
}

void for_each_element_after(const Change& change, const std::function<void(const Element&)>& use) {
    for (std::size_t t = 0; t < change.after.size(); ++t) {
        for (std::size_t row = 0; row < change.after[t].rows; ++row) {
            for (std::size_t column = 0; column < change.after[t].columns; ++column) use({t, row, column});
        }
    }
}

bool is_missing(const Change& change, int rank, const Element& e) {
    return has(change.after, rank, e) && !has(change.before, rank, e);
}

// True if `is` holds for any rank of the node.
bool any_on(int node, const std::function<bool(int)>& is) {
    for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) {
        if (find_node(rank) == node && is(rank)) return true;
    }
    return false;
}

bool lacks(const Change& change, int node, const Element& e) {
    return any_on(node, [&](int rank) { return is_missing(change, rank, e); });
}

bool had(const Change& change, int node, const Element& e) {
    return any_on(node, [&](int rank) { return has(change.before, rank, e); });
}

// Calls use(change, move) for random changes.
void for_each_change(const std::function<void(const Change&, const StagedMove&)>& use) {
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, nodes.size());
        use(change, plan_staged_move(change.before, change.after,
                                     {.nodes = nodes, .max_elements_per_round = small_round_elements}));
    }
}

TEST(StagingCopies, HoldEachElementThatARankOfTheNodeLacksOnce) {
    for_each_change([](const Change& change, const StagedMove& move) {
        for_each_element_after(change, [&](const Element& e) {
            for (const int node : {0, 3, 5}) {
                const auto staging = move.staging_boxes.find(node);
                const auto count =
                    staging == move.staging_boxes.end()
                        ? 0
                        : std::ranges::count_if(staging->second, [&](const layout::TensorBox& part) {
                              return part.tensor == e.tensor && holds(part.box, e.row, e.column);
                          });
                ASSERT_EQ(count, lacks(change, node, e) ? 1 : 0);
            }
        });
    });
}

TEST(StagingCopies, AreWrittenOnceAndFromTheSameNodeIfPossible) {
    for_each_change([](const Change& change, const StagedMove& move) {
        const std::vector<Transfer> transfers = transfers_of(move.to_staging);
        for_each_element_after(change, [&](const Element& e) {
            for (const int node : {0, 3, 5}) {
                int written = 0;
                for (const Transfer& transfer : transfers) {
                    const auto& [tensor, box, source, destination] = transfer;
                    if (tensor != e.tensor || !holds(box, e.row, e.column)) continue;
                    if (find_node(destination) != node) continue;
                    ++written;
                    ASSERT_TRUE(has(change.before, source, e));
                    ASSERT_EQ(source == destination, had(change, node, e));
                }
                ASSERT_EQ(written, lacks(change, node, e) ? 1 : 0);
            }
        });
    });
}

TEST(StagingCopies, ReceiveEachElementThatTheNodeLacksOnlyOnce) {
    for_each_change([](const Change& change, const StagedMove& move) {
        std::size_t least = 0;
        for_each_element_after(change, [&](const Element& e) {
            for (const int node : {0, 3, 5}) {
                if (lacks(change, node, e) && !had(change, node, e)) ++least;
            }
        });
        ASSERT_EQ(move.to_staging.count_sent_elements(), least);
        ASSERT_LE(move.to_staging.max_elements_per_round(), small_round_elements);
        ASSERT_TRUE(move.local.rounds.empty());
        ASSERT_TRUE(move.from_staging.rounds.empty());
    });
}

TEST(StagingCopies, GiveEachRankExactlyItsMissingElements) {
    for_each_change([](const Change& change, const StagedMove& move) {
        for_each_element_after(change, [&](const Element& e) {
            const auto count = [&](const Move& part, int rank) {
                return std::ranges::count_if(part.local_copies, [&](const Transfer& transfer) {
                    return transfer.tensor == e.tensor && transfer.destination == rank &&
                           transfer.source == rank && holds(transfer.box, e.row, e.column);
                });
            };
            for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) {
                const bool stays = has(change.before, rank, e) && has(change.after, rank, e);
                ASSERT_EQ(count(move.local, rank), stays ? 1 : 0);
                ASSERT_EQ(count(move.from_staging, rank), is_missing(change, rank, e) ? 1 : 0);
            }
        });
    });
}

TEST(StagingCopies, NeedNoMessagesOnASingleNode) {
    const Change change = random_change(1, 4);
    const StagedMove move = plan_staged_move(change.before, change.after);

    EXPECT_TRUE(move.to_staging.rounds.empty());
    EXPECT_EQ(move.count_elements(), move.count_node_elements(0));
    EXPECT_GT(move.count_elements(), 0U);
}

TEST(StagingCopies, HaveContiguousBoxesInMemory) {
    const Change change = random_change(2, nodes.size());
    const StagedMove move = plan_staged_move(change.before, change.after, {.nodes = nodes});
    for (const int node : {0, 3, 5, 7}) {
        std::vector<std::byte> memory(move.count_node_elements(node) * sizeof(double));
        const std::byte* next = memory.data();
        for (const BoxInMemory& box : list_staging_copy_boxes(move, node, device::DType::f64, memory.data())) {
            EXPECT_EQ(box.memory.data, next);
            EXPECT_EQ(box.memory.rows, box.placement.box.rows.count);
            next += box.memory.bytes();
        }
        EXPECT_EQ(next, memory.data() + memory.size());
    }
}

}  // namespace
}  // namespace trireme::mover

#include "trireme/mover/twins.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "trireme/mover/carry_out.hpp"
#include "unit/mover/random_tensors.hpp"

namespace trireme::mover {
namespace {

using validation::Change;
using validation::changes;
using validation::holds;
using validation::random_change;
using validation::small_round;
using validation::transfers_of;

const std::vector<int> nodes{0, 0, 3, 3, 3, 5};  // node per rank; the numbers are arbitrary

int node_of(int rank) { return nodes.at(static_cast<std::size_t>(rank)); }

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
        if (node_of(rank) == node && is(rank)) return true;
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
void for_each_change(const std::function<void(const Change&, const TwinMove&)>& use) {
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, nodes.size());
        use(change,
            plan_twin_move(change.before, change.after, {.nodes = nodes, .most_elements = small_round}));
    }
}

TEST(Twins, HaveWhatRanksOfTheirNodeLackOnceAndNothingElse) {
    for_each_change([](const Change& change, const TwinMove& move) {
        for_each_element_after(change, [&](const Element& e) {
            for (const int node : {0, 3, 5}) {
                const auto twin = move.twins.find(node);
                const auto count =
                    twin == move.twins.end()
                        ? 0
                        : std::ranges::count_if(twin->second, [&](const layout::TensorBox& part) {
                              return part.tensor == e.tensor && holds(part.box, e.row, e.column);
                          });
                ASSERT_EQ(count, lacks(change, node, e) ? 1 : 0);
            }
        });
    });
}

TEST(Twins, AreWrittenOnceByWhoeverHasItAndByANeighbourWhereOneHas) {
    for_each_change([](const Change& change, const TwinMove& move) {
        const std::vector<Transfer> transfers = transfers_of(move.out);
        for_each_element_after(change, [&](const Element& e) {
            for (const int node : {0, 3, 5}) {
                int written = 0;
                for (const Transfer& transfer : transfers) {
                    const auto& [tensor, box, source, destination] = transfer;
                    if (tensor != e.tensor || !holds(box, e.row, e.column)) continue;
                    if (node_of(destination) != node) continue;
                    ++written;
                    ASSERT_TRUE(has(change.before, source, e));
                    ASSERT_EQ(source == destination, had(change, node, e));
                }
                ASSERT_EQ(written, lacks(change, node, e) ? 1 : 0);
            }
        });
    });
}

TEST(Twins, SendToANodeWhatItLacksOnceHoweverManyWantIt) {
    for_each_change([](const Change& change, const TwinMove& move) {
        std::size_t least = 0;
        for_each_element_after(change, [&](const Element& e) {
            for (const int node : {0, 3, 5}) {
                if (lacks(change, node, e) && !had(change, node, e)) ++least;
            }
        });
        ASSERT_EQ(move.out.elements_sent(), least);
        ASSERT_LE(move.out.most_elements(), small_round);
        ASSERT_TRUE(move.stay.rounds.empty());
        ASSERT_TRUE(move.in.rounds.empty());
    });
}

TEST(Twins, GiveEachRankWhatItIsToHave) {
    for_each_change([](const Change& change, const TwinMove& move) {
        for_each_element_after(change, [&](const Element& e) {
            const auto count = [&](const Move& part, int rank) {
                return std::ranges::count_if(part.kept, [&](const Transfer& transfer) {
                    return transfer.tensor == e.tensor && transfer.destination == rank &&
                           transfer.source == rank && holds(transfer.box, e.row, e.column);
                });
            };
            for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) {
                const bool stays = has(change.before, rank, e) && has(change.after, rank, e);
                ASSERT_EQ(count(move.stay, rank), stays ? 1 : 0);
                ASSERT_EQ(count(move.in, rank), is_missing(change, rank, e) ? 1 : 0);
            }
        });
    });
}

TEST(Twins, SendNothingWhereAllShareOneMemory) {
    const Change change = random_change(1, 4);
    const TwinMove move = plan_twin_move(change.before, change.after);

    EXPECT_TRUE(move.out.rounds.empty());
    EXPECT_EQ(move.elements(), move.elements_at(0));
    EXPECT_GT(move.elements(), 0U);
}

TEST(Twins, LieOneBehindTheOtherInTheMemoryOfTheirNode) {
    const Change change = random_change(2, nodes.size());
    const TwinMove move = plan_twin_move(change.before, change.after, {.nodes = nodes});
    for (const int node : {0, 3, 5, 7}) {
        std::vector<std::byte> memory(move.elements_at(node) * sizeof(double));
        const std::byte* next = memory.data();
        for (const BoxInMemory& box : boxes_of_twin(move, node, device::DType::f64, memory.data())) {
            EXPECT_EQ(box.memory.data, next);
            EXPECT_EQ(box.memory.rows, box.placement.box.rows.count);
            next += box.memory.bytes();
        }
        EXPECT_EQ(next, memory.data() + memory.size());
    }
}

}  // namespace
}  // namespace trireme::mover

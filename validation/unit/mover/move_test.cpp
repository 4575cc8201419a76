#include "trireme/mover/move.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/mover/random_tensors.hpp"

namespace trireme::mover {
namespace {

using validation::catch_message;
using validation::Change;
using validation::changes;
using validation::holds;
using validation::random_change;
using validation::small_round_elements;
using validation::transfers_of;

constexpr std::size_t ranks = 6;

bool has(const layout::HeldTensor& tensor, int rank, std::size_t row, std::size_t column) {
    return std::ranges::any_of(tensor.slices, [&](const layout::Slice& slice) {
        return slice.rank == rank && holds(slice.box, row, column);
    });
}

template <class Use>
void for_each_shipment(const Move& move, Use&& use) {
    for (const MoveRound& round : move.rounds) {
        for (const MoveMessage& shipment : round) use(shipment);
    }
}

// Calls use(tensor, rank, row, column) for every element of every tensor and every rank.
template <class Use>
void for_each_element(const Change& change, Use&& use) {
    for (std::size_t t = 0; t < change.after.size(); ++t) {
        for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
            for (std::size_t row = 0; row < change.after[t].rows; ++row) {
                for (std::size_t column = 0; column < change.after[t].columns; ++column) {
                    use(t, rank, row, column);
                }
            }
        }
    }
}

// Counts, element by element, what has to be sent.
std::size_t count_missing_elements(const Change& change) {
    std::size_t missing = 0;
    for_each_element(change, [&](std::size_t t, int rank, std::size_t row, std::size_t column) {
        if (has(change.after[t], rank, row, column) && !has(change.before[t], rank, row, column)) ++missing;
    });
    return missing;
}

TEST(Move, DeliversEachElementOnceToExactlyItsNewHolders) {
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, ranks);
        const std::vector<Transfer> transfers = transfers_of(
            plan_move(change.before, change.after, {.max_elements_per_round = small_round_elements}));

        for_each_element(change, [&](std::size_t t, int rank, std::size_t row, std::size_t column) {
            const auto brings = [&](const Transfer& transfer) {
                return transfer.tensor == t && transfer.destination == rank && holds(transfer.box, row, column);
            };
            ASSERT_EQ(std::ranges::count_if(transfers, brings),
                      has(change.after[t], rank, row, column) ? 1 : 0);
        });
    }
}

TEST(Move, TakesElementsFromTheirOldHolders) {
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, ranks);
        for (const auto& [tensor, box, source, destination] :
             transfers_of(plan_move(change.before, change.after))) {
            for (std::size_t row = box.rows.begin; row < box.rows.end(); ++row) {
                for (std::size_t column = box.columns.begin; column < box.columns.end(); ++column) {
                    ASSERT_TRUE(has(change.before[tensor], source, row, column));
                }
            }
        }
    }
}

TEST(Move, SendsOnlyMissingElements) {
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, ranks);

        EXPECT_EQ(plan_move(change.before, change.after).count_sent_elements(), count_missing_elements(change));
        EXPECT_EQ(plan_move(change.before, change.after, {.max_elements_per_round = small_round_elements})
                      .count_sent_elements(),
                  count_missing_elements(change));
    }
}

TEST(Move, SendsNothingIfNothingChanges) {
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, ranks);

        EXPECT_TRUE(plan_move(change.before, change.before).rounds.empty());
    }
}

TEST(Move, PrefersSendersOnTheSameNode) {
    const std::vector<int> nodes{0, 0, 1, 1, 2, 2};
    std::size_t far = 0;
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, ranks);
        for_each_shipment(plan_move(change.before, change.after, {.nodes = nodes}),
                          [&](const MoveMessage& shipment) {
                              const int node = nodes[static_cast<std::size_t>(shipment.destination)];
                              if (nodes[static_cast<std::size_t>(shipment.source)] == node) return;
                              ++far;
                              for (const Transfer& transfer : shipment.boxes) {
                                  for (const int near : {2 * node, 2 * node + 1}) {
                                      EXPECT_FALSE(has(change.before[transfer.tensor], near,
                                                       transfer.box.rows.begin, transfer.box.columns.begin));
                                  }
                              }
                          });
    }
    EXPECT_GT(far, 0U);
}

TEST(Move, SpreadsSendingOverAllHolders) {
    const layout::Box all{{0, 8}, {0, 8}};
    const layout::HeldTensor before{"a", 8, 8, 0, {{0, all}, {1, all}, {2, all}}};
    const layout::HeldTensor after{"a", 8, 8, 0, {{3, all}}};
    std::map<int, std::size_t> sent;

    for_each_shipment(plan_move({before}, {after}, {.max_elements_per_round = 8}),
                      [&](const MoveMessage& shipment) { sent[shipment.source] += shipment.elements; });

    EXPECT_EQ(sent, (std::map<int, std::size_t>{{0, 24}, {1, 24}, {2, 16}}));
}

TEST(Move, KeepsEveryRankWithinTheBoundInEachRound) {
    for (const std::size_t bound : {1, 4, 9, 40}) {
        for (std::uint64_t seed = 0; seed < changes; ++seed) {
            const Change change = random_change(seed, ranks);

            EXPECT_LE(plan_move(change.before, change.after, {.max_elements_per_round = bound})
                          .max_elements_per_round(),
                      bound);
        }
    }
}

TEST(Move, UsesAsFewRoundsAsTheBoundAllows) {
    const layout::Box all{{0, 8}, {0, 8}};
    const layout::HeldTensor before{"a", 8, 8, 0, {{0, all}, {1, all}}};
    const layout::HeldTensor after{"a", 8, 8, 0, {{2, all}, {3, all}}};

    EXPECT_EQ(plan_move({before}, {after}, {.max_elements_per_round = 64}).rounds.size(), 1U);
    EXPECT_EQ(plan_move({before}, {after}, {.max_elements_per_round = 32}).rounds.size(), 2U);
}

TEST(Move, HasOneShipmentPerSenderAndReceiverInARound) {
    for (std::uint64_t seed = 0; seed < changes; ++seed) {
        const Change change = random_change(seed, ranks);
        for (const MoveRound& round :
             plan_move(change.before, change.after, {.max_elements_per_round = 20}).rounds) {
            std::set<std::pair<int, int>> ways;
            for (const MoveMessage& shipment : round) {
                std::size_t elements = 0;
                for (const Transfer& transfer : shipment.boxes) elements += transfer.box.size();

                EXPECT_TRUE(ways.insert({shipment.source, shipment.destination}).second);
                EXPECT_EQ(shipment.elements, elements);
            }
        }
    }
}

// The round of each rank.
using Position = std::vector<std::size_t>;

// True if `rank` can finish its round while all others stay where they are. A message is complete only when
// both of its ends have begun the round.
bool can_continue(const Move& move, const Position& position, std::size_t rank) {
    const std::size_t round = position[rank];
    return round < move.rounds.size() &&
           std::ranges::all_of(move.rounds[round], [&](const MoveMessage& shipment) {
               const auto source = static_cast<std::size_t>(shipment.source);
               const auto destination = static_cast<std::size_t>(shipment.destination);
               if (source != rank && destination != rank) return true;
               return position[source] >= round && position[destination] >= round;
           });
}

// Returns all states that any order of events can reach.
std::set<Position> find_reachable_states(const Move& move, std::size_t members) {
    std::set<Position> seen;
    std::vector<Position> open{Position(members)};
    while (!open.empty()) {
        const Position position = std::move(open.back());
        open.pop_back();
        if (!seen.insert(position).second) continue;
        for (std::size_t rank = 0; rank < members; ++rank) {
            if (!can_continue(move, position, rank)) continue;
            Position next = position;
            ++next[rank];
            open.push_back(next);
        }
    }
    return seen;
}

TEST(Move, NeverDeadlocksInAnyOrderOfRanks) {
    constexpr std::size_t members = 4;
    std::size_t states = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Change change = random_change(seed, members);
        const Move move = plan_move(change.before, change.after, {.max_elements_per_round = 20});
        const Position end(members, move.rounds.size());

        for (const Position& position : find_reachable_states(move, members)) {
            bool continues = position == end;
            for (std::size_t rank = 0; rank < members; ++rank)
                continues = continues || can_continue(move, position, rank);
            EXPECT_TRUE(continues);
            ++states;
        }
    }
    EXPECT_GT(states, 1000U);
}

TEST(Move, IsRejectedIfNoRankHoldsAnElement) {
    const layout::HeldTensor before{"a", 2, 2, 0, {{0, {{0, 1}, {0, 2}}}}};
    const layout::HeldTensor after{"a", 2, 2, 0, {{1, {{0, 2}, {0, 2}}}}};

    EXPECT_EQ(
        catch_message<BugError>([&] { plan_move({before}, {after}); }),
        "rank 1 needs elements of a, from row 1, after a move, but no rank holds these elements before the "
        "move");
    EXPECT_EQ(
        catch_message<BugError>([&] { plan_move({}, {after}); }),
        "rank 1 needs elements of a, from row 0, after a move, but no rank holds these elements before the "
        "move");
}

TEST(Move, IsRejectedIfATensorChangesItsShape) {
    const layout::HeldTensor before{"a", 2, 3, 0, {{0, {{0, 2}, {0, 3}}}}};
    const layout::HeldTensor after{"a", 3, 2, 0, {{0, {{0, 3}, {0, 2}}}}};

    EXPECT_EQ(catch_message<BugError>([&] { plan_move({before}, {after}); }),
              "a is 2 x 3 before a move and 3 x 2 after it");
}

}  // namespace
}  // namespace trireme::mover

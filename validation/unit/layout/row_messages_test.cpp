#include "trireme/layout/row_messages.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

using Messages = std::vector<RowMessage>;

std::vector<int> team(int first, std::size_t size) {
    std::vector<int> ranks(size);
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

TEST(RowMessages, CarryAllRowsFromOneSenderToEachReceiver) {
    EXPECT_EQ(plan_row_messages(6, {0, 1}, {2, 3, 4}, false),
              (Messages{{0, 2, {0, 6}}, {0, 4, {0, 6}}, {1, 3, {0, 6}}}));
    EXPECT_EQ(plan_row_messages(6, {0, 1, 2}, {7}, false), (Messages{{0, 7, {0, 6}}}));
}

TEST(RowMessages, CarrySplitRowsFromTheSendersThatHoldThem) {
    EXPECT_EQ(plan_row_messages(6, {0, 1}, {2, 3, 4}, true),
              (Messages{{0, 2, {0, 2}}, {0, 3, {2, 1}}, {1, 3, {3, 1}}, {1, 4, {4, 2}}}));
    EXPECT_EQ(plan_row_messages(6, {0, 1}, {2, 3}, true), (Messages{{0, 2, {0, 3}}, {1, 3, {3, 3}}}));
}

TEST(RowMessages, AreNeverEmpty) {
    EXPECT_TRUE(plan_row_messages(0, {0, 1}, {2, 3}, false).empty());
    EXPECT_TRUE(plan_row_messages(0, {0, 1}, {2, 3}, true).empty());
    EXPECT_EQ(plan_row_messages(1, {0, 1}, {2, 3}, true), (Messages{{0, 2, {0, 1}}}));
}

TEST(RowMessages, GiveEachReceiverItsRowsFromTheirHolders) {
    for (std::size_t rows = 0; rows <= 12; ++rows) {
        for (std::size_t code = 0; code < 25; ++code) {
            const auto senders = team(0, 1 + code % 5);
            const auto receivers = team(10, 1 + code / 5);
            const auto has = cut_evenly(rows, senders.size());
            const auto needs = cut_evenly(rows, receivers.size());
            std::map<int, std::size_t> next;  // first row not yet received, per receiver

            for (const auto& [source, destination, range] : plan_row_messages(rows, senders, receivers, true)) {
                const Range need = needs[static_cast<std::size_t>(destination - 10)];
                EXPECT_EQ(intersect(range, has[static_cast<std::size_t>(source)]), range);
                EXPECT_EQ(range.begin, next.try_emplace(destination, need.begin).first->second);
                next[destination] = range.end();
            }

            for (std::size_t r = 0; r < receivers.size(); ++r) {
                if (needs[r].count > 0) {
                    EXPECT_EQ(next[receivers[r]], needs[r].end());
                }
            }
        }
    }
}

}  // namespace
}  // namespace trireme::layout

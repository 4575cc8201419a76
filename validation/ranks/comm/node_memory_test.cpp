// Memory that the ranks of a node share. All ranks of the test are on one node, and may act as several.
#include "trireme/comm/node_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "error_message.hpp"
#include "ranks/comm/live_handles.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::comm {
namespace {

class SharedMemory : public ::testing::Test {
protected:
    std::vector<int> all() const {
        std::vector<int> ranks(static_cast<std::size_t>(session_.size()));
        std::iota(ranks.begin(), ranks.end(), 0);
        return ranks;
    }

    std::unique_ptr<NodeMemory> make_memory(const std::vector<int>& ranks) const {
        return session_.make_node_memory(ranks, {.stall_seconds = 20});
    }

    int arguments_ = 0;
    char** words_ = nullptr;
    Session session_{arguments_, words_};
};

// Each rank writes a number, then every rank reads all numbers.
void exchange_numbers(NodeMemory& memory, int begin) {
    Communicator& group = memory.group();
    auto* const numbers = reinterpret_cast<int*>(memory.data());
    numbers[group.rank()] = begin + group.rank();
    memory.synchronize();
    for (int rank = 0; rank < group.size(); ++rank) EXPECT_EQ(numbers[rank], begin + rank);
    memory.synchronize();
}

TEST_F(SharedMemory, ShowsEachRankWhatTheOthersWrote) {
    const auto memory = make_memory(all());
    memory->allocate(4096);
    for (int round = 0; round < 50; ++round) exchange_numbers(*memory, 100 * round);
}

TEST_F(SharedMemory, CanBeTakenAndGivenBackRepeatedly) {
    const auto memory = make_memory(all());
    for (const std::size_t bytes : {100, 1 << 20, 5000, 1 << 22}) {
        memory->allocate(bytes);
        std::fill_n(memory->data(), bytes, std::byte{0});
        memory->synchronize();
        exchange_numbers(*memory, static_cast<int>(bytes));
        memory->release();
        EXPECT_EQ(memory->data(), nullptr);
    }
}

// Each rank fails before it waits for another.
TEST_F(SharedMemory, FailsIfTheNodeLacksMemory) {
    const auto memory = make_memory(all());
    const auto left = memory->free_bytes();
    if (!left) GTEST_SKIP() << "the amount of memory is unknown";

    const std::string message =
        validation::catch_message<ResourceError>([&] { memory->allocate(*left + (std::size_t{1} << 40)); });

    EXPECT_NE(message.find("/dev/shm has only"), std::string::npos) << message;
}

// Memory that is only mapped takes no space until it is reserved, and has no name in /dev/shm.
TEST_F(SharedMemory, TakesSpaceWhenItIsReserved) {
    constexpr std::size_t bytes = std::size_t{1} << 40;  // more than any /dev/shm of a test machine
    const auto memory = make_memory(all());
    memory->map(bytes);
    if (session_.rank() == session_.size() - 1) {
        EXPECT_TRUE(memory->reserve(bytes - 4096, 4096));
        EXPECT_FALSE(memory->reserve(0, bytes));
        memory->data()[bytes - 1] = std::byte{42};
    }
    memory->synchronize();
    EXPECT_EQ(memory->data()[bytes - 1], std::byte{42});
    memory->release();
}

TEST_F(SharedMemory, IsPrivateToItsRanks) {
    const int half = session_.size() / 2;
    std::vector<int> own = all();
    const bool is_low = session_.rank() < half;
    std::erase_if(own, [&](int rank) { return (rank < half) != is_low; });

    const auto memory = make_memory(own);
    memory->allocate(4096);

    exchange_numbers(*memory, is_low ? 0 : 1000);
}

TEST_F(SharedMemory, FreesItsMpiHandles) {
    const int before = live_handles();
    for (int round = 0; round < 20; ++round) make_memory(all())->allocate(4096);

    EXPECT_EQ(live_handles(), before);
}

TEST_F(SharedMemory, IdentifiesEachNodeByItsLowestRank) {
    const std::vector<int>& nodes = session_.nodes();

    ASSERT_EQ(nodes.size(), static_cast<std::size_t>(session_.size()));
    EXPECT_EQ(nodes[static_cast<std::size_t>(session_.rank())], session_.node());
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        EXPECT_LE(nodes[rank], static_cast<int>(rank));
        EXPECT_EQ(nodes[static_cast<std::size_t>(nodes[rank])], nodes[rank]);
    }
}

}  // namespace
}  // namespace trireme::comm

// Ranks of a node share one cache, which they read and write at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "trireme/cache/sample_cache.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::cache {
namespace {

constexpr std::size_t width = 4;
constexpr std::size_t rows = 5000;
constexpr std::size_t samples = 3;

class SharedCache : public ::testing::Test {
protected:
    SharedCache()
        : control_(session_.make_group_of_all_ranks("control", {.stall_seconds = 60})),
          cache_(session_.make_node_memory({.stall_seconds = 60}),
                 {.train = std::vector<std::uint32_t>(samples, rows),
                  .validation = {},
                  .row_bytes = width * sizeof(float)},
                 std::numeric_limits<std::size_t>::max()) {}

    // Reads a sample to `values` and returns its depth.
    int read(std::uint64_t sample) {
        return cache_.read({.sample = sample}, {values_.data(), device::DType::f32, rows, width, width});
    }
    void write(std::uint64_t sample, float value) {
        std::ranges::fill(values_, value);
        cache_.write({.sample = sample}, {values_.data(), device::DType::f32, rows, width, width});
    }

    int arguments_ = 0;
    char** words_ = nullptr;
    comm::Session session_{arguments_, words_};
    std::unique_ptr<comm::Communicator> control_;
    SampleCache cache_;
    std::vector<float> values_ = std::vector<float>(rows * width);
};

// All ranks write the samples of a depth with the number of the depth. A torn entry would have two numbers.
TEST_F(SharedCache, NeverShowsATornEntry) {
    double hits = 0;
    for (int depth = 1; depth <= 30; ++depth) {
        barrier(*control_);
        cache_.set_depth(depth);
        for (std::size_t i = 0; i < 4 * samples; ++i) {
            const std::uint64_t sample = (i + static_cast<std::size_t>(session_.rank())) % samples;
            const int found = read(sample);
            if (found > 0) {
                ++hits;
                const auto [lowest, highest] = std::ranges::minmax(values_);
                ASSERT_EQ(lowest, static_cast<float>(found));
                ASSERT_EQ(highest, static_cast<float>(found));
            }
            if (found < depth) write(sample, static_cast<float>(depth));
        }
    }
    EXPECT_GT(hits, 0);
}

TEST_F(SharedCache, HoldsWhatOneRankHasWritten) {
    cache_.set_depth(2);
    if (session_.rank() == session_.node()) write(1, 7);
    barrier(*control_);

    EXPECT_EQ(read(1), 2);
    EXPECT_EQ(values_.back(), 7);
    EXPECT_EQ(read(0), 0);
    const double held = session_.rank() == session_.node() ? rows * width * sizeof(float) : 0;
    EXPECT_EQ(static_cast<double>(cache_.held_bytes()), held);
}

// The memory no longer has a name in /dev/shm, and is mapped once per rank.
TEST_F(SharedCache, LeavesNothingBehind) {
    std::ifstream maps("/proc/self/maps");
    std::vector<std::string> found;
    for (std::string line; std::getline(maps, line);)
        if (line.find("/dev/shm/trireme-") != std::string::npos) found.push_back(line);

    const bool ranks_share_a_process = device::time_is_simulated();
    if (!ranks_share_a_process) {
        EXPECT_EQ(found.size(), 1U);
    }
    for (const std::string& line : found) EXPECT_TRUE(line.ends_with(" (deleted)")) << line;
}

}  // namespace
}  // namespace trireme::cache

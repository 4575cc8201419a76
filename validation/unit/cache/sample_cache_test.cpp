#include "trireme/cache/sample_cache.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace trireme::cache {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
constexpr std::size_t width = 3;

// The rows of a sample, all with the same value.
struct Rows {
    explicit Rows(std::size_t rows, float value = 0) : values(rows * width, value) {}

    device::Tensor tensor() { return {values.data(), device::DType::f32, values.size() / width, width, width}; }

    std::vector<float> values;
};

SampleCache make_cache(std::vector<std::uint32_t> train, std::size_t limit = unlimited) {
    return {std::make_unique<comm::NodeMemory>(comm::make_single_rank_group("node")),
            {.train = std::move(train), .validation = {2}, .row_bytes = width * sizeof(float)},
            limit};
}

void write(SampleCache& cache, std::uint64_t sample, std::size_t rows, float value) {
    cache.write({.sample = sample}, Rows(rows, value).tensor());
}

// Returns the depth and the value of an entry.
std::pair<int, float> read(SampleCache& cache, std::uint64_t sample, std::size_t rows) {
    Rows found(rows, -1);
    const int depth = cache.read({.sample = sample}, found.tensor());
    return {depth, found.values.back()};
}

TEST(SampleCache, ReturnsWhatWasWritten) {
    SampleCache cache = make_cache({4, 7});
    cache.set_depth(3);
    EXPECT_EQ(read(cache, 1, 7).first, 0);

    write(cache, 1, 7, 42);

    EXPECT_EQ(read(cache, 1, 7), std::pair(3, 42.0F));
    EXPECT_EQ(read(cache, 0, 4).first, 0);
    EXPECT_EQ(cache.held_bytes(), 7 * width * sizeof(float));
    Rows validation(2);
    EXPECT_EQ(cache.read({Split::validation, 0}, validation.tensor()), 0);
}

TEST(SampleCache, KeepsOneEntryPerSample) {
    SampleCache cache = make_cache({4});
    cache.set_depth(2);
    write(cache, 0, 4, 20);
    cache.set_depth(5);
    EXPECT_EQ(read(cache, 0, 4), std::pair(2, 20.0F));  // the layers after the second block are still to be run

    write(cache, 0, 4, 50);
    EXPECT_EQ(read(cache, 0, 4), std::pair(5, 50.0F));
    write(cache, 0, 4, 51);  // the entry has this depth already
    EXPECT_EQ(read(cache, 0, 4), std::pair(5, 50.0F));
    EXPECT_EQ(cache.held_bytes(), 4 * width * sizeof(float));
}

// Blocks that thaw are trained, so that their earlier outputs are wrong even when they freeze again.
TEST(SampleCache, ForgetsTheOutputsOfBlocksThatThaw) {
    SampleCache cache = make_cache({1, 1, 1});
    cache.set_depth(2);
    write(cache, 0, 1, 20);
    cache.set_depth(4);
    write(cache, 1, 1, 40);
    cache.set_depth(3);
    EXPECT_EQ(read(cache, 0, 1).first, 2);
    EXPECT_EQ(read(cache, 1, 1).first, 0);
    cache.set_depth(4);
    EXPECT_EQ(read(cache, 0, 1).first, 2);
    EXPECT_EQ(read(cache, 1, 1).first, 0);
    write(cache, 1, 1, 41);
    EXPECT_EQ(read(cache, 1, 1), std::pair(4, 41.0F));

    cache.set_depth(0);
    write(cache, 2, 1, 0);  // nothing is frozen
    cache.set_depth(4);
    for (const std::uint64_t sample : {0, 1, 2}) EXPECT_EQ(read(cache, sample, 1).first, 0) << sample;
}

TEST(SampleCache, HoldsTheSamplesThatFit) {
    constexpr std::size_t entry_bytes = 64;    // a place begins at a cache line
    constexpr std::size_t index_bytes = 4096;  // a page for the states of the entries
    SampleCache cache = make_cache(std::vector<std::uint32_t>(30, 5), index_bytes + 10 * entry_bytes);
    cache.set_depth(1);
    for (int epoch = 0; epoch < 2; ++epoch)
        for (std::uint64_t sample = 0; sample < 30; ++sample) write(cache, sample, 5, 1);

    int hits = 0;
    for (std::uint64_t sample = 0; sample < 30; ++sample) hits += read(cache, sample, 5).first;
    EXPECT_EQ(hits, 10);
    EXPECT_FALSE(cache.lacks_memory());
}

// Every thread reads and writes all samples, at a depth of its own that its rows name. A torn entry would have
// rows of several values.
TEST(SampleCache, NeverTearsAnEntry) {
    constexpr std::size_t samples = 4;
    constexpr std::size_t rows = 3000;
    SampleCache cache = make_cache(std::vector<std::uint32_t>(samples, rows));
    std::atomic<int> torn = 0;
    std::atomic<int> hits = 0;
    for (int depth = 1; depth <= 20; ++depth) {
        cache.set_depth(depth);
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                Rows found(rows);
                for (std::size_t i = 0; i < 3 * samples; ++i) {
                    const SampleKey key{.sample = (i + static_cast<std::size_t>(t)) % samples};
                    const int found_depth = cache.read(key, found.tensor());
                    if (found_depth > 0) ++hits;
                    for (const float value : found.values)
                        if (found_depth > 0 && value != static_cast<float>(found_depth)) ++torn;
                    if (found_depth < depth) cache.write(key, Rows(rows, static_cast<float>(depth)).tensor());
                }
            });
        for (std::thread& thread : threads) thread.join();
        // A thread does not write an entry that others are reading.
        for (std::uint64_t sample = 0; sample < samples; ++sample)
            write(cache, sample, rows, static_cast<float>(depth));
        for (std::uint64_t sample = 0; sample < samples; ++sample)
            EXPECT_EQ(read(cache, sample, rows), std::pair(depth, static_cast<float>(depth)));
    }
    EXPECT_EQ(torn, 0);
    EXPECT_GT(hits, 0);
}

}  // namespace
}  // namespace trireme::cache

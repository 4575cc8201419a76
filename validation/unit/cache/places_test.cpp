#include "trireme/cache/places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace trireme::cache {
namespace {

SampleSizes make_sizes() {
    SampleSizes sizes{.train = {}, .validation = {}, .row_bytes = 24};
    for (std::uint32_t s = 0; s < 90; ++s) sizes.train.push_back(1 + s * 7 % 13);
    for (std::uint32_t s = 0; s < 10; ++s) sizes.validation.push_back(5 + s);
    return sizes;
}

std::vector<Place> list_places(const Places& places) {
    std::vector<Place> all;
    for (const Split split : {Split::train, Split::validation})
        for (std::size_t s = 0; s < places.count_samples(split); ++s)
            if (const auto place = places.find({split, s})) all.push_back(*place);
    return all;
}

TEST(Places, HaveRoomForTheRowsOfEverySample) {
    const SampleSizes sizes = make_sizes();
    const Places places(sizes, std::numeric_limits<std::size_t>::max());

    std::vector<Place> all = list_places(places);

    ASSERT_EQ(all.size(), 100U);
    EXPECT_EQ(places.find({Split::train, 3})->bytes, sizes.train[3] * 24U);
    EXPECT_EQ(places.find({Split::validation, 3})->bytes, sizes.validation[3] * 24U);
    EXPECT_EQ(places.find({Split::validation, 3})->index, 93U);
    std::ranges::sort(all, {}, &Place::offset);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t end = i + 1 < all.size() ? all[i + 1].offset : places.bytes();
        EXPECT_LE(all[i].offset + all[i].bytes, end);
    }
}

// A smaller limit keeps the places of a larger one, so that a cache that shrinks keeps its other entries.
TEST(Places, AreThoseOfTheFirstSamplesThatFit) {
    const Places all(make_sizes(), std::numeric_limits<std::size_t>::max());
    for (const std::size_t limit : {std::size_t{0}, all.bytes() / 3, all.bytes() - 1}) {
        const Places some(make_sizes(), limit);
        EXPECT_LE(some.bytes(), limit);
        EXPECT_LT(list_places(some).size(), 100U);
        for (std::size_t s = 0; s < 90; ++s) {
            const auto place = some.find({Split::train, s});
            if (!place) continue;
            EXPECT_EQ(place->offset, all.find({Split::train, s})->offset);
        }
    }
}

TEST(Places, AreGivenToTheSamplesOfTheNodeFirst) {
    SampleSizes sizes = make_sizes();
    for (std::size_t s = 0; s < 90; ++s) sizes.first.push_back(s % 2 == 1);
    const std::size_t all_bytes = Places(sizes, std::numeric_limits<std::size_t>::max()).bytes();

    const Places half(sizes, all_bytes / 4);
    for (std::size_t s = 0; s < 90; s += 2) EXPECT_FALSE(half.find({Split::train, s}));
    const Places most(sizes, all_bytes * 3 / 4);
    for (std::size_t s = 1; s < 90; s += 2) EXPECT_TRUE(most.find({Split::train, s}));
    EXPECT_EQ(Places(sizes, std::numeric_limits<std::size_t>::max()).count_placed(Split::train), 90U);
}

TEST(Places, AreGivenToTrainingSamplesFirst) {
    std::size_t train_bytes = 0;
    for (const std::uint32_t rows : make_sizes().train) train_bytes += (rows * 24 + 63) / 64 * 64;

    const Places fewer(make_sizes(), train_bytes - 64);
    EXPECT_LT(fewer.count_placed(Split::train), 90U);
    EXPECT_EQ(fewer.count_placed(Split::validation), 0U);

    const Places equal(make_sizes(), train_bytes);
    EXPECT_EQ(equal.count_placed(Split::train), 90U);
}

}  // namespace
}  // namespace trireme::cache

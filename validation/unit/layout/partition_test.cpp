#include "trireme/layout/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/random.hpp"

namespace trireme::layout {
namespace {

using Counts = std::vector<std::size_t>;

// Returns the layers of a model: one of the embedding, two per block, and the final norm and the head.
std::vector<LayerFacts> model(std::size_t blocks, std::size_t embedding = 40, std::size_t half = 4,
                              std::size_t head = 40) {
    std::vector<LayerFacts> layers{{0, embedding, false}};
    for (std::size_t block = 1; block <= blocks; ++block) layers.insert(layers.end(), 2, {block, half, true});
    layers.push_back({blocks + 1, 0, false});
    layers.push_back({blocks + 1, head, false});
    return layers;
}

std::vector<LayerFacts> items(const Counts& parameters) {
    std::vector<LayerFacts> layers;
    for (const std::size_t number : parameters) layers.push_back({layers.size(), number, true});
    return layers;
}

std::string refusal(const std::vector<LayerFacts>& layers, std::size_t stages, const std::string& wish) {
    return validation::catch_message<ConfigError>([&] { cut_layers(layers, stages, wish); });
}

TEST(Partition, FollowsAList) { EXPECT_EQ(cut_layers(model(12), 4, "4,3,3,4"), (Counts{7, 6, 6, 8})); }

TEST(Partition, CutsEqualNumbersOfItemsForUniform) {
    EXPECT_EQ(cut_layers(model(12), 4, "uniform"), (Counts{7, 8, 6, 6}));
    EXPECT_EQ(cut_layers(model(12), 1, "uniform"), (Counts{27}));
    EXPECT_EQ(cut_layers(model(2), 4, "uniform"), (Counts{1, 2, 2, 2}));
}

TEST(Partition, CutsEqualNumbersOfBlocksForType) {
    EXPECT_EQ(cut_layers(model(12), 4, "type"), (Counts{7, 6, 6, 8}));
    EXPECT_EQ(cut_layers(model(5), 3, "type"), (Counts{5, 4, 4}));
    EXPECT_EQ(cut_layers(model(4), 1, "type"), (Counts{11}));
}

TEST(Partition, MinimizesTheLargestStageForParameters) {
    EXPECT_EQ(cut_layers(model(12), 4, "parameters"), (Counts{3, 12, 10, 2}));  // 48, 48, 40 and 40 parameters
    EXPECT_EQ(cut_layers(items({9, 1, 1, 1}), 2, "parameters"), (Counts{1, 3}));
}

TEST(Partition, FillsEarlierStagesAmongEqualCutsForParameters) {
    EXPECT_EQ(cut_layers(items({1, 1, 1, 5}), 3, "parameters"), (Counts{2, 1, 1}));
    EXPECT_EQ(cut_layers(items({5, 1, 1, 1, 1, 1}), 3, "parameters"), (Counts{1, 4, 1}));
    EXPECT_EQ(cut_layers(items({0, 0, 0}), 2, "parameters"), (Counts{2, 1}));
}

std::size_t largest_sum(const Counts& parameters, const Counts& cuts) {
    std::size_t largest = 0;
    auto at = parameters.begin();
    for (const std::size_t cut : cuts) {
        const auto end = at + static_cast<std::ptrdiff_t>(cut);
        largest = std::max(largest, std::accumulate(at, end, std::size_t{0}));
        at = end;
    }
    return largest;
}

// Returns the optimum over all cuts, which it tries one by one.
std::size_t smallest_largest_sum(const Counts& parameters, std::size_t stages) {
    if (stages == 1) return std::accumulate(parameters.begin(), parameters.end(), std::size_t{0});
    std::size_t best = SIZE_MAX;
    std::size_t first = 0;
    for (std::size_t length = 1; length + stages <= parameters.size() + 1; ++length) {
        first += parameters[length - 1];
        const Counts rest(parameters.begin() + static_cast<std::ptrdiff_t>(length), parameters.end());
        best = std::min(best, std::max(first, smallest_largest_sum(rest, stages - 1)));
    }
    return best;
}

TEST(Partition, IsAsGoodAsAnExhaustiveSearchForParameters) {
    for (std::uint64_t number = 0; number < 40; ++number) {
        Counts parameters;
        for (std::uint64_t i = 0; i < 7; ++i) {
            parameters.push_back(random_block(RandomKey{3}.then(number), i)[0] % 20);
        }
        for (std::size_t stages = 1; stages <= 7; ++stages) {
            const Counts cuts = cut_layers(items(parameters), stages, "parameters");

            EXPECT_EQ(std::accumulate(cuts.begin(), cuts.end(), std::size_t{0}), 7U);
            EXPECT_EQ(std::ranges::count(cuts, 0U), 0);
            EXPECT_EQ(largest_sum(parameters, cuts), smallest_largest_sum(parameters, stages));
        }
    }
}

TEST(Partition, RejectsMoreStagesThanItems) {
    EXPECT_EQ(
        refusal(model(12), 20, "uniform"),
        "--partition uniform cannot cut 14 items (embedding, blocks and head) into 20 stages; use 1 to 14 "
        "stages: change --pipe or --chunks");
    EXPECT_TRUE(
        validation::says(refusal(model(12), 15, "parameters"), "--partition parameters cannot cut 14 items"));
    EXPECT_TRUE(validation::says(refusal(model(12), 0, "uniform"), "into 0 stages; use 1 to 14"));
}

TEST(Partition, RejectsTypeWithoutABlockForEachStage) {
    EXPECT_EQ(
        refusal(model(4), 5, "type"),
        "--partition type cannot give each of 5 stages a block, because the model has only 4 blocks; use at "
        "most 4 stages or --partition uniform");
}

TEST(Partition, RejectsAListThatDoesNotFit) {
    EXPECT_EQ(refusal(model(12), 4, "4,3,7"),
              "--partition 4,3,7 is for 3 stages, but the layout has 4; give the number of items of each "
              "stage, 14 in total");
    EXPECT_EQ(
        refusal(model(12), 4, "4,3,3,3"),
        "--partition 4,3,3,3 assigns 13 items to stages, but the model has 14 (embedding, blocks and head); "
        "make the sum 14");
    EXPECT_EQ(refusal(model(12), 4, "7,0,3,4"),
              "--partition 7,0,3,4 gives stage 1 no item; give every stage at least one");
}

TEST(Partition, RejectsAnUnknownValue) {
    EXPECT_EQ(refusal(model(12), 4, "unifrom"),
              "--partition takes uniform, parameters, type, measured, pipedream or the number of items of each "
              "stage, such as 4,3,3,4, not 'unifrom'; did you mean uniform?");
    EXPECT_TRUE(validation::says(refusal(model(12), 4, "mesured"), "did you mean measured?"));
    for (const std::string wish :
         {"", "4,3,,4", "4,3,3,4,", ",14", "4;10", "4, 10", "-4,18", "4.0,10", "99999999999999999999,1"}) {
        EXPECT_TRUE(validation::says(refusal(model(12), 2, wish), "4,3,3,4, not '" + wish + "'"));
    }
}

}  // namespace
}  // namespace trireme::layout

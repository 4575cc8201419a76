#include "trireme/layout/balanced_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/layout/random_loads.hpp"

namespace trireme::layout {
namespace {

using Counts = std::vector<std::size_t>;
using Kinds = std::vector<std::vector<LayerLoad>>;
using validation::random_loads;

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<LayerLoad> taking(const std::vector<double>& seconds) {
    std::vector<LayerLoad> layers;
    for (const double each : seconds) layers.push_back({.seconds = each});
    return layers;
}

BalanceRules stages(std::size_t count) { return {.stages = std::vector<StageProperties>(count)}; }

template <class Loads>
std::string refusal(const Loads& loads, const BalanceRules& rules) {
    return validation::catch_message<ConfigError>([&] { find_balanced_cuts(loads, rules); });
}

TEST(BalancedCuts, MinimizeTheTimeOfTheSlowestStage) {
    EXPECT_EQ(find_balanced_cuts(taking({1, 1, 1, 1, 4}), stages(2)), (Counts{4, 1}));
    EXPECT_EQ(find_balanced_cuts(taking({9, 1, 1, 1}), stages(2)), (Counts{1, 3}));
    EXPECT_EQ(find_balanced_cuts(taking({1, 2, 3}), stages(1)), (Counts{3}));
    EXPECT_EQ(find_balanced_cuts(taking({0, 0, 5}), stages(3)), (Counts{1, 1, 1}));
}

// Several cuts have a slowest stage of 9.
TEST(BalancedCuts, PreferTheMostEvenOfEquallyFastCuts) {
    EXPECT_EQ(find_balanced_cuts(taking({1, 1, 1, 1, 1, 1, 9}), stages(3)), (Counts{3, 3, 1}));
}

// The slowest stage takes 10 either way.
TEST(BalancedCuts, PreferShorterUpdatesAmongEquallyFastCuts) {
    std::vector<LayerLoad> layers = taking({1, 1, 1, 1, 1, 1, 9});
    layers[0].update_seconds = 3;
    for (std::size_t l = 1; l < layers.size(); ++l) layers[l].update_seconds = 1;

    EXPECT_EQ(find_balanced_cuts(layers, stages(3)), (Counts{2, 4, 1}));
}

TEST(BalancedCuts, SpreadTheUpdateTimeOverTheMicrobatches) {
    std::vector<LayerLoad> layers = taking({2, 2, 2, 2});
    layers[0].update_seconds = 16;
    BalanceRules rules = stages(2);

    rules.microbatches = 1;
    EXPECT_EQ(find_balanced_cuts(layers, rules), (Counts{1, 3}));
    rules.microbatches = 16;
    EXPECT_EQ(find_balanced_cuts(layers, rules), (Counts{2, 2}));
}

// The rows that layer 1 sends onward take three seconds, and so do their gradients.
TEST(BalancedCuts, AvoidCutsWithExpensiveMessages) {
    std::vector<LayerLoad> layers = taking({2, 2, 2, 2});
    layers[1].row_bytes = 30;
    BalanceRules rules = stages(2);
    rules.stages[0].link_to_next.bandwidth = 10;

    EXPECT_EQ(find_balanced_cuts(layers, rules), (Counts{1, 3}));
}

TEST(BalancedCuts, KeepEveryStageWithinTheMemoryLimit) {
    std::vector<LayerLoad> layers = taking({1, 1, 1, 1});
    for (LayerLoad& layer : layers) layer.activation_bytes = 10;
    BalanceRules rules = stages(2);
    rules.stages[0].in_flight = 2;
    rules.memory_limit = 30;

    EXPECT_EQ(find_balanced_cuts(layers, rules), (Counts{1, 3}));
    rules.memory_limit = 29;
    EXPECT_EQ(refusal(layers, rules),
              "no cut of 4 layers into 2 stages keeps every stage within 29 bytes, its part of --memory-limit: "
              "the best cut needs 30 bytes; raise the limit, or use more stages, smaller micro-batches or "
              "--recompute");
    rules.stages[0].recomputes = true;  // it keeps only rows to send, of 0 bytes here
    EXPECT_EQ(find_balanced_cuts(layers, rules), (Counts{2, 2}));
}

TEST(BalancedCuts, GiveFewerLayersToSlowerDevices) {
    const std::vector kinds{taking({2, 2, 2, 2, 2, 2}), taking({4, 4, 4, 4, 4, 4})};
    BalanceRules rules = stages(2);

    EXPECT_EQ(find_balanced_cuts(kinds, rules), (Counts{3, 3}));
    rules.stages[1].kinds = {1};
    EXPECT_EQ(find_balanced_cuts(kinds, rules), (Counts{4, 2}));
    rules.stages[0].kinds = {0, 1};  // the slower kind counts
    EXPECT_EQ(find_balanced_cuts(kinds, rules), (Counts{3, 3}));
    rules.stages[1].kinds = {0};
    EXPECT_EQ(find_balanced_cuts(kinds, rules), (Counts{2, 4}));
}

TEST(BalancedCuts, RejectMoreStagesThanLayers) {
    const std::string message =
        "--partition measured cannot cut 2 layers into 3 stages; use 1 to 2 stages: change --pipe or --chunks";

    EXPECT_EQ(refusal(taking({1, 1}), stages(3)), message);
}

// Computes the seconds of a stage layer by layer, as the header defines them; `never` above the memory limit.
double predict_seconds(const std::vector<LayerLoad>& layers, const BalanceRules& rules, std::size_t stage,
                       std::size_t begin, std::size_t end) {
    const StageProperties& place = rules.stages[stage];
    double seconds = 0;
    std::size_t held = 0;
    std::size_t kept = 0;
    std::size_t workspace = 0;
    for (std::size_t l = begin; l < end; ++l) {
        seconds += layers[l].seconds + layers[l].update_seconds / static_cast<double>(rules.microbatches) +
                   (place.recomputes ? layers[l].forward_seconds : 0);
        held += layers[l].state_bytes;
        kept += place.recomputes ? layers[l].row_bytes : layers[l].activation_bytes;
        workspace = std::max(workspace, layers[l].workspace_bytes);
    }
    const std::size_t rows_in = begin == 0 ? 0 : layers[begin - 1].row_bytes;
    const std::size_t rows_out = layers[end - 1].row_bytes;
    if (stage > 0)
        seconds += rules.stages[stage - 1].link_to_next.predict_seconds(static_cast<double>(rows_in));
    if (stage + 1 < rules.stages.size())
        seconds += place.link_to_next.predict_seconds(static_cast<double>(rows_out));
    const std::size_t bytes =
        held + workspace + place.in_flight * kept + place.row_buffers * std::max(rows_in, rows_out);
    return rules.memory_limit > 0 && bytes > rules.memory_limit ? never : seconds;
}

// Returns the seconds on the slowest kind of device that holds the stage.
double predict_seconds(const Kinds& kinds, const BalanceRules& rules, std::size_t stage, std::size_t begin,
                       std::size_t end) {
    double seconds = 0;
    for (const std::size_t kind : rules.stages[stage].kinds)
        seconds = std::max(seconds, predict_seconds(kinds[kind], rules, stage, begin, end));
    return seconds;
}

double compute_update_seconds(const Kinds& kinds, const BalanceRules& rules, std::size_t stage,
                              std::size_t begin, std::size_t end) {
    double longest = 0;
    for (const std::size_t kind : rules.stages[stage].kinds) {
        double update = 0;
        for (std::size_t l = begin; l < end; ++l) update += kinds[kind][l].update_seconds;
        longest = std::max(longest, update);
    }
    return longest;
}

// Quality of a cut, compared field by field; less is better.
struct Merit {
    double slowest = 0;
    double longest_update = 0;
    double squares = 0;
    friend auto operator<=>(const Merit&, const Merit&) = default;
};

Merit compute_merit(const Kinds& kinds, const BalanceRules& rules, const Counts& cuts) {
    Merit merit;
    std::size_t begin = 0;
    for (std::size_t stage = 0; stage < cuts.size(); ++stage) {
        const double seconds = predict_seconds(kinds, rules, stage, begin, begin + cuts[stage]);
        merit.slowest = std::max(merit.slowest, seconds);
        merit.squares += seconds * seconds;
        const double update = compute_update_seconds(kinds, rules, stage, begin, begin + cuts[stage]);
        merit.longest_update = std::max(merit.longest_update, update);
        begin += cuts[stage];
    }
    return merit;
}

// Returns the best merit over all ways to cut the layers that `cuts` leaves.
Merit best_merit(const Kinds& kinds, const BalanceRules& rules, Counts& cuts) {
    const std::size_t left = kinds.front().size() - std::accumulate(cuts.begin(), cuts.end(), std::size_t{0});
    const std::size_t stages_left = rules.stages.size() - cuts.size();
    if (stages_left == 0) return compute_merit(kinds, rules, cuts);
    Merit best{never, never, never};
    const std::size_t least = stages_left == 1 ? left : 1;
    for (std::size_t count = least; count + stages_left <= left + 1; ++count) {
        cuts.push_back(count);
        best = std::min(best, best_merit(kinds, rules, cuts));
        cuts.pop_back();
    }
    return best;
}

// Returns one of the two kinds, or both.
std::vector<std::size_t> choose_kinds(std::uint32_t number) {
    if (number % 3 == 2) return {0, 1};
    return {number % 3};
}

// Returns random loads of two kinds of devices, with equal row sizes.
Kinds random_kinds(std::uint64_t seed) {
    Kinds kinds{random_loads(8, seed), random_loads(8, seed + 1000)};
    for (std::size_t l = 0; l < 8; ++l) kinds[1][l].row_bytes = kinds[0][l].row_bytes;
    return kinds;
}

BalanceRules random_rules(std::size_t count, std::uint64_t seed) {
    BalanceRules rules = stages(count);
    for (std::size_t s = 0; s < count; ++s) {
        const RandomBlock block = random_block(RandomKey{seed}.then("rules"), s);
        rules.stages[s] = {.link_to_next = {.latency = 1, .bandwidth = block[0] % 2 == 0 ? 0.0 : 4.0},
                           .in_flight = count - s,
                           .row_buffers = block[1] % 3,
                           .recomputes = block[2] % 4 == 0,
                           .kinds = choose_kinds(block[3])};
    }
    const RandomBlock block = random_block(RandomKey{seed}.then("limits"), 0);
    rules.microbatches = std::size_t{1} << block[0] % 4;
    rules.memory_limit = block[1] % 2 == 0 ? 0 : 100 + block[2] % 600;
    return rules;
}

TEST(BalancedCuts, AreAsGoodAsAnExhaustiveSearch) {
    std::size_t refused = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Kinds kinds = random_kinds(seed);
        for (std::size_t count = 1; count <= 8; ++count) {
            const BalanceRules rules = random_rules(count, seed);
            Counts none;
            const Merit best = best_merit(kinds, rules, none);
            if (best.slowest == never) {
                ++refused;
                EXPECT_TRUE(validation::says(refusal(kinds, rules), "raise the limit"));
                continue;
            }

            const Counts cuts = find_balanced_cuts(kinds, rules);

            EXPECT_EQ(std::accumulate(cuts.begin(), cuts.end(), std::size_t{0}), 8U);
            EXPECT_EQ(std::ranges::count(cuts, 0U), 0);
            EXPECT_EQ(compute_merit(kinds, rules, cuts), best) << "seed " << seed << ", " << count << " stages";
        }
    }
    EXPECT_GT(refused, 20U);
}

}  // namespace
}  // namespace trireme::layout

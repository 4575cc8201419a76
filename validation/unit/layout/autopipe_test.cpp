#include "trireme/layout/autopipe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/random.hpp"
#include "trireme/layout/best_cut.hpp"

namespace trireme::layout {
namespace {

using Counts = std::vector<std::size_t>;

constexpr FrozenWeight released{.numerator = 0, .denominator = 1};
constexpr FrozenWeight published{.numerator = 1, .denominator = 6};

struct Sizes {
    std::size_t embedding = 742'656;
    std::size_t attention = 2'363'904;
    std::size_t mlp = 4'723'968;
    std::size_t norm = 1'536;
    std::size_t head = 7'690;
};

std::vector<LayerFacts> make_model(std::size_t blocks, const Sizes& sizes) {
    std::vector<LayerFacts> layers{{0, sizes.embedding, false}};
    for (std::size_t block = 1; block <= blocks; ++block) {
        layers.push_back({block, sizes.attention, true});
        layers.push_back({block, sizes.mlp, true});
    }
    layers.push_back({blocks + 1, sizes.norm, false});
    layers.push_back({blocks + 1, sizes.head, false});
    return layers;
}

// ViT-B/16 with 10 or 1000 classes.
const std::vector<LayerFacts> ten_classes = make_model(12, {});
const std::vector<LayerFacts> thousand_classes = make_model(12, {.head = 769'000});

std::size_t find_first_trained(std::size_t depth) { return depth == 0 ? 0 : 1 + 2 * depth; }

AutopipeCut cut_at_depth(std::size_t depth, std::size_t stages, const FrozenWeight& weight = released,
                         const std::vector<LayerFacts>& layers = ten_classes) {
    return cut_trained_layers(layers, find_first_trained(depth), stages, weight);
}

AutopipeCut compress_at_depth(std::size_t depth, std::size_t stages, const FrozenWeight& weight = released) {
    return compress_pipeline(ten_classes, find_first_trained(depth), stages,
                             {.initial_stages = 8, .frozen_weight = weight});
}

std::size_t sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

TEST(Autopipe, CutsAsThePublishedLogsDo) {
    for (const auto& layers : {ten_classes, thousand_classes}) {
        const AutopipeCut start = cut_at_depth(0, 8, released, layers);

        EXPECT_EQ(start.trained_layers, (Counts{4, 2, 3, 3, 3, 3, 4, 5}));
        EXPECT_EQ(start.layers, start.trained_layers);
        EXPECT_EQ(start.largest, 14'175'744U);
    }
    const AutopipeCut four_stages = cut_at_depth(0, 4, released, thousand_classes);
    EXPECT_EQ(four_stages.layers, (Counts{7, 6, 6, 8}));
    EXPECT_EQ(four_stages.largest, 22'034'152U);
}

TEST(Autopipe, AddsFrozenLayersToTheFirstStage) {
    const AutopipeCut cut = cut_at_depth(6, 4);

    EXPECT_EQ(cut.trained_layers, (Counts{3, 3, 3, 5}));
    EXPECT_EQ(cut.layers, (Counts{16, 3, 3, 5}));
    EXPECT_EQ(cut.largest, 11'821'066U);
}

// The largest sizes of the cuts that are tried next: those of depths 6 and 8 exceed the budget of 14,175,744.
TEST(Autopipe, FindsThePublishedSizesOfCutsThatAreTried) {
    EXPECT_EQ(cut_at_depth(6, 2).largest, 21'272'842U);
    EXPECT_EQ(cut_at_depth(8, 2).largest, 14'184'970U);
    EXPECT_EQ(cut_at_depth(10, 2).largest, 7'097'098U);
    EXPECT_EQ(cut_at_depth(10, 1).largest, 14'184'970U);
}

TEST(Autopipe, CompressesAsThePublishedRunDid) {
    EXPECT_EQ(compress_at_depth(0, 8).trained_layers, (Counts{4, 2, 3, 3, 3, 3, 4, 5}));
    EXPECT_EQ(compress_at_depth(6, 8).trained_layers, (Counts{3, 3, 3, 5}));
    EXPECT_EQ(compress_at_depth(8, 4).trained_layers, (Counts{2, 2, 2, 4}));
    EXPECT_EQ(compress_at_depth(10, 4).trained_layers, (Counts{2, 4}));
    EXPECT_EQ(compress_at_depth(12, 2).trained_layers, (Counts{2}));
}

TEST(Autopipe, CompressesIfTheLargestStageEqualsTheBudget) {
    const AutopipeCut cut = compress_at_depth(5, 8);

    EXPECT_EQ(cut.trained_layers, (Counts{3, 4, 4, 5}));
    EXPECT_EQ(cut.largest, cut_at_depth(0, 8).largest);
}

TEST(Autopipe, CountsFrozenLayersByTheirWeight) {
    EXPECT_EQ(compress_at_depth(6, 8, published).trained_layers, (Counts{1, 4, 4, 5}));
    EXPECT_EQ(compress_at_depth(6, 8, published).largest, 6U * 14'175'744U);
    EXPECT_EQ(compress_at_depth(10, 4, published).layers.size(), 4U);

    // Depth 6: the embedding and six blocks are frozen. One attention layer is trained in the same stage.
    EXPECT_EQ(cut_at_depth(6, 4, published).layers, (Counts{14, 4, 4, 5}));
    const std::vector<LayerFacts> heavy_start{
        {0, 60'000'000, true}, {1, 1'000'000, true}, {2, 1'000'000, true}};
    const AutopipeCut cut = cut_trained_layers(heavy_start, 1, 2, published);
    EXPECT_EQ(cut.layers, (Counts{1, 2}));
    EXPECT_EQ(cut.trained_layers, (Counts{0, 2}));
    EXPECT_EQ(cut.largest, 60'000'000U);  // 6 times 10,000,000
}

// Equal layers have no variance. Two of six layers would reach the bound of the first of three stages.
TEST(Autopipe, StaysBelowTheMeanIfLayersAreEqual) {
    const std::vector<LayerFacts> layers(6, {0, 3'000'000, true});

    EXPECT_EQ(cut_trained_layers(layers, 0, 3, released).layers, (Counts{1, 2, 3}));
    EXPECT_EQ(cut_trained_layers(layers, 0, 1, released).layers, (Counts{6}));
}

TEST(Autopipe, OmitsStagesWithoutLayers) {
    const std::vector<LayerFacts> heavy_start{{0, 9'000, true}, {1, 1'000, true}, {2, 2'000, true}};
    const std::vector<LayerFacts> equal_layers(4, {0, 1'000'000, true});
    const std::vector<LayerFacts> varied_layers{{0, 1'000'000'000, true}, {1, 2'000'000'000, true}};

    EXPECT_EQ(cut_trained_layers(heavy_start, 0, 2, released).layers, (Counts{3}));
    EXPECT_EQ(cut_trained_layers(equal_layers, 0, 6, released).layers, (Counts{1, 1, 2}));
    EXPECT_EQ(cut_trained_layers(varied_layers, 0, 2, released).layers, (Counts{2}));
}

TEST(Autopipe, IsWorseThanTheBestCut) {
    const auto find_bottleneck = [](const std::vector<LayerFacts>& layers) {
        const auto size = [&](std::size_t, Range run) {
            double parameters = 0;
            for (std::size_t l = run.begin; l < run.end(); ++l)
                parameters += static_cast<double>(layers[l].parameters);
            return parameters;
        };
        return find_best_cut(layers.size(), 8, size, [](double a, double b) { return std::max(a, b); }).cost;
    };

    EXPECT_EQ(find_bottleneck(ten_classes), 11'821'066);
    EXPECT_EQ(find_bottleneck(thousand_classes), 12'582'376);
}

// Returns the trained layers of each stage, which may be 0, by the formulas as they are printed.
Counts cut_naively(const std::vector<LayerFacts>& layers, std::size_t first_trained, std::size_t stages,
                   double weight) {
    std::vector<double> rest;  // in millions
    double frozen = 0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const double size = 1e-6 * static_cast<double>(layers[l].parameters);
        if (l < first_trained) frozen += size;
        if (l >= first_trained) rest.push_back(size);
    }
    Counts counts;
    for (double left = static_cast<double>(stages); left > 1; --left) {
        const auto count = static_cast<double>(rest.size());
        const double total = std::accumulate(rest.begin(), rest.end(), 0.0);
        const double squares = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
        const double mean = total / left;
        const double variance = (squares / count - total / count * total / count) / left;
        double taken = counts.empty() ? weight * frozen : 0;
        std::ptrdiff_t next = 0;
        for (const double size : rest) {
            if (taken + size >= mean + variance) break;
            taken += size;
            ++next;
        }
        rest.erase(rest.begin(), rest.begin() + next);
        counts.push_back(static_cast<std::size_t>(next));
    }
    counts.push_back(rest.size());
    return counts;
}

std::vector<LayerFacts> make_random_layers(std::uint64_t number) {
    std::vector<LayerFacts> layers;
    for (std::uint64_t l = 0; l < 5 + 4 * number % 30; ++l)
        layers.push_back({l, random_block(RandomKey{17}.then(number), l)[0] % 8'000'000, true});
    return layers;
}

TEST(Autopipe, FollowsThePrintedFormulas) {
    for (std::uint64_t number = 0; number < 60; ++number) {
        const std::vector<LayerFacts> layers = make_random_layers(number);
        const std::size_t first_trained = number % 5;
        for (std::size_t stages = 1; stages <= 8; ++stages) {
            for (const FrozenWeight& weight : {released, published}) {
                const AutopipeCut cut = cut_trained_layers(layers, first_trained, stages, weight);

                Counts expected =
                    cut_naively(layers, first_trained, stages, weight.numerator == 0 ? 0 : 1.0 / 6);
                expected.front() += first_trained;
                std::erase(expected, 0U);
                EXPECT_EQ(cut.layers, expected);
                EXPECT_EQ(sum(cut.layers), layers.size());
                EXPECT_EQ(sum(cut.trained_layers), layers.size() - first_trained);
            }
        }
    }
}

// The depth after `periods` periods: L (1 - (1 - alpha)^T), rounded up.
std::size_t find_depth(double blocks, double alpha, int periods) {
    const double depth = blocks * (1 - std::pow(1 - alpha, periods));
    return static_cast<std::size_t>(std::ceil(std::round(depth * 1e9) / 1e9));
}

void expect_pipelines_that_only_shrink(std::size_t blocks, const std::vector<LayerFacts>& layers,
                                       const AutopipeRules& rules, double alpha) {
    const std::size_t budget = cut_trained_layers(layers, 0, rules.initial_stages, rules.frozen_weight).largest;
    std::size_t stages = rules.initial_stages;
    for (int period = 0; period < 14; ++period) {
        const std::size_t depth = find_depth(static_cast<double>(blocks), alpha, period);

        const AutopipeCut cut = compress_pipeline(layers, find_first_trained(depth), stages, rules);

        EXPECT_LE(cut.layers.size(), stages);
        const AutopipeCut uncompressed =
            cut_trained_layers(layers, find_first_trained(depth), stages, rules.frozen_weight);
        EXPECT_TRUE(cut.largest <= budget || cut.layers == uncompressed.layers);
        EXPECT_EQ(sum(cut.layers), layers.size());
        EXPECT_EQ(sum(cut.trained_layers), layers.size() - find_first_trained(depth));
        stages = cut.layers.size();
    }
}

TEST(Autopipe, NeverLengthensAPipelineWhileLayersFreeze) {
    const Sizes large{.embedding = 31'000'000, .attention = 4'200'000, .mlp = 8'400'000, .head = 2'050};
    const Sizes tied{.embedding = 38'000'000, .head = 38'000'000};
    for (const std::size_t blocks : {7U, 12U, 24U}) {
        for (const Sizes& sizes : {Sizes{}, large, tied}) {
            for (const double alpha : {1.0 / 5, 1.0 / 4, 1.0 / 3, 2.0 / 5, 1.0 / 2}) {
                for (const std::size_t stages : {3U, 4U, 6U, 8U}) {
                    for (const FrozenWeight& weight : {released, published}) {
                        expect_pipelines_that_only_shrink(blocks, make_model(blocks, sizes),
                                                          {.initial_stages = stages, .frozen_weight = weight},
                                                          alpha);
                    }
                }
            }
        }
    }
}

TEST(Autopipe, HasTheReleasedTableOfMicrobatches) {
    EXPECT_EQ(count_pipeline_microbatches(8), 16U);
    EXPECT_EQ(count_pipeline_microbatches(4), 16U);
    EXPECT_EQ(count_pipeline_microbatches(2), 16U);
    EXPECT_EQ(count_pipeline_microbatches(1), 4U);
    EXPECT_EQ(count_pipeline_microbatches(3), 12U);
}

using Ranks = std::vector<int>;

// Makes `count` nodes of `ranks` consecutive ranks.
std::vector<Ranks> make_nodes(int count, int ranks) {
    std::vector<Ranks> nodes;
    for (int first = 0; first < count * ranks; first += ranks) {
        Ranks& node = nodes.emplace_back(ranks);
        std::iota(node.begin(), node.end(), first);
    }
    return nodes;
}

// Places pipelines of `stages` stages that have one layer each.
Layout place(std::size_t stages, const AutopipeRules& rules) {
    return place_pipelines(Counts(stages, 1), rules);
}

Ranks list_ranks(const StageLayout& stage) {
    Ranks ranks;
    for (const ReplicaLayout& replica : stage.replicas) ranks.push_back(replica.ranks.front());
    return ranks;
}

// The paper starts one process per pipeline. The first ranks of the processes 0, 1, 8 and 9 are 0, 4, 8 and 12.
TEST(Autodp, ActivatesThePublishedRanks) {
    const AutopipeRules rules{.initial_stages = 8, .nodes = make_nodes(2, 8)};

    EXPECT_EQ(list_ranks(place(8, rules).stages[0]), (Ranks{0, 8}));
    EXPECT_EQ(list_ranks(place(4, rules).stages[0]), (Ranks{0, 4, 8, 12}));
    EXPECT_EQ(list_ranks(place(2, rules).stages[0]), (Ranks{0, 2, 4, 6, 8, 10, 12, 14}));
    EXPECT_EQ(list_ranks(place(1, rules).stages[0]).size(), 16U);
    EXPECT_EQ(list_ranks(place(4, rules).stages[3]), (Ranks{3, 7, 11, 15}));
    for (const std::size_t stages : {8U, 4U, 2U, 1U}) {
        EXPECT_TRUE(place(stages, rules).idle.empty());
        EXPECT_NO_THROW(check_layout(place(stages, rules), 16, stages, "the layout"));
    }
}

TEST(Autodp, LeavesFreedRanksIdleIfItIsOff) {
    const AutopipeRules rules{.initial_stages = 8, .nodes = make_nodes(2, 8), .adds_replicas = false};

    const Layout layout = place(4, rules);

    EXPECT_EQ(list_ranks(layout.stages[0]), (Ranks{0, 8}));
    EXPECT_EQ(list_ranks(layout.stages[3]), (Ranks{3, 11}));
    EXPECT_EQ(layout.idle, (Ranks{4, 5, 6, 7, 12, 13, 14, 15}));
    EXPECT_EQ(place(8, rules), place(8, {.initial_stages = 8, .nodes = make_nodes(2, 8)}));
}

TEST(Autodp, LeavesARemainderOfEachNodeIdle) {
    const AutopipeRules rules{.initial_stages = 6, .nodes = make_nodes(2, 8)};

    EXPECT_EQ(place(6, rules).idle, (Ranks{6, 7, 14, 15}));
    EXPECT_EQ(list_ranks(place(3, rules).stages[0]), (Ranks{0, 3, 8, 11}));
    EXPECT_EQ(place(3, rules).idle, (Ranks{6, 7, 14, 15}));
    EXPECT_EQ(list_ranks(place(4, rules).stages[0]), (Ranks{0, 8}));
    EXPECT_EQ(place(4, rules).idle, (Ranks{4, 5, 6, 7, 12, 13, 14, 15}));
    EXPECT_EQ(list_ranks(place(1, rules).stages[0]), (Ranks{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13}));
}

TEST(Autodp, KeepsPipelinesWithinNodesOfAnyRanks) {
    const AutopipeRules rules{.initial_stages = 2, .nodes = {{0, 2, 4, 6, 8}, {1}, {3, 5}}};

    const Layout layout = place_pipelines({5, 4}, rules);

    EXPECT_EQ(list_ranks(layout.stages[0]), (Ranks{0, 4, 3}));
    EXPECT_EQ(list_ranks(layout.stages[1]), (Ranks{2, 6, 5}));
    EXPECT_EQ(layout.stages[1].layers, (Range{5, 4}));
    EXPECT_EQ(layout.layers, 9U);
    EXPECT_EQ(layout.idle, (Ranks{1, 8}));
    EXPECT_EQ(layout.stages[0].replicas[0], (ReplicaLayout{.ranks = {0}, .shares = {1}, .turns = 1}));
}

TEST(Autodp, RejectsNodesThatAreTooSmall) {
    const AutopipeRules rules{.initial_stages = 8, .nodes = make_nodes(2, 4)};

    EXPECT_EQ(validation::catch_message<ConfigError>([&] { place(4, rules); }),
              "PipeTransformer keeps each pipeline within a node, but no node has 8 ranks for --pipe 8; lower "
              "--pipe, or start more ranks per node");
    EXPECT_TRUE(validation::says(validation::catch_message<BugError>([&] { place(9, rules); }),
                                 "a pipeline of 8 stages cannot shrink to 9 stages"));
}

}  // namespace
}  // namespace trireme::layout

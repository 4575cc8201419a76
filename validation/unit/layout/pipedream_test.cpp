#include "trireme/layout/pipedream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "error_message.hpp"
#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"
#include "unit/layout/random_loads.hpp"

namespace trireme::layout {
namespace {

using validation::random_loads;

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<LayerLoad> taking(const std::vector<double>& seconds) {
    std::vector<LayerLoad> layers;
    for (const double each : seconds) layers.push_back({.seconds = each});
    return layers;
}

std::string refusal(const std::vector<LayerLoad>& layers, const PipedreamRules& rules) {
    return validation::catch_message<ConfigError>([&] { plan_pipedream_layout(layers, rules); });
}

// Describes the layers and the ranks of each stage: "0-0: 0 1 2, 1-2: 3".
std::string shown(const PipedreamPlan& shared) {
    std::string text;
    for (const StageLayout& stage : shared.layout.stages) {
        text += cat(text.empty() ? "" : ", ", stage.layers.begin, '-', stage.layers.end() - 1, ':');
        for (const ReplicaLayout& replica : stage.replicas) text += cat(' ', replica.ranks.front());
    }
    return text;
}

// All-reduces of gradients are free within a rank and expensive among several.
const std::vector<LinkLevel> slow_link{{.link = {.bandwidth = 1}}};

TEST(PipeDream, ReplicatesAHeavyFirstLayer) {
    std::vector<LayerLoad> layers = taking({30, 5, 5});
    layers[1].parameter_bytes = layers[2].parameter_bytes = 1000;

    const PipedreamPlan shared =
        plan_pipedream_layout(layers, {.ranks = 4, .links = slow_link, .microbatches = 12});

    EXPECT_EQ(shown(shared), "0-0: 0 1 2, 1-2: 3");
    EXPECT_EQ(shared.seconds, 120);
}

TEST(PipeDream, MakesAStraightPipelineIfAllReducesAreExpensive) {
    std::vector<LayerLoad> layers = taking({2, 2, 2, 2});
    for (LayerLoad& layer : layers) layer.parameter_bytes = 1000;

    const PipedreamPlan shared =
        plan_pipedream_layout(layers, {.ranks = 4, .links = slow_link, .microbatches = 8});

    EXPECT_EQ(shown(shared), "0-0: 0, 1-1: 1, 2-2: 2, 3-3: 3");
    EXPECT_EQ(shared.seconds, 16);
}

TEST(PipeDream, MakesReplicasIfMessagesAreExpensive) {
    std::vector<LayerLoad> layers = taking({2, 2, 2, 2});
    for (LayerLoad& layer : layers) layer.row_bytes = 1000;

    const PipedreamPlan shared =
        plan_pipedream_layout(layers, {.ranks = 4, .links = slow_link, .microbatches = 8});

    EXPECT_EQ(shown(shared), "0-3: 0 1 2 3");
    EXPECT_EQ(shared.seconds, 16);
}

// A micro-batch is never split, so a second replica would have nothing to do.
TEST(PipeDream, NeverSplitsAMicrobatch) {
    EXPECT_EQ(shown(plan_pipedream_layout(taking({4, 4}), {.ranks = 2, .microbatches = 1})), "0-0: 0, 1-1: 1");
    EXPECT_EQ(plan_pipedream_layout(taking({4, 5}), {.ranks = 2, .microbatches = 3}).seconds,
              15);  // 5 * 3, and not 9 * 2
}

// The first layer needs 5 bytes, and 10 per stored micro-batch: the one that it computes, and ceil(b / r) more
// for r replicas and b ranks in later stages.
TEST(PipeDream, KeepsEveryRankWithinTheMemoryLimit) {
    std::vector<LayerLoad> layers = taking({12, 3, 3});
    layers[0].activation_bytes = 10;
    layers[0].state_bytes = 5;
    layers[0].parameter_bytes = 4;
    PipedreamRules rules{.ranks = 3, .microbatches = 6, .memory_limit = 35};

    EXPECT_EQ(shown(plan_pipedream_layout(layers, rules)), "0-2: 0 1 2");  // 15 bytes
    layers[1].state_bytes = layers[2].state_bytes = 15;
    EXPECT_EQ(shown(plan_pipedream_layout(layers, rules)), "0-0: 0 1, 1-2: 2");  // 25 bytes and 30
    rules.stashes_weights = true;
    EXPECT_EQ(shown(plan_pipedream_layout(layers, rules)), "0-0: 0 1, 1-2: 2");  // 29 bytes and 30
    rules.memory_limit = 28;
    EXPECT_EQ(refusal(layers, rules),
              "--partition pipedream finds no way to divide 3 layers among 3 ranks that keeps every rank "
              "within --memory-limit (28 bytes); raise the limit, or use more ranks, smaller micro-batches or "
              "--recompute full");
}

// All-reduces are free within a node and expensive between nodes, so each half of the layers gets a node.
TEST(PipeDream, KeepsAllReducesWithinANode) {
    std::vector<LayerLoad> layers = taking({2, 2, 2, 2});
    for (LayerLoad& layer : layers) layer.parameter_bytes = 1000;
    const std::vector<LinkLevel> nodes{{.ranks = 2, .link = {}}, {.link = {.bandwidth = 1}}};

    const PipedreamPlan shared = plan_pipedream_layout(layers, {.ranks = 4, .links = nodes, .microbatches = 8});

    EXPECT_EQ(shown(shared), "0-1: 0 1, 2-3: 2 3");
}

// A rank can hold half of the layers, and rows are expensive to send between nodes, so each node gets a
// pipeline. The replicas of a stage take turns, so that a micro-batch stays in its node.
TEST(PipeDream, PutsAPipelineIntoEachNode) {
    std::vector<LayerLoad> layers = taking({2, 2, 2, 2});
    for (LayerLoad& layer : layers) layer.state_bytes = 10;
    layers[1].row_bytes = 1000;
    const std::vector<LinkLevel> nodes{{.ranks = 2, .link = {.bandwidth = 1000}}, {.link = {.bandwidth = 10}}};

    const PipedreamPlan shared =
        plan_pipedream_layout(layers, {.ranks = 4, .links = nodes, .microbatches = 8, .memory_limit = 20});

    EXPECT_EQ(shown(shared), "0-1: 0 2, 2-3: 1 3");
    EXPECT_EQ(shared.seconds, 16);
}

TEST(PipeDream, RejectsMoreRanksThanItSearchesFor) {
    EXPECT_EQ(
        refusal(taking({1, 1}), {.ranks = 1025}),
        "--partition pipedream divides layers among at most 1024 ranks, not 1025; use another --partition, or "
        "--layout FILE");
}

// The stages of a plan and its slowest communication.
struct Structure {
    struct Stage {
        Range layers;
        int ranks = 1;
    };
    std::vector<Stage> stages;
    double slowest_communication = 0;  // seconds of its slowest all-reduce or messages
};

// Tries every structure for nested groups of ranks.
class AllStructures {
public:
    AllStructures(const std::vector<LayerLoad>& layers, const PipedreamRules& rules)
        : layers_(layers), rules_(rules), levels_(make_group_levels(rules.links, rules.ranks)) {}

    double min_seconds() const {
        double least = never;
        for (const Structure& each : of_parts(levels_.size(), {0, layers_.size()}, levels_.back().subgroups, 1)) {
            least = std::min(least, predict_seconds(each));
        }
        return least;
    }

    double predict_seconds(const Structure& structure) const {
        double seconds = structure.slowest_communication;
        int ranks_after = 0;
        for (auto stage = structure.stages.rbegin(); stage != structure.stages.rend(); ++stage) {
            seconds = std::max(seconds, seconds_of_stage(*stage, ranks_after));
            ranks_after += stage->ranks;
        }
        return seconds;
    }

private:
    double seconds_of_stage(const Structure::Stage& stage, int ranks_after) const {
        double pass = 0;
        double update = 0;
        std::size_t bytes = 0;
        std::size_t workspace = 0;
        const auto waiting = static_cast<std::size_t>((ranks_after + stage.ranks - 1) / stage.ranks);
        const int passes = (rules_.microbatches + stage.ranks - 1) / stage.ranks;
        for (std::size_t l = stage.layers.begin; l < stage.layers.end(); ++l) {
            const LayerLoad& layer = layers_[l];
            const std::size_t version = rules_.stashes_weights ? layer.parameter_bytes : 0;
            pass += layer.seconds;
            update += layer.update_seconds;
            bytes += layer.state_bytes + layer.activation_bytes + waiting * (layer.activation_bytes + version);
            workspace = std::max(workspace, layer.workspace_bytes);
        }
        const bool fits = rules_.memory_limit == 0 || bytes + workspace <= rules_.memory_limit;
        return fits ? passes * pass + update / stage.ranks : never;
    }

    double bytes_of_parameters(Range run) const {
        std::size_t bytes = 0;
        for (std::size_t l = run.begin; l < run.end(); ++l) bytes += layers_[l].parameter_bytes;
        return static_cast<double>(bytes);
    }

    // Returns the structures of `run` on `parts` groups of level `level` - 1, with `copies` copies of each.
    std::vector<Structure> of_parts(std::size_t level, Range run, int parts, int copies) const {
        std::vector<Structure> all = list_replicated_structures(level, run, parts, copies);
        for (std::size_t first = 1; first < run.count; ++first) {
            const Range head{run.begin, first};
            const Range tail{run.begin + first, run.count - first};
            for (int held = 1; held < parts; ++held) {
                const auto tails = of_parts(level, tail, parts - held, copies);
                for (const Structure& one : list_replicated_structures(level, head, held, copies)) {
                    for (const Structure& other : tails) all.push_back(joined(level, one, other, copies));
                }
            }
        }
        return all;
    }

    std::vector<Structure> list_replicated_structures(std::size_t level, Range run, int parts,
                                                      int copies) const {
        std::vector<Structure> all{{.stages = {{run, parts * copies}}}};
        if (level > 1) all = of_parts(level - 1, run, levels_[level - 2].subgroups, parts * copies);
        const double summed =
            predict_all_reduce_seconds(levels_[level - 1].link, parts, bytes_of_parameters(run));
        for (Structure& each : all) each.slowest_communication = std::max(each.slowest_communication, summed);
        return all;
    }

    Structure joined(std::size_t level, Structure one, const Structure& other, int copies) const {
        const auto rows = static_cast<double>(layers_[other.stages.front().layers.begin - 1].row_bytes);
        const int passes = (rules_.microbatches + copies - 1) / copies;
        const double message = 2 * passes * levels_[level - 1].link.predict_seconds(rows);
        one.slowest_communication = std::max({one.slowest_communication, other.slowest_communication, message});
        one.stages.insert(one.stages.end(), other.stages.begin(), other.stages.end());
        return one;
    }

    const std::vector<LayerLoad>& layers_;
    const PipedreamRules& rules_;
    std::vector<GroupLevel> levels_;
};

PipedreamRules random_rules(int ranks, std::vector<LinkLevel> links, std::uint64_t seed) {
    const RandomBlock block = random_block(RandomKey{seed}.then("rules"), static_cast<std::uint64_t>(ranks));
    return {.ranks = ranks,
            .links = std::move(links),
            .microbatches = static_cast<int>(1 + block[0] % 12),
            .memory_limit = block[1] % 2 == 0 ? 0 : 150 + block[2] % 500,
            .stashes_weights = block[3] % 2 == 0};
}

std::vector<LinkLevel> random_links(int inner, std::uint64_t seed) {
    const RandomBlock block = random_block(RandomKey{seed}.then("links"), 0);
    std::vector<LinkLevel> links;
    if (inner > 0) links.push_back({.ranks = inner, .link = {.latency = 1, .bandwidth = 16}});
    links.push_back({.link = {.latency = 2, .bandwidth = block[0] % 3 == 0 ? 0.0 : 1.0 * (1 << block[1] % 6)}});
    return links;
}

// Expects that the layout has all layers and ranks once, and that its computed time is at most the stated one.
// The computed time omits all-reduces and messages, which a layout does not show for several levels.
void expect_complete(const std::vector<LayerLoad>& layers, const PipedreamRules& rules,
                     const PipedreamPlan& shared) {
    EXPECT_NO_THROW(check_layout(shared.layout, rules.ranks, layers.size(), "it"));
    EXPECT_TRUE(shared.layout.idle.empty());
    Structure structure;
    for (const StageLayout& stage : shared.layout.stages) {
        structure.stages.push_back({stage.layers, static_cast<int>(stage.replicas.size())});
    }
    EXPECT_LE(AllStructures(layers, rules).predict_seconds(structure), shared.seconds);
}

TEST(PipeDream, IsAsGoodAsAnExhaustiveSearch) {
    struct Case {
        std::size_t layers;
        int ranks;
        int inner;
    };
    std::size_t refused = 0;
    for (const Case& each : {Case{5, 1, 0}, {5, 2, 0}, {6, 5, 0}, {4, 4, 2}, {4, 6, 3}, {3, 8, 2}}) {
        for (std::uint64_t seed = 0; seed < 25; ++seed) {
            const std::vector<LayerLoad> layers = random_loads(each.layers, seed);
            const PipedreamRules rules = random_rules(each.ranks, random_links(each.inner, seed), seed);
            const double least = AllStructures(layers, rules).min_seconds();
            if (least == never) {
                ++refused;
                EXPECT_TRUE(validation::says(refusal(layers, rules), "no way to divide"));
                continue;
            }

            const PipedreamPlan shared = plan_pipedream_layout(layers, rules);

            EXPECT_EQ(shared.seconds, least) << each.ranks << " ranks, seed " << seed;
            expect_complete(layers, rules, shared);
        }
    }
    EXPECT_GT(refused, 5U);
}

}  // namespace
}  // namespace trireme::layout

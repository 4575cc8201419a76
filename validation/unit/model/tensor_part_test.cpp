#include "trireme/model/tensor_part.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::model {
namespace {

using validation::catch_message;
using validation::sharable;
using validation::specs_of;

const std::vector<std::size_t> uneven{5, 2, 1};

ParameterSpec find_spec(const ModelConfig& config, const TensorPart& part, const std::string& name) {
    for (const ParameterSpec& spec : specs_of(config, part)) {
        if (spec.name == name) return spec;
    }
    throw BugError(cat("rank ", part.rank, " has nothing of ", name));
}

TEST(TensorPart, IsTheWholeModelForASingleRank) {
    const ModelConfig config = sharable(Family::llama, Task::language);
    const TensorPart whole;

    EXPECT_TRUE(whole.is_whole());
    EXPECT_TRUE(whole.is_first());
    EXPECT_EQ(whole.find_head_groups(config), (layout::Range{0, 4}));
    EXPECT_EQ(whole.find_query_channels(config).own_ranges, (std::vector<layout::Range>{{0, 16}}));
    EXPECT_EQ(whole.find_key_channels(config).own_ranges, (std::vector<layout::Range>{{0, 8}}));
    EXPECT_EQ(whole.find_mlp_channels(config).own_ranges, (std::vector<layout::Range>{{0, 24}}));
    EXPECT_EQ(whole.find_vocabulary_rows(config), (layout::Range{0, 19}));
    for (const ParameterSpec& spec : specs_of(config, whole)) EXPECT_TRUE(spec.is_whole()) << spec.name;
}

// Shares 5:2:1 divide 8 heads of 2 channels into 5, 2 and 1; 24 MLP columns into 15, 6 and 3; 19 vocabulary
// rows into 12, 5 and 2.
TEST(TensorPart, FollowsUnevenShares) {
    const ModelConfig config = sharable(Family::gpt2, Task::language);
    const TensorPart second{.rank = 1, .shares = uneven};

    EXPECT_FALSE(second.is_whole());
    EXPECT_FALSE(second.is_first());
    EXPECT_EQ(second.find_head_groups(config), (layout::Range{5, 2}));
    EXPECT_EQ(second.find_query_channels(config).own_ranges, (std::vector<layout::Range>{{10, 4}}));
    EXPECT_EQ(second.find_key_channels(config).own_ranges, (std::vector<layout::Range>{{10, 4}}));
    EXPECT_EQ(second.find_mlp_channels(config).own_ranges, (std::vector<layout::Range>{{15, 6}}));
    EXPECT_EQ(second.find_vocabulary_rows(config), (layout::Range{12, 5}));
}

// Each of 4 groups has two heads of 2 channels. Shares 5:2:1 divide the groups into 2, 1 and 1.
TEST(TensorPart, KeepsHeadsWithTheKeysThatTheyRead) {
    const ModelConfig config = sharable(Family::llama, Task::language);
    const TensorPart second{.rank = 1, .shares = uneven};

    EXPECT_EQ(second.find_head_groups(config), (layout::Range{2, 1}));
    EXPECT_EQ(second.find_query_channels(config).own_ranges, (std::vector<layout::Range>{{8, 4}}));
    EXPECT_EQ(second.find_key_channels(config).own_ranges, (std::vector<layout::Range>{{4, 2}}));
}

TEST(TensorPart, PlacesTheThreeBoxesOfAFusedProjectionSideBySide) {
    const ModelConfig config = sharable(Family::gpt2, Task::language);
    const TensorPart second{.rank = 1, .shares = uneven};
    const ParameterSpec weight = find_spec(config, second, "transformer.h.1.attn.c_attn.weight");
    const ParameterSpec bias = find_spec(config, second, "transformer.h.1.attn.c_attn.bias");

    EXPECT_EQ(weight.rows, 16U);
    EXPECT_EQ(weight.columns, 12U);
    EXPECT_EQ(weight.all_columns, 48U);
    EXPECT_EQ(weight.shape, (std::vector<std::size_t>{16, 48}));
    EXPECT_EQ(weight.placements,
              (std::vector<layout::Placement>{
                  {{{0, 16}, {10, 4}}, 0, 0}, {{{0, 16}, {26, 4}}, 0, 4}, {{{0, 16}, {42, 4}}, 0, 8}}));
    EXPECT_EQ(bias.placements,
              (std::vector<layout::Placement>{
                  {{{0, 1}, {10, 4}}, 0, 0}, {{{0, 1}, {26, 4}}, 0, 4}, {{{0, 1}, {42, 4}}, 0, 8}}));
}

TEST(TensorPart, HoldsAFusedProjectionInOneBoxForASingleRank) {
    const ModelConfig config = sharable(Family::gpt2, Task::language);

    const ParameterSpec weight = find_spec(config, {}, "transformer.h.0.attn.c_attn.weight");

    EXPECT_EQ(weight.placements, (std::vector<layout::Placement>{{{{0, 16}, {0, 48}}, 0, 0}}));
}

// gpt2 stores matrices as (in, out), llama as (out, in).
TEST(TensorPart, SplitsTheSecondMlpMatrixByInputChannels) {
    const TensorPart second{.rank = 1, .shares = uneven};
    const ParameterSpec rows =
        find_spec(sharable(Family::gpt2, Task::language), second, "transformer.h.0.mlp.c_proj.weight");
    const ParameterSpec columns =
        find_spec(sharable(Family::llama, Task::language), second, "model.layers.0.mlp.down_proj.weight");

    EXPECT_EQ(rows.placements, (std::vector<layout::Placement>{{{{15, 6}, {0, 16}}, 0, 0}}));
    EXPECT_EQ(columns.placements, (std::vector<layout::Placement>{{{{0, 16}, {15, 6}}, 0, 0}}));
}

TEST(TensorPart, IsRejectedIfThereAreFewerUnitsThanRanks) {
    ModelConfig config = sharable(Family::gpt2, Task::language);
    config.mlp_width = 2;
    config.vocabulary = 1;
    const TensorPart of_nine{.rank = 0, .shares = std::vector<std::size_t>(9, 1)};
    const TensorPart of_five{.rank = 0, .shares = std::vector<std::size_t>(5, 1)};

    EXPECT_EQ(
        catch_message<ConfigError>([&] { of_nine.find_head_groups(config); }),
        "a replica of 9 ranks needs at least 9 heads, but the model has 8; use --tensor 8 or less, or replicas "
        "of at most 8 ranks");
    EXPECT_EQ(
        catch_message<ConfigError>([&] { of_five.find_head_groups(sharable(Family::llama, Task::language)); }),
        "a replica of 5 ranks needs at least 5 groups of heads, but the model has 4; use --tensor 4 or less, "
        "or replicas of at most 4 ranks");
    EXPECT_EQ(catch_message<ConfigError>([&] { of_five.find_mlp_channels(config); }),
              "a replica of 5 ranks needs at least 5 MLP columns, but the model has 2; use --tensor 2 or less, "
              "or replicas of at most 2 ranks");
    EXPECT_EQ(
        catch_message<ConfigError>([&] { of_five.find_vocabulary_rows(config); }),
        "a replica of 5 ranks needs at least 5 vocabulary rows, but the model has 1; use --tensor 1 or less, "
        "or replicas of at most 1 rank");
}

TEST(ParameterPart, JoinsAdjacentRanges) {
    const ParameterSpec whole = make_matrix_spec("matrix", 6, 10, 0.5);

    const ParameterSpec part = cut_parameter(whole, {6, {{1, 2}, {3, 1}, {5, 1}}}, {10, {{0, 2}, {4, 3}}});

    EXPECT_EQ(part.rows, 4U);
    EXPECT_EQ(part.columns, 5U);
    EXPECT_EQ(part.all_rows, 6U);
    EXPECT_EQ(part.all_columns, 10U);
    EXPECT_EQ(part.deviation, 0.5);
    EXPECT_FALSE(part.is_whole());
    EXPECT_EQ(part.placements, (std::vector<layout::Placement>{{{{1, 3}, {0, 2}}, 0, 0},
                                                               {{{1, 3}, {4, 3}}, 0, 2},
                                                               {{{5, 1}, {0, 2}}, 3, 0},
                                                               {{{5, 1}, {4, 3}}, 3, 2}}));
}

}  // namespace
}  // namespace trireme::model

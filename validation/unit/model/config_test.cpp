#include "trireme/model/config.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/model/model.hpp"

namespace trireme::model {
namespace {

using validation::catch_message;

// Returns a known model, with the vocabulary and the labels that a corpus would determine.
ModelConfig complete_model(const std::string& name) {
    ModelConfig config = find_named_model(name);
    if (!config.reads_images() && config.vocabulary == 0) config.vocabulary = 300;
    if (config.task == Task::classify) config.labels = 10;
    return config;
}

std::string complaint(const std::string& name, const std::function<void(ModelConfig&)>& change) {
    ModelConfig config = complete_model(name);
    change(config);
    return catch_message<ConfigError>([&] { check_model(config); });
}

TEST(Model, HasHuggingFacesParameterCounts) {
    ModelConfig gpt2 = find_named_model("gpt2");
    EXPECT_EQ(count_parameters(gpt2), 124'439'808U);

    gpt2.tied = false;
    EXPECT_EQ(count_parameters(gpt2), 163'037'184U);
    EXPECT_EQ(count_parameters(find_named_model("gpt2-medium")), 354'823'168U);
    EXPECT_EQ(count_parameters(find_named_model("gpt2-large")), 774'030'080U);
    EXPECT_EQ(count_parameters(find_named_model("gpt2-xl")), 1'557'611'200U);
}

TEST(Model, SplitsEachBlockIntoTwoLayers) { EXPECT_EQ(build_layers(find_named_model("gpt2")).size(), 27U); }

TEST(Model, SuggestsTheNearestNameForAnUnknownModel) {
    const std::string message = catch_message<ConfigError>([] { find_named_model("gtp2"); });
    const std::string other_family = catch_message<ConfigError>([] { find_named_model("llama1b"); });

    EXPECT_NE(message.find("did you mean gpt2?"), std::string::npos) << message;
    EXPECT_NE(other_family.find("did you mean llama-1b?"), std::string::npos) << other_family;
}

TEST(Model, IsCompleteForEveryKnownName) {
    for (const std::string& name : list_model_names()) {
        EXPECT_EQ(find_named_model(name).name, name);
        EXPECT_NO_THROW(check_model(complete_model(name))) << name;
        EXPECT_EQ(find_named_model(name).task, list_tasks(find_named_model(name).family).front()) << name;
    }
}

TEST(Model, LeavesVocabularyAndLabelsToTheCorpus) {
    for (const char* name : {"gpt2-tiny", "llama-tiny", "bert-tiny"}) {
        EXPECT_EQ(find_named_model(name).vocabulary, 0U) << name;
        EXPECT_EQ(find_named_model(name).dropout, 0) << name;
        EXPECT_EQ(find_named_model(name).attention_dropout, 0) << name;
    }
    EXPECT_EQ(find_named_model("vit-tiny").labels, 0U);
}

TEST(Model, HasGroupsAndRotaryScalingForLlama3) {
    const ModelConfig model = find_named_model("llama-1b");

    EXPECT_EQ(model.head_size(), 64U);
    EXPECT_EQ(model.key_value_heads(), 8U);
    EXPECT_EQ(model.positions, 131072U);
    EXPECT_TRUE(model.tied);
    EXPECT_EQ(model.rotary.scaling, RotaryConfig::Scaling::llama3);
    EXPECT_EQ(model.rotary.base, 500000);
    EXPECT_EQ(model.rotary.factor, 32);
    EXPECT_EQ(find_named_model("llama-8b").rotary.factor, 8);
}

TEST(Model, HasAPositionForEachPatchAndTheClassToken) {
    EXPECT_EQ(find_named_model("vit-tiny").positions, 65U);
    EXPECT_EQ(find_named_model("vit-base").positions, 197U);
}

TEST(Model, HasHeadsForTheTasksOfItsFamily) {
    EXPECT_EQ(list_tasks(Family::gpt2), std::vector{Task::language});
    EXPECT_EQ(list_tasks(Family::llama), std::vector{Task::language});
    EXPECT_EQ(list_tasks(Family::bert), (std::vector{Task::masked, Task::span, Task::classify}));
    EXPECT_EQ(list_tasks(Family::vit), std::vector{Task::classify});

    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.task = Task::span; }),
              "a gpt2 model has no head for the task span; it has heads for: language; choose another --model");
    EXPECT_EQ(
        complaint("bert-base", [](auto& m) { m.task = Task::language; }),
        "a bert model has no head for the task language; it has heads for: masked, span, classify; choose "
        "another --model");
}

TEST(Model, RejectsContradictorySizes) {
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.heads = 7; }),
              "--width 768 is not a multiple of --heads 7; every head needs the same number of channels");
    EXPECT_EQ(complaint("llama-tiny", [](auto& m) { m.groups = 3; }),
              "--heads 8 is not a multiple of --groups 3; every group needs the same number of heads");
    EXPECT_EQ(complaint("llama-tiny", [](auto& m) { m.width = 120; }),
              "--width 120 over --heads 8 makes heads of 15 channels; rotary positions need an even number");
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.groups = 4; }),
              "--groups 4 does not fit a gpt2 model with 12 heads: heads of this family do not share keys; "
              "remove --groups");
    EXPECT_EQ(complaint("vit-tiny", [](auto& m) { m.image.patch = 5; }),
              "--image-size 32 is not a multiple of --patch 5; an image must consist of whole patches");
    EXPECT_EQ(
        complaint("vit-tiny", [](auto& m) { m.positions = 64; }),
        "--positions 64 must be 65, for the class token and the 64 patches of --image-size 32 and --patch 4");
}

TEST(Model, RejectsSizesOfZero) {
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.layers = 0; }), "--layers is 0; a model needs at least 1");
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.width = 0; }), "--width is 0; a model needs at least 1");
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.heads = 0; }), "--heads is 0; a model needs at least 1");
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.mlp_width = 0; }),
              "--mlp-width is 0; a model needs at least 1");
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.vocabulary = 0; }),
              "--vocabulary is 0; a model needs at least 1");
    EXPECT_EQ(complaint("vit-tiny", [](auto& m) { m.labels = 0; }), "--labels is 0; a model needs at least 1");
    EXPECT_EQ(complaint("vit-tiny", [](auto& m) { m.image.patch = 0; }),
              "--patch is 0; a model needs at least 1");
    EXPECT_EQ(complaint("bert-base", [](auto& m) { m.token_types = 0; }),
              "the number of token types is 0; a model needs at least 1");
}

TEST(Model, RejectsSizesBeyondTheLimits) {
    constexpr std::size_t huge = (std::size_t{1} << 24) + 1;

    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.mlp_width = huge; }),
              "--mlp-width 16777217 is beyond the limit of 16777216");
    EXPECT_EQ(complaint("vit-tiny", [](auto& m) { m.image.size = huge; }),
              "--image-size 16777217 is beyond the limit of 16384");
    EXPECT_EQ(complaint("vit-tiny", [](auto& m) { m.image = {.channels = 3, .size = 16384, .patch = 16384}; }),
              "--patch 16384 makes patches of 805306368 values; the limit is 16777216");
}

TEST(Model, RejectsFractionsAndScalesOutOfRange) {
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.dropout = 1; }), "--dropout 1 is outside [0, 1)");
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.attention_dropout = -0.5; }),
              "--attention-dropout -0.5 is outside [0, 1)");
    EXPECT_EQ(complaint("gpt2", [](auto& m) { m.norm_epsilon = 0; }),
              "the epsilon of the norms is 0; it must be a number above 0");
    EXPECT_EQ(complaint("llama-tiny", [](auto& m) { m.rotary.base = -1; }),
              "the base of the rotary positions is -1; it must be a number above 0");
    EXPECT_EQ(complaint("llama-1b", [](auto& m) { m.rotary.high_frequency_factor = 1; }),
              "the high frequency factor 1 of the rotary positions is not above the low frequency factor, 1");
}

TEST(Model, NeedsTwoTokenTypesToTellQuestionAndContextApart) {
    EXPECT_EQ(complaint("bert-base",
                        [](auto& m) {
                            m.task = Task::span;
                            m.token_types = 1;
                        }),
              "the model has 1 token type; to find answers in a context it needs 2");
}

ModelConfig make_model_with_heads(std::size_t channels, const RotaryConfig& rotary) {
    ModelConfig config = find_named_model("llama-tiny");
    config.width = 8 * channels;
    config.rotary = rotary;
    return config;
}

// pow() may round the last digit differently on the machine that computed the expected numbers.
void expect_near(double value, double expected) { EXPECT_NEAR(value, expected, 1e-14 * expected); }

TEST(RotaryFrequencies, FallFromOneByPowersOfTheBase) {
    const std::vector<double> frequencies =
        compute_rotary_frequencies(make_model_with_heads(8, {.base = 10000}));

    ASSERT_EQ(frequencies.size(), 4U);
    expect_near(frequencies[0], 1);
    expect_near(frequencies[1], 0.1);
    expect_near(frequencies[2], 0.01);
    expect_near(frequencies[3], 0.001);
}

TEST(RotaryFrequencies, AreDividedByTheFactorForLinearScaling) {
    const std::vector<double> frequencies = compute_rotary_frequencies(
        make_model_with_heads(8, {.base = 10000, .scaling = RotaryConfig::Scaling::linear, .factor = 4}));

    ASSERT_EQ(frequencies.size(), 4U);
    expect_near(frequencies[0], 0.25);
    expect_near(frequencies[3], 0.00025);
}

// The expected values are those of transformers' formula, computed in float64.
TEST(RotaryFrequencies, AreScaledByWavelengthForLlama3) {
    const std::vector<double> frequencies = compute_rotary_frequencies(find_named_model("llama-1b"));

    ASSERT_EQ(frequencies.size(), 32U);
    expect_near(frequencies[0], 1.0);
    expect_near(frequencies[1], 0.6636012376960885);
    expect_near(frequencies[14], 0.0032114459947525913);  // the last one that is not scaled
    expect_near(frequencies[15], 0.001290547928209264);   // interpolated, as are the next two
    expect_near(frequencies[16], 0.00042955679655936815);
    expect_near(frequencies[17], 9.70828780262767e-05);
    expect_near(frequencies[18], 1.9461638184831125e-05);  // the first one divided by the full factor
    expect_near(frequencies[31], 9.418306725434909e-08);
}

}  // namespace
}  // namespace trireme::model

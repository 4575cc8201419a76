#include "trireme/model/config_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "unit/model/config_json_texts.hpp"

namespace trireme::model {
namespace {

using nlohmann::json;
using validation::catch_message;
using validation::says;
using validation::ScratchFolder;

ModelConfig read(const std::string& text) { return parse_config_json(text, "config.json"); }

std::string complaint(const std::string& text) {
    return catch_message<ConfigError>([&] { read(text); });
}

// Returns `text` with changed settings. A null counts as an absent setting.
std::string with(const char* text, const json& changes) {
    json file = json::parse(text);
    file.update(changes);
    return file.dump();
}

std::string complaint_about(const char* text, const json& changes) { return complaint(with(text, changes)); }

ModelConfig renamed(ModelConfig config, const char* name) {
    config.name = name;
    return config;
}

TEST(ConfigJson, ReadsPublishedFilesAsTheNamedModels) {
    ModelConfig vit = renamed(find_named_model("vit-base"), "vit");
    vit.labels = 3;
    vit.label_names = {"cat", "dog", "ship"};

    EXPECT_EQ(read(texts::gpt2_before), find_named_model("gpt2"));
    EXPECT_EQ(read(texts::llama_before), renamed(find_named_model("llama-1b"), "llama"));
    EXPECT_EQ(read(texts::bert_before), renamed(find_named_model("bert-base"), "bert"));
    EXPECT_EQ(read(texts::vit_before), vit);
}

TEST(ConfigJson, IsReadFromTransformersVersion5) {
    ModelConfig gpt2 = find_named_model("gpt2");
    gpt2.layers = 2;
    gpt2.width = 16;
    gpt2.heads = 2;
    gpt2.mlp_width = 64;
    gpt2.positions = 24;
    gpt2.vocabulary = 61;
    ModelConfig llama = renamed(find_named_model("llama-160m"), "llama");
    llama.layers = 2;
    llama.width = 16;
    llama.heads = 4;
    llama.groups = 2;
    llama.mlp_width = 32;
    llama.positions = 24;
    llama.vocabulary = 61;

    EXPECT_EQ(read(texts::gpt2_since), gpt2);
    EXPECT_EQ(read(texts::llama_since), llama);
    EXPECT_EQ(read(texts::bert_since).task, Task::classify);
    EXPECT_EQ(read(texts::bert_since).labels, 2U);
    EXPECT_EQ(read(texts::vit_since).labels, 5U);
    EXPECT_TRUE(read(texts::vit_since).label_names.empty());  // placeholders are dropped
    EXPECT_EQ(read(texts::vit_since).positions, 5U);
}

TEST(ConfigJson, IsReadBackAsItWasWritten) {
    for (const std::string& name : list_model_names()) {
        ModelConfig config = find_named_model(name);
        if (!config.reads_images() && config.vocabulary == 0) config.vocabulary = 300;
        if (config.task == Task::classify) config.labels = 10;

        const ModelConfig again = read(to_config_json(config));

        EXPECT_EQ(again.name, to_string(config.family)) << name;
        EXPECT_EQ(renamed(again, name.c_str()), config) << name;
    }
}

TEST(ConfigJson, KeepsEveryTaskOfAFamily) {
    for (const Task task : list_tasks(Family::bert)) {
        ModelConfig config = renamed(find_named_model("bert-base"), "bert");
        config.task = task;
        config.tied = false;
        if (task == Task::classify) config.labels = 3;

        EXPECT_EQ(read(to_config_json(config)), config) << to_string(task);
    }
}

TEST(ConfigJson, KeepsTheNamesOfLabels) {
    ModelConfig config = renamed(find_named_model("vit-tiny"), "vit");
    for (int label = 0; label < 12; ++label) config.label_names.push_back(cat("name ", 12 - label));
    config.labels = config.label_names.size();

    const std::string text = to_config_json(config);

    EXPECT_EQ(read(text), config);
    EXPECT_EQ(json::parse(text).at("id2label").at("10"), "name 2");
    EXPECT_EQ(json::parse(text).at("label2id").at("name 2"), 10);
}

TEST(ConfigJson, TakesLabelNamesOnlyIfAHeadNamesEveryLabel) {
    const auto names_of = [](const json& changes) {
        return read(with(texts::vit_before, changes)).label_names;
    };

    EXPECT_EQ(names_of(json::object()), (std::vector<std::string>{"cat", "dog", "ship"}));
    EXPECT_TRUE(names_of({{"architectures", {"ViTModel"}}}).empty());
    EXPECT_TRUE(names_of({{"id2label", {{"0", "cat"}, {"2", "dog"}}}}).empty());
    EXPECT_TRUE(names_of({{"id2label", {{"0", 1}, {"1", 2}}}}).empty());
    EXPECT_EQ(names_of({{"id2label", {{"0", "LABEL_1"}, {"1", "LABEL_0"}}}}).size(), 2U);
}

TEST(ConfigJson, KeepsRotaryScaling) {
    ModelConfig config = renamed(find_named_model("llama-7b"), "llama");
    config.rotary = {.base = 20000.5, .scaling = RotaryConfig::Scaling::linear, .factor = 2.5};

    EXPECT_EQ(read(to_config_json(config)), config);
}

TEST(ConfigJson, WritesEndTokensOnlyForKnownVocabularies) {
    ModelConfig bytes = find_named_model("gpt2-tiny");
    bytes.vocabulary = 257;

    EXPECT_EQ(json::parse(to_config_json(find_named_model("gpt2")))["eos_token_id"], 50256);
    EXPECT_EQ(json::parse(to_config_json(find_named_model("llama-8b")))["bos_token_id"], 128000);
    EXPECT_TRUE(json::parse(to_config_json(bytes)).at("eos_token_id").is_null());
}

TEST(ConfigJson, WritesTheDataTypeUnderBothKeys) {
    const json file = json::parse(to_config_json(find_named_model("gpt2"), "bfloat16"));

    EXPECT_EQ(file["dtype"], "bfloat16");
    EXPECT_EQ(file["torch_dtype"], "bfloat16");
}

TEST(ConfigJson, ReadsTheTaskFromTheArchitecture) {
    const auto task_of = [](const char* text, const char* name) {
        return read(with(text, {{"architectures", {name}}})).task;
    };

    EXPECT_EQ(task_of(texts::bert_since, "BertForPreTraining"), Task::masked);
    EXPECT_EQ(task_of(texts::bert_since, "BertModel"), Task::masked);
    EXPECT_EQ(task_of(texts::bert_since, "BertForQuestionAnswering"), Task::span);
    EXPECT_EQ(task_of(texts::gpt2_since, "GPT2Model"), Task::language);
    EXPECT_EQ(task_of(texts::llama_since, "LlamaModel"), Task::language);
    EXPECT_EQ(task_of(texts::vit_since, "ViTModel"), Task::classify);
}

TEST(ConfigJson, UsesTheFamilysDefaultTaskWithoutAnArchitecture) {
    EXPECT_EQ(read(with(texts::bert_since, {{"architectures", nullptr}})).task, Task::masked);
    EXPECT_EQ(read(with(texts::bert_since, {{"architectures", json::array()}})).task, Task::masked);
    EXPECT_EQ(read(with(texts::gpt2_since, {{"model_type", nullptr}})).name, "gpt2");
}

TEST(ConfigJson, LeavesTheLabelsOfABaseModelToTheCorpus) {
    const json no_labels{{"architectures", {"ViTModel"}}, {"id2label", nullptr}};

    EXPECT_EQ(read(with(texts::vit_since, no_labels)).labels, 0U);
    EXPECT_EQ(read(with(texts::vit_since, {{"id2label", nullptr}})).labels, 2U);
    EXPECT_EQ(read(with(texts::vit_since, {{"id2label", nullptr}, {"num_labels", 7}})).labels, 7U);
}

TEST(ConfigJson, UsesTransformersDefaultsForMissingSettings) {
    ModelConfig llama = renamed(find_named_model("llama-7b"), "llama");
    llama.positions = 2048;
    llama.norm_epsilon = 1e-6;
    ModelConfig vit = renamed(find_named_model("vit-base"), "vit");

    EXPECT_EQ(read(R"({"model_type": "gpt2", "n_embd": 768})"), find_named_model("gpt2"));
    EXPECT_EQ(read(R"({"model_type": "llama", "hidden_size": 4096})"), llama);
    EXPECT_EQ(read(R"({"model_type": "bert", "hidden_size": 768})"),
              renamed(find_named_model("bert-base"), "bert"));
    EXPECT_EQ(read(R"({"model_type": "vit", "hidden_size": 768})"), vit);
}

TEST(ConfigJson, AcceptsTheKeysOfOtherFamiliesForGpt2) {
    const json alias{{"n_embd", nullptr}, {"hidden_size", 32}, {"n_inner", 40}};

    EXPECT_EQ(read(with(texts::gpt2_since, alias)).width, 32U);
    EXPECT_EQ(read(with(texts::gpt2_since, alias)).mlp_width, 40U);
    EXPECT_TRUE(says(complaint_about(texts::gpt2_since, {{"hidden_size", 32}}), "hidden_size is 32"));
}

TEST(ConfigJson, KnowsTheSpellingsOfGelu) {
    const auto find_kind = [](const char* name) {
        return read(with(texts::gpt2_since, {{"activation_function", name}})).activation;
    };

    EXPECT_EQ(find_kind("gelu"), kernels::ActivationKind::gelu);
    EXPECT_EQ(find_kind("gelu_new"), kernels::ActivationKind::gelu_tanh);
    EXPECT_EQ(find_kind("gelu_pytorch_tanh"), kernels::ActivationKind::gelu_tanh);
}

TEST(ConfigJson, ReadsEveryFormOfRotarySettings) {
    const auto rotary_of = [](const json& changes) { return read(with(texts::llama_since, changes)).rotary; };
    const json none{{"rope_parameters", nullptr}, {"rope_theta", 5000}};
    const json linear{{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}, {"rope_theta", 5000}};
    const json unsaid_length{{"rope_parameters",
                              {{"rope_type", "llama3"},
                               {"rope_theta", 7000},
                               {"factor", 8},
                               {"low_freq_factor", 2},
                               {"high_freq_factor", 3}}}};

    EXPECT_EQ(rotary_of(none), (RotaryConfig{.base = 5000}));
    EXPECT_EQ(rotary_of(linear),
              (RotaryConfig{.base = 5000, .scaling = RotaryConfig::Scaling::linear, .factor = 2}));
    EXPECT_EQ(rotary_of(unsaid_length), (RotaryConfig{.base = 7000,
                                                      .scaling = RotaryConfig::Scaling::llama3,
                                                      .factor = 8,
                                                      .low_frequency_factor = 2,
                                                      .high_frequency_factor = 3,
                                                      .original_positions = 24}));
}

TEST(ConfigJson, RejectsUnsupportedArchitectures) {
    EXPECT_EQ(
        complaint_about(texts::llama_since, {{"architectures", {"MistralForCausalLM"}}}),
        "config.json: architectures is [\"MistralForCausalLM\"]; Trireme supports GPT2LMHeadModel, GPT2Model, "
        "LlamaForCausalLM, LlamaModel, BertForMaskedLM, BertForPreTraining, BertModel, "
        "BertForQuestionAnswering, BertForSequenceClassification, ViTForImageClassification, ViTModel");
    EXPECT_EQ(complaint(R"({"model_type": "mamba"})"),
              "config.json: model_type is \"mamba\"; Trireme supports gpt2, llama, bert and vit");
    EXPECT_EQ(
        complaint_about(texts::llama_since, {{"model_type", "bert"}}),
        "config.json: model_type is \"bert\"; the architecture LlamaForCausalLM has the model_type llama");
    EXPECT_TRUE(says(complaint("{}"), "config.json names neither architectures nor a model_type"));
    EXPECT_TRUE(says(complaint(R"({"model_type": "gpt2"})"), "config.json: n_embd is missing"));
}

struct Rejection {
    const char* text;
    json changes;
    const char* message;  // a substring of the message
};

void expect_rejections(const std::vector<Rejection>& rejections) {
    for (const auto& [text, changes, message] : rejections) {
        EXPECT_TRUE(says(complaint_about(text, changes), message));
    }
}

TEST(ConfigJson, RejectsUnsupportedSettingsOfGpt2) {
    const char* text = texts::gpt2_since;
    expect_rejections({
        {text, {{"activation_function", "relu"}}, "activation_function is \"relu\"; Trireme supports gelu_new"},
        {text, {{"embd_pdrop", 0.0}}, "embd_pdrop is 0.0; it must equal resid_pdrop, "},
        {text, {{"num_hidden_layers", 24}}, "num_hidden_layers is 24; it must equal n_layer, 2"},
        {text, {{"scale_attn_weights", false}}, "scale_attn_weights is false"},
        {text, {{"scale_attn_by_inverse_layer_idx", true}}, "scale_attn_by_inverse_layer_idx is true"},
        {text, {{"add_cross_attention", true}}, "add_cross_attention is true"},
        {text, {{"quantization_config", {{"bits", 4}}}}, "quantization_config is {\"bits\":4}"},
        {text, {{"pruned_heads", {{"1", {0}}}}}, "pruned_heads is"},
    });
}

TEST(ConfigJson, RejectsUnsupportedSettingsOfLlama) {
    const char* text = texts::llama_since;
    const auto rope = [](const json& settings) { return json{{"rope_parameters", settings}}; };
    expect_rejections({
        {text, {{"hidden_act", "gelu"}}, "hidden_act is \"gelu\"; Trireme supports only \"silu\""},
        {text, {{"attention_bias", true}}, "attention_bias is true"},
        {text, {{"mlp_bias", true}}, "mlp_bias is true"},
        {text,
         {{"head_dim", 8}},
         "head_dim is 8; it must be hidden_size / num_attention_heads, which is 16 / 4"},
        {text, {{"sliding_window", 4096}}, "sliding_window is 4096; Trireme does not support this setting"},
        {text, {{"layer_types", {"sliding_attention"}}}, "layer_types is [\"sliding_attention\"]"},
        {text, {{"partial_rotary_factor", 0.5}}, "partial_rotary_factor is 0.5"},
        {text, rope({{"rope_type", "yarn"}, {"factor", 2}}), "rope_type is \"yarn\"; Trireme supports default"},
        {text, rope({{"rope_type", "dynamic"}, {"factor", 2}}), "rope_type is \"dynamic\""},
        {text, rope({{"rope_type", "longrope"}, {"factor", 2}}), "rope_type is \"longrope\""},
        {text, rope({{"rope_type", "linear"}}), "config.json, rope_parameters: factor is missing"},
        {text, rope({{"full_attention", {{"rope_type", "default"}}}}),
         "; Trireme needs the same rotary settings in every layer"},
    });
}

TEST(ConfigJson, RejectsUnsupportedSettingsOfBertAndVit) {
    const char* bert = texts::bert_since;
    const char* vit = texts::vit_since;
    expect_rejections({
        {bert, {{"position_embedding_type", "relative_key"}}, "position_embedding_type is \"relative_key\""},
        {bert, {{"is_decoder", true}}, "is_decoder is true"},
        {bert, {{"classifier_dropout", 0.3}}, "classifier_dropout is 0.3; it must equal hidden_dropout_prob, "},
        {bert, {{"problem_type", "regression"}}, "problem_type is \"regression\""},
        {bert, {{"num_labels", 1}}, "the model has 1 label, so it predicts a number, not a class"},
        {bert,
         {{"architectures", {"BertForQuestionAnswering"}}, {"num_labels", 3}},
         "a question-answering head needs 2 labels, for begin and end, but has 3"},
        {vit, {{"qkv_bias", false}}, "qkv_bias is false"},
        {vit, {{"image_size", {8, 16}}}, "image_size is [8,16]; Trireme reads square images only"},
        {vit, {{"num_labels", 4}}, "num_labels is 4; id2label names 5 labels"},
    });
    EXPECT_EQ(read(with(vit, {{"image_size", {16, 16}}})).image.size, 16U);
}

TEST(ConfigJson, RejectsSettingsOfTheWrongTypeOrRange) {
    const char* gpt2 = texts::gpt2_since;
    expect_rejections({
        {gpt2, {{"n_layer", "2"}}, "n_layer is \"2\"; it must be a whole number from 1 to 16777216"},
        {gpt2, {{"n_layer", -2}}, "n_layer is -2; it must be a whole number"},
        {gpt2, {{"n_layer", 0}}, "n_layer is 0; it must be a whole number"},
        {gpt2, {{"n_layer", 2.5}}, "n_layer is 2.5; it must be a whole number"},
        {gpt2, {{"vocab_size", 1e300}}, "vocab_size is 1e+300; it must be a whole number"},
        {gpt2, {{"vocab_size", std::uint64_t{1} << 63}}, "vocab_size is 9223372036854775808; it must be"},
        {gpt2, {{"layer_norm_epsilon", true}}, "layer_norm_epsilon is true; it must be a number"},
        {gpt2, {{"resid_pdrop", 1}}, "resid_pdrop is 1; it must be at least 0 and below 1"},
        {gpt2, {{"tie_word_embeddings", 1}}, "tie_word_embeddings is 1; it must be true or false"},
        {gpt2, {{"activation_function", json::array()}}, "activation_function is []; it must be a string"},
        {gpt2, {{"architectures", "GPT2Model"}}, "architectures is \"GPT2Model\"; it must be a list of names"},
        {gpt2, {{"architectures", {3}}}, "architectures is [3]; it must be a list of names"},
        {texts::llama_since, {{"rope_scaling", 3}}, "rope_scaling is 3; it must be a JSON object"},
        {texts::vit_since, {{"id2label", 5}}, "id2label is 5; it must name at least one label"},
        {texts::vit_since,
         {{"image_size", {"8", "8"}}},
         "image_size is [\"8\",\"8\"]; it must hold whole numbers"},
    });
}

TEST(ConfigJson, ShortensLongValuesInMessagesBetweenCharacters) {
    std::string beams;
    for (int i = 0; i < 100; ++i) beams += "\u00e9";

    const std::string message = complaint_about(texts::gpt2_since, {{"n_layer", beams}});

    EXPECT_TRUE(says(message, "\u00e9...; it must be a whole number"));
    EXPECT_LT(message.size(), 200U);
}

TEST(ConfigJson, RejectsContradictorySizes) {
    EXPECT_EQ(
        complaint_about(texts::gpt2_since, {{"n_head", 3}}),
        "config.json describes a model that cannot be built: --width 16 is not a multiple of --heads 3; every "
        "head needs the same number of channels");
}

TEST(ConfigJson, RejectsTextThatIsNoJsonObject) {
    EXPECT_EQ(complaint(""),
              "config.json is not valid JSON: it ends too early, after 0 bytes; correct it, or copy it again");
    EXPECT_TRUE(says(complaint(R"({"n_layer": )"), "config.json is not valid JSON: it ends too early, after"));
    EXPECT_TRUE(says(complaint(R"({"n_layer": 1e999})"), "contains a number that is too large for a double"));
    EXPECT_TRUE(says(complaint("[1]"), "config.json is not a JSON object"));
    EXPECT_TRUE(says(complaint(std::string(1'000'000, '[')), "nested deeper than 64 levels"));
}

TEST(ConfigJson, KeepsOtherSettingsOfAnEarlierFile) {
    ModelConfig model = find_named_model("vit-tiny");
    model.labels = 2;
    const std::string base =
        R"({"id2label": {"0": "cat", "1": "dog"}, "num_labels": 2, "eos_token_id": 7, "hidden_size": 5})";

    const auto kept = json::parse(to_config_json(model, "float32", base));
    model.label_names = {"dog", "cat"};
    const auto renamed_labels = json::parse(to_config_json(model, "float32", base));
    model.labels = 3;
    model.label_names.clear();
    const auto replaced = json::parse(to_config_json(model, "float32", base));

    EXPECT_EQ(kept.at("id2label").at("1"), "dog");
    EXPECT_EQ(kept.at("eos_token_id"), 7);
    EXPECT_EQ(kept.at("hidden_size"), 192);
    EXPECT_EQ(replaced.at("id2label").size(), 3U);
    EXPECT_EQ(renamed_labels.at("id2label").at("1"), "cat");
    EXPECT_EQ(renamed_labels.at("label2id").at("cat"), 1);
    EXPECT_FALSE(replaced.contains("num_labels"));
}

TEST(ConfigJson, IsReadFromAFile) {
    const ScratchFolder folder;
    const std::string file = folder.write("config.json", texts::gpt2_before);
    const std::string empty = folder.write("empty.json", "");
    const auto complaint_of = [](const std::string& path) {
        return catch_message<ConfigError>([&] { read_config_json(path); });
    };

    EXPECT_EQ(read_config_json(file), find_named_model("gpt2"));
    EXPECT_EQ(complaint_of(empty),
              empty + " is not valid JSON: it ends too early, after 0 bytes; correct it, or copy it again");
    EXPECT_TRUE(says(complaint_of(folder.file("absent.json")), "No such file or directory; check its name"));
    EXPECT_TRUE(says(complaint_of(folder.file("")), "is not a regular file (it is a directory)"));
}

}  // namespace
}  // namespace trireme::model

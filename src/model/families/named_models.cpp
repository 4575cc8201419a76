// The models known by name: those that others published, with their sizes, and small ones for first steps.
#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/model/config.hpp"

namespace trireme {
namespace {

struct BlockSizes {
    std::size_t layers;
    std::size_t width;
    std::size_t heads;
    std::size_t mlp_width;
};

BlockSizes with_fourfold_mlp(std::size_t layers, std::size_t width, std::size_t heads) {
    return {.layers = layers, .width = width, .heads = heads, .mlp_width = 4 * width};
}

ModelConfig of_sizes(const char* name, const BlockSizes& sizes) {
    ModelConfig model;
    model.name = name;
    model.layers = sizes.layers;
    model.width = sizes.width;
    model.heads = sizes.heads;
    model.mlp_width = sizes.mlp_width;
    return model;
}

ModelConfig without_dropout(ModelConfig model) {
    model.dropout = 0;
    model.attention_dropout = 0;
    return model;
}

ModelConfig gpt2(const char* name, const BlockSizes& sizes, std::size_t positions = 1024) {
    ModelConfig model = of_sizes(name, sizes);
    model.positions = positions;
    return model;
}

ModelConfig llama(const char* name, const BlockSizes& sizes, std::size_t positions, std::size_t vocabulary) {
    ModelConfig model = without_dropout(of_sizes(name, sizes));
    model.family = Family::llama;
    model.positions = positions;
    model.vocabulary = vocabulary;
    model.tied = false;
    return model;
}

// Llama 3.1 and 3.2 read 16 times the positions that Llama 3 was trained on.
ModelConfig llama3(const char* name, const BlockSizes& sizes, double factor) {
    ModelConfig model = llama(name, sizes, 131072, 128256);
    model.groups = 8;
    model.rotary = {.base = 500000, .stretch = RotaryConfig::Stretch::llama3, .factor = factor};
    return model;
}

ModelConfig bert(const char* name, const BlockSizes& sizes) {
    ModelConfig model = of_sizes(name, sizes);
    model.family = Family::bert;
    model.task = Task::masked;
    model.positions = 512;
    model.vocabulary = 30522;
    model.token_types = 2;
    model.activation = ActivationKind::gelu;
    model.norm_epsilon = 1e-12;
    return model;
}

ModelConfig vit(const char* name, const BlockSizes& sizes, const ImageInput& image) {
    ModelConfig model = without_dropout(of_sizes(name, sizes));
    model.family = Family::vit;
    model.task = Task::classify;
    model.image = image;
    model.positions = image.patches() + 1;
    model.vocabulary = 0;
    model.activation = ActivationKind::gelu;
    model.norm_epsilon = 1e-12;
    return model;
}

std::vector<ModelConfig> gpt2_models() {
    ModelConfig tiny = without_dropout(gpt2("gpt2-tiny", with_fourfold_mlp(4, 128, 8), 256));
    tiny.vocabulary = 0;
    return {tiny,
            gpt2("gpt2", with_fourfold_mlp(12, 768, 12)),
            gpt2("gpt2-medium", with_fourfold_mlp(24, 1024, 16)),
            gpt2("gpt2-large", with_fourfold_mlp(36, 1280, 20)),
            gpt2("gpt2-xl", with_fourfold_mlp(48, 1600, 25)),
            gpt2("gpt-3b", with_fourfold_mlp(16, 4096, 32), 2048),
            gpt2("gpt-13b", with_fourfold_mlp(40, 5120, 40), 2048),
            gpt2("gpt-175b", with_fourfold_mlp(96, 12288, 96), 2048)};
}

std::vector<ModelConfig> llama_models() {
    ModelConfig tiny = llama("llama-tiny", {.layers = 4, .width = 128, .heads = 8, .mlp_width = 384}, 256, 0);
    tiny.groups = 4;
    ModelConfig small =
        llama("llama-160m", {.layers = 12, .width = 768, .heads = 12, .mlp_width = 3072}, 2048, 32000);
    small.norm_epsilon = 1e-6;
    ModelConfig tied = llama3("llama-1b", {.layers = 16, .width = 2048, .heads = 32, .mlp_width = 8192}, 32);
    tied.tied = true;
    return {tiny, small, tied,
            llama("llama-7b", {.layers = 32, .width = 4096, .heads = 32, .mlp_width = 11008}, 4096, 32000),
            llama3("llama-8b", {.layers = 32, .width = 4096, .heads = 32, .mlp_width = 14336}, 8)};
}

std::vector<ModelConfig> bert_models() {
    ModelConfig tiny = without_dropout(bert("bert-tiny", with_fourfold_mlp(2, 128, 2)));
    tiny.vocabulary = 0;
    return {tiny, bert("bert-base", with_fourfold_mlp(12, 768, 12)),
            bert("bert-large", with_fourfold_mlp(24, 1024, 16))};
}

std::vector<ModelConfig> vit_models() {
    constexpr ImageInput small{.size = 32, .patch = 4};
    constexpr ImageInput large{.size = 224, .patch = 16};
    return {vit("vit-tiny", with_fourfold_mlp(12, 192, 3), small),
            vit("vit-base", with_fourfold_mlp(12, 768, 12), large),
            vit("vit-large", with_fourfold_mlp(24, 1024, 16), large),
            vit("vit-1b", with_fourfold_mlp(24, 2048, 16), small),
            vit("vit-3b", with_fourfold_mlp(24, 3072, 16), small)};
}

std::vector<ModelConfig> all_models() {
    std::vector<ModelConfig> models = gpt2_models();
    for (const auto& family : {llama_models(), bert_models(), vit_models()}) {
        models.insert(models.end(), family.begin(), family.end());
    }
    return models;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

std::vector<std::string> known_models() {
    std::vector<std::string> names;
    for (const ModelConfig& model : all_models()) names.push_back(model.name);
    return names;
}

ModelConfig model_named(const std::string& name) {
    const std::vector<ModelConfig> models = all_models();
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == name; });
    if (found != models.end()) return *found;
    const std::vector<std::string> known = known_models();
    throw ConfigError(cat("--model ", name, " is not known", did_you_mean(name, known), "; known are ",
                          joined(known), ", and the path of a config.json of Hugging Face's"));
}

}  // namespace trireme

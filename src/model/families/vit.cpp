// ViT: bidirectional attention over the patches of an image and a class token. (Dosovitskiy et al., 2021)
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

ModelConfig read_vit(const ConfigFields& fields) {
    ModelConfig config = read_encoder(fields);
    config.image.size = fields.read_edge("image_size", 224);
    config.image.patch = fields.read_edge("patch_size", 16);
    config.image.channels = fields.read_size("num_channels", 3);
    config.positions = config.image.count_patches() + 1;  // the class token and the patches
    config.vocabulary = 0;
    config.dropout = fields.read_fraction("hidden_dropout_prob", 0);
    config.attention_dropout = fields.read_fraction("attention_probs_dropout_prob", 0);
    fields.require_value("qkv_bias", true);
    return config;
}

void write_vit(const ModelConfig& config, ConfigSettings& settings) {
    write_encoder(config, settings);
    settings["image_size"] = config.image.size;
    settings["patch_size"] = config.image.patch;
    settings["num_channels"] = config.image.channels;
    settings["qkv_bias"] = true;
}

ModelConfig make_vit(const char* name, const BlockSizes& sizes, const ImageInput& image) {
    ModelConfig model = disable_dropout(make_model(name, sizes));
    model.family = Family::vit;
    model.task = Task::classify;
    model.image = image;
    model.positions = image.count_patches() + 1;
    model.vocabulary = 0;
    model.activation = kernels::ActivationKind::gelu;
    model.norm_epsilon = 1e-12;
    return model;
}

std::vector<ModelConfig> list_vit_models() {
    constexpr ImageInput small_image{.size = 32, .patch = 4};
    constexpr ImageInput large_image{.size = 224, .patch = 16};
    return {make_vit("vit-tiny", make_fourfold_mlp_sizes(12, 192, 3), small_image),
            make_vit("vit-base", make_fourfold_mlp_sizes(12, 768, 12), large_image),
            make_vit("vit-large", make_fourfold_mlp_sizes(24, 1024, 16), large_image),
            make_vit("vit-1b", make_fourfold_mlp_sizes(24, 2048, 16), small_image),
            make_vit("vit-3b", make_fourfold_mlp_sizes(24, 3072, 16), small_image)};
}

constexpr Architecture vit_architectures[] = {{"ViTForImageClassification", Family::vit, Task::classify, true},
                                              {"ViTModel", Family::vit, Task::classify, false}};
constexpr std::string_view vit_attention_in[] = {"attention.attention.query", "attention.attention.key",
                                                 "attention.attention.value"};
constexpr std::string_view vit_mlp_in[] = {"intermediate.dense"};

}  // namespace

constexpr FamilyTraits vit_family{.family = Family::vit,
                                  .name = "vit",
                                  .architectures = vit_architectures,
                                  .block = {.prefix = "vit.encoder.layer.",
                                            .attention_norm = "layernorm_before",
                                            .attention_in = vit_attention_in,
                                            .attention_out = "attention.output.dense",
                                            .mlp_norm = "layernorm_after",
                                            .mlp_in = vit_mlp_in,
                                            .mlp_out = "output.dense"},
                                  .token_table = "",
                                  .position_table = "vit.embeddings.position_embeddings",
                                  .final_norm = "vit.layernorm",
                                  .vocabulary_head = "",
                                  .reads_images = true,
                                  .read_config = read_vit,
                                  .write_config = write_vit,
                                  .list_models = list_vit_models};

}  // namespace trireme::model

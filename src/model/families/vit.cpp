// ViT: bidirectional over the patches of an image and a class token. (Dosovitskiy et al., 2021)
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

ModelConfig read_vit(const ConfigFields& fields) {
    ModelConfig config = read_encoder(fields);
    config.image.size = fields.edge("image_size", 224);
    config.image.patch = fields.edge("patch_size", 16);
    config.image.channels = fields.size("num_channels", 3);
    config.positions = config.image.patches() + 1;
    config.vocabulary = 0;
    config.dropout = fields.share("hidden_dropout_prob", 0);
    config.attention_dropout = fields.share("attention_probs_dropout_prob", 0);
    fields.require("qkv_bias", true);
    return config;
}

void write_vit(const ModelConfig& config, ConfigSettings& file) {
    write_encoder(config, file);
    file["image_size"] = config.image.size;
    file["patch_size"] = config.image.patch;
    file["num_channels"] = config.image.channels;
    file["qkv_bias"] = true;
}

ModelConfig vit(const char* name, const BlockSizes& sizes, const ImageInput& image) {
    ModelConfig model = disable_dropout(make_model(name, sizes));
    model.family = Family::vit;
    model.task = Task::classify;
    model.image = image;
    model.positions = image.patches() + 1;
    model.vocabulary = 0;
    model.activation = kernels::ActivationKind::gelu;
    model.norm_epsilon = 1e-12;
    return model;
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
                                  .read = read_vit,
                                  .write = write_vit,
                                  .models = vit_models};

}  // namespace trireme::model

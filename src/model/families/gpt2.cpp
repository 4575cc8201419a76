// GPT-2: learned positions, a norm before each half of a block. (Radford et al., 2019)
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

using Json = ConfigFields::Json;

// GPT-2 has keys of its own and accepts those of the other families as aliases. Both must agree.
const char* either(const ConfigFields& fields, const char* key, const char* alias) {
    if (!fields.is_set(alias)) return key;
    if (const Json* value = fields.find(key)) fields.require(alias, *value);
    return alias;
}

ModelConfig read_gpt2(const ConfigFields& fields) {
    ModelConfig config;
    config.layers = fields.size(either(fields, "n_layer", "num_hidden_layers"), 12);
    config.width = width_in(fields, either(fields, "n_embd", "hidden_size"));
    config.heads = fields.size(either(fields, "n_head", "num_attention_heads"), 12);
    config.positions = fields.size(either(fields, "n_positions", "max_position_embeddings"), 1024);
    config.vocabulary = fields.size("vocab_size", 50257);
    config.mlp_width = fields.size("n_inner", 4 * config.width);
    config.activation = activation_in(fields, "activation_function", "gelu_new");
    config.dropout = fields.share("resid_pdrop", 0.1);
    config.attention_dropout = fields.share("attn_pdrop", 0.1);
    if (const double embedding = fields.share("embd_pdrop", 0.1); embedding != config.dropout) {
        fields.refuse("embd_pdrop",
                      cat("Trireme drops as much everywhere, and resid_pdrop is ", config.dropout));
    }
    config.norm_epsilon = fields.number("layer_norm_epsilon", 1e-5);
    fields.require("scale_attn_weights", true);
    fields.require("scale_attn_by_inverse_layer_idx", false);
    fields.require("add_cross_attention", false);
    return config;
}

void write_gpt2(const ModelConfig& config, ConfigSettings& file) {
    file["n_layer"] = config.layers;
    file["n_embd"] = config.width;
    file["n_head"] = config.heads;
    file["n_inner"] = config.mlp_width;
    file["n_positions"] = config.positions;
    file["activation_function"] = name_of(config.activation);
    file["resid_pdrop"] = config.dropout;
    file["embd_pdrop"] = config.dropout;
    file["attn_pdrop"] = config.attention_dropout;
    file["layer_norm_epsilon"] = config.norm_epsilon;
    write_text_ends(config, {{50257, 50256, 50256}}, file);
}

ModelConfig gpt2(const char* name, const BlockSizes& sizes, std::size_t positions = 1024) {
    ModelConfig model = make_model(name, sizes);
    model.positions = positions;
    return model;
}

std::vector<ModelConfig> gpt2_models() {
    ModelConfig tiny = disable_dropout(gpt2("gpt2-tiny", with_fourfold_mlp(4, 128, 8), 256));
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

constexpr Architecture gpt2_architectures[] = {{"GPT2LMHeadModel", Family::gpt2, Task::language, true},
                                               {"GPT2Model", Family::gpt2, Task::language, false}};
constexpr std::string_view gpt2_attention_in[] = {"attn.c_attn"};
constexpr std::string_view gpt2_mlp_in[] = {"mlp.c_fc"};
constexpr std::string_view gpt2_computed[] = {"attn.bias", "attn.masked_bias"};

}  // namespace

constexpr FamilyTraits gpt2_family{.family = Family::gpt2,
                                   .name = "gpt2",
                                   .architectures = gpt2_architectures,
                                   .block = {.prefix = "transformer.h.",
                                             .attention_norm = "ln_1",
                                             .attention_in = gpt2_attention_in,
                                             .attention_out = "attn.c_proj",
                                             .mlp_norm = "ln_2",
                                             .mlp_in = gpt2_mlp_in,
                                             .mlp_out = "mlp.c_proj"},
                                   .token_table = "transformer.wte.weight",
                                   .position_table = "transformer.wpe.weight",
                                   .final_norm = "transformer.ln_f",
                                   .vocabulary_head = "lm_head.weight",
                                   .axes = kernels::WeightAxes::in_out,
                                   .scales_last_matrices = true,
                                   .computed = gpt2_computed,
                                   .is_causal = true,
                                   .read = read_gpt2,
                                   .write = write_gpt2,
                                   .models = gpt2_models};

}  // namespace trireme::model

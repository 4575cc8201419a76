// GPT-2: learned positions, a norm before each half of a block. (Radford et al., 2019)
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

using Json = ConfigFields::Json;

// Returns the key under which the file stores a setting: GPT-2's own `key`, or `alias`, the key of the other
// families. If both keys are present, their values must be equal.
const char* choose_key(const ConfigFields& fields, const char* key, const char* alias) {
    if (!fields.is_set(alias)) return key;
    const Json* value = fields.find(key);
    if (value != nullptr && *value != *fields.find(alias))
        fields.reject(alias, cat("it must equal ", key, ", ", value->dump()));
    return alias;
}

ModelConfig read_gpt2(const ConfigFields& fields) {
    ModelConfig config;
    config.layers = fields.read_size(choose_key(fields, "n_layer", "num_hidden_layers"), 12);
    config.width = read_width(fields, choose_key(fields, "n_embd", "hidden_size"));
    config.heads = fields.read_size(choose_key(fields, "n_head", "num_attention_heads"), 12);
    config.positions = fields.read_size(choose_key(fields, "n_positions", "max_position_embeddings"), 1024);
    config.vocabulary = fields.read_size("vocab_size", 50257);
    config.mlp_width = fields.read_size("n_inner", 4 * config.width);
    config.activation = read_activation(fields, "activation_function", "gelu_new");
    config.dropout = fields.read_fraction("resid_pdrop", 0.1);
    config.attention_dropout = fields.read_fraction("attn_pdrop", 0.1);
    if (const double embedding_dropout = fields.read_fraction("embd_pdrop", 0.1);
        embedding_dropout != config.dropout) {
        fields.reject("embd_pdrop", cat("it must equal resid_pdrop, ", config.dropout));
    }
    config.norm_epsilon = fields.read_number("layer_norm_epsilon", 1e-5);
    fields.require_value("scale_attn_weights", true);
    fields.require_value("scale_attn_by_inverse_layer_idx", false);
    fields.require_value("add_cross_attention", false);
    return config;
}

void write_gpt2(const ModelConfig& config, ConfigSettings& settings) {
    settings["n_layer"] = config.layers;
    settings["n_embd"] = config.width;
    settings["n_head"] = config.heads;
    settings["n_inner"] = config.mlp_width;
    settings["n_positions"] = config.positions;
    settings["activation_function"] = to_string(config.activation);
    settings["resid_pdrop"] = config.dropout;
    settings["embd_pdrop"] = config.dropout;
    settings["attn_pdrop"] = config.attention_dropout;
    settings["layer_norm_epsilon"] = config.norm_epsilon;
    write_boundary_tokens(config, {{50257, 50256, 50256}}, settings);
}

ModelConfig make_gpt2(const char* name, const BlockSizes& sizes, std::size_t positions = 1024) {
    ModelConfig model = make_model(name, sizes);
    model.positions = positions;
    return model;
}

std::vector<ModelConfig> list_gpt2_models() {
    ModelConfig tiny = disable_dropout(make_gpt2("gpt2-tiny", make_fourfold_mlp_sizes(4, 128, 8), 256));
    tiny.vocabulary = 0;
    return {tiny,
            make_gpt2("gpt2", make_fourfold_mlp_sizes(12, 768, 12)),
            make_gpt2("gpt2-medium", make_fourfold_mlp_sizes(24, 1024, 16)),
            make_gpt2("gpt2-large", make_fourfold_mlp_sizes(36, 1280, 20)),
            make_gpt2("gpt2-xl", make_fourfold_mlp_sizes(48, 1600, 25)),
            make_gpt2("gpt-3b", make_fourfold_mlp_sizes(16, 4096, 32), 2048),
            make_gpt2("gpt-13b", make_fourfold_mlp_sizes(40, 5120, 40), 2048),
            make_gpt2("gpt-175b", make_fourfold_mlp_sizes(96, 12288, 96), 2048)};
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
                                   .computed_tensors = gpt2_computed,
                                   .is_causal = true,
                                   .read_config = read_gpt2,
                                   .write_config = write_gpt2,
                                   .list_models = list_gpt2_models};

}  // namespace trireme::model

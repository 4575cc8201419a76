// Llama: rotary positions, RMS norms, a gated MLP, grouped-query attention, no biases. (Touvron et al., 2023)
#include <cmath>

#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

using Json = ConfigFields::Json;

// Reads the scaling of the rotary positions. `fields` has the settings of the file. `rope` has the settings
// of the file's member rope_scaling or rope_parameters.
void read_scaling(const ConfigFields& fields, const ConfigFields& rope, ModelConfig& config) {
    const char* type_key = rope.is_set("rope_type") ? "rope_type" : "type";  // older files have the key "type"
    const std::string type = rope.read_string(type_key, "default");
    if (type == "default") return;
    config.rotary.factor = rope.read_number("factor");
    if (type == "linear") {
        config.rotary.scaling = RotaryConfig::Scaling::linear;
        return;
    }
    if (type != "llama3") rope.reject(type_key, "Trireme supports default, linear and llama3");
    constexpr const char* original_key = "original_max_position_embeddings";
    config.rotary.scaling = RotaryConfig::Scaling::llama3;
    config.rotary.low_frequency_factor = rope.read_number("low_freq_factor");
    config.rotary.high_frequency_factor = rope.read_number("high_freq_factor");
    config.rotary.original_positions =
        fields.read_number(original_key, rope.read_number(original_key, static_cast<double>(config.positions)));
}

// transformers 4 wrote rope_theta and rope_scaling; transformers 5 writes rope_parameters. If rope_scaling and
// rope_parameters are both present, rope_scaling takes precedence, as in transformers.
void read_rotary(const ConfigFields& fields, ModelConfig& config) {
    const auto is_nonempty = [&](const char* key) { return fields.is_set(key) && !fields.find(key)->empty(); };
    const char* key = is_nonempty("rope_scaling") ? "rope_scaling" : "rope_parameters";
    const Json rope_settings = is_nonempty(key) ? *fields.find(key) : Json::object();
    if (!rope_settings.is_object()) fields.reject(key, "it must be a JSON object");
    // transformers 5 nests the settings, one object per layer type, if they differ between layers.
    for (const Json& value : rope_settings) {
        if (value.is_structured()) fields.reject(key, "Trireme needs the same rotary settings in every layer");
    }
    const ConfigFields rope(rope_settings, cat(fields.source(), ", ", key));
    rope.require_value("partial_rotary_factor", 1);
    fields.require_value("partial_rotary_factor", 1);
    config.rotary.base = rope.read_number("rope_theta", fields.read_number("rope_theta", 10000));
    read_scaling(fields, rope, config);
}

ModelConfig read_llama(const ConfigFields& fields) {
    ModelConfig config;
    config.layers = fields.read_size("num_hidden_layers", 32);
    config.width = read_width(fields, "hidden_size");
    config.heads = fields.read_size("num_attention_heads", 32);
    const std::size_t groups = fields.read_size("num_key_value_heads", config.heads);
    config.groups = groups == config.heads ? 0 : groups;
    config.mlp_width = fields.read_size("intermediate_size", 11008);
    config.positions = fields.read_size("max_position_embeddings", 2048);
    config.vocabulary = fields.read_size("vocab_size", 32000);
    config.tied = false;
    config.dropout = 0;
    config.attention_dropout = fields.read_fraction("attention_dropout", 0);
    config.norm_epsilon = fields.read_number("rms_norm_eps", 1e-6);
    read_rotary(fields, config);
    fields.require_value("hidden_act", "silu");
    fields.require_value("attention_bias", false);
    fields.require_value("mlp_bias", false);
    if (fields.read_size("head_dim", config.head_size()) * config.heads != config.width) {
        fields.reject("head_dim", cat("it must be hidden_size / num_attention_heads, which is ", config.width,
                                      " / ", config.heads));
    }
    return config;
}

// Returns `count` as a JSON integer if it is whole, because transformers requires an integer.
Json to_json_count(double count) {
    if (count != std::floor(count) || count > 1e15) return count;
    return static_cast<std::uint64_t>(count);
}

Json make_rope_scaling_json(const RotaryConfig& rotary) {
    switch (rotary.scaling) {
        case RotaryConfig::Scaling::none:
            return {{"rope_type", "default"}};
        case RotaryConfig::Scaling::linear:
            return {{"rope_type", "linear"}, {"factor", rotary.factor}};
        case RotaryConfig::Scaling::llama3:
            return {{"rope_type", "llama3"},
                    {"factor", rotary.factor},
                    {"low_freq_factor", rotary.low_frequency_factor},
                    {"high_freq_factor", rotary.high_frequency_factor},
                    {"original_max_position_embeddings", to_json_count(rotary.original_positions)}};
    }
    throw BugError("unknown scaling of rotary positions");
}

void write_rotary(const RotaryConfig& rotary, ConfigSettings& settings) {
    Json parameters = make_rope_scaling_json(rotary);
    settings["rope_scaling"] = rotary.scaling == RotaryConfig::Scaling::none ? Json() : parameters;
    parameters["rope_theta"] = rotary.base;
    settings["rope_theta"] = rotary.base;
    settings["rope_parameters"] = std::move(parameters);
}

void write_llama(const ModelConfig& config, ConfigSettings& settings) {
    write_sizes(config, settings);
    settings["num_key_value_heads"] = config.key_value_heads();
    settings["head_dim"] = config.head_size();
    settings["max_position_embeddings"] = config.positions;
    settings["hidden_act"] = "silu";
    settings["attention_bias"] = false;
    settings["mlp_bias"] = false;
    settings["attention_dropout"] = config.attention_dropout;
    settings["rms_norm_eps"] = config.norm_epsilon;
    write_rotary(config.rotary, settings);
    write_boundary_tokens(config, {{32000, 1, 2}, {128256, 128000, 128001}}, settings);
}

ModelConfig make_llama(const char* name, const BlockSizes& sizes, std::size_t positions,
                       std::size_t vocabulary) {
    ModelConfig model = disable_dropout(make_model(name, sizes));
    model.family = Family::llama;
    model.positions = positions;
    model.vocabulary = vocabulary;
    model.tied = false;
    return model;
}

// Llama 3 has 8192 positions; RotaryConfig::Scaling::llama3 extends them to the 131072 of Llama 3.1 and 3.2.
ModelConfig make_llama3(const char* name, const BlockSizes& sizes, double scaling_factor) {
    ModelConfig model = make_llama(name, sizes, 131072, 128256);
    model.groups = 8;
    model.rotary = {.base = 500000, .scaling = RotaryConfig::Scaling::llama3, .factor = scaling_factor};
    return model;
}

std::vector<ModelConfig> list_llama_models() {
    ModelConfig tiny =
        make_llama("llama-tiny", {.layers = 4, .width = 128, .heads = 8, .mlp_width = 384}, 256, 0);
    tiny.groups = 4;
    ModelConfig small =
        make_llama("llama-160m", {.layers = 12, .width = 768, .heads = 12, .mlp_width = 3072}, 2048, 32000);
    small.norm_epsilon = 1e-6;
    ModelConfig model_1b =
        make_llama3("llama-1b", {.layers = 16, .width = 2048, .heads = 32, .mlp_width = 8192}, 32);
    model_1b.tied = true;
    return {tiny, small, model_1b,
            make_llama("llama-7b", {.layers = 32, .width = 4096, .heads = 32, .mlp_width = 11008}, 4096, 32000),
            make_llama3("llama-8b", {.layers = 32, .width = 4096, .heads = 32, .mlp_width = 14336}, 8)};
}

constexpr Architecture llama_architectures[] = {{"LlamaForCausalLM", Family::llama, Task::language, true},
                                                {"LlamaModel", Family::llama, Task::language, false}};
constexpr std::string_view llama_attention_in[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
constexpr std::string_view llama_mlp_in[] = {"mlp.gate_proj", "mlp.up_proj"};
constexpr std::string_view llama_computed[] = {"rotary_emb.inv_freq"};

}  // namespace

constexpr FamilyTraits llama_family{.family = Family::llama,
                                    .name = "llama",
                                    .architectures = llama_architectures,
                                    .block = {.prefix = "model.layers.",
                                              .attention_norm = "input_layernorm",
                                              .attention_in = llama_attention_in,
                                              .attention_out = "self_attn.o_proj",
                                              .mlp_norm = "post_attention_layernorm",
                                              .mlp_in = llama_mlp_in,
                                              .mlp_out = "mlp.down_proj"},
                                    .token_table = "model.embed_tokens.weight",
                                    .position_table = "",
                                    .final_norm = "model.norm",
                                    .vocabulary_head = "lm_head.weight",
                                    .has_bias = false,
                                    .computed_tensors = llama_computed,
                                    .is_causal = true,
                                    .has_rotary_positions = true,
                                    .has_rms_norm = true,
                                    .may_share_keys = true,
                                    .read_config = read_llama,
                                    .write_config = write_llama,
                                    .list_models = list_llama_models};

}  // namespace trireme::model

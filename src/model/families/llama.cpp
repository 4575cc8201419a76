// Llama: rotary positions, RMS norms, a gated MLP, heads in groups, no biases. (Touvron et al., 2023)
#include <cmath>

#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

using Json = ConfigFields::Json;

void read_stretch(const ConfigFields& fields, const ConfigFields& rope, ModelConfig& config) {
    const char* key = rope.is_set("rope_type") ? "rope_type" : "type";  // older key
    const std::string type = rope.word(key, "default");
    if (type == "default") return;
    config.rotary.factor = rope.number("factor");
    if (type == "linear") {
        config.rotary.stretch = RotaryConfig::Stretch::linear;
        return;
    }
    if (type != "llama3") rope.refuse(key, "Trireme knows default, linear and llama3");
    constexpr const char* original = "original_max_position_embeddings";
    config.rotary.stretch = RotaryConfig::Stretch::llama3;
    config.rotary.low_frequency = rope.number("low_freq_factor");
    config.rotary.high_frequency = rope.number("high_freq_factor");
    config.rotary.original_positions =
        fields.number(original, rope.number(original, static_cast<double>(config.positions)));
}

// transformers 4 wrote rope_theta and rope_scaling; transformers 5 writes rope_parameters. If both are present,
// rope_scaling takes precedence, as in transformers.
void read_rotary(const ConfigFields& fields, ModelConfig& config) {
    const auto is_said = [&](const char* key) { return fields.is_set(key) && !fields.find(key)->empty(); };
    const char* key = is_said("rope_scaling") ? "rope_scaling" : "rope_parameters";
    const Json said = is_said(key) ? *fields.find(key) : Json::object();
    if (!said.is_object()) fields.refuse(key, "it must be an object of settings");
    for (const Json& value : said) {
        if (value.is_structured()) fields.refuse(key, "Trireme turns positions alike in every layer");
    }
    const ConfigFields rope(said, cat(fields.place(), ", ", key));
    rope.require("partial_rotary_factor", 1);
    fields.require("partial_rotary_factor", 1);
    config.rotary.base = rope.number("rope_theta", fields.number("rope_theta", 10000));
    read_stretch(fields, rope, config);
}

ModelConfig read_llama(const ConfigFields& fields) {
    ModelConfig config;
    config.layers = fields.size("num_hidden_layers", 32);
    config.width = width_in(fields, "hidden_size");
    config.heads = fields.size("num_attention_heads", 32);
    const std::size_t groups = fields.size("num_key_value_heads", config.heads);
    config.groups = groups == config.heads ? 0 : groups;
    config.mlp_width = fields.size("intermediate_size", 11008);
    config.positions = fields.size("max_position_embeddings", 2048);
    config.vocabulary = fields.size("vocab_size", 32000);
    config.tied = false;
    config.dropout = 0;
    config.attention_dropout = fields.share("attention_dropout", 0);
    config.norm_epsilon = fields.number("rms_norm_eps", 1e-6);
    read_rotary(fields, config);
    fields.require("hidden_act", "silu");
    fields.require("attention_bias", false);
    fields.require("mlp_bias", false);
    if (fields.size("head_dim", config.head_size()) * config.heads != config.width) {
        fields.refuse("head_dim",
                      cat("Trireme's ", config.heads, " heads share the hidden_size, ", config.width));
    }
    return config;
}

// Returns a JSON integer if `count` is whole, because transformers requires one.
Json positions_of(double count) {
    if (count != std::floor(count) || count > 1e15) return count;
    return static_cast<std::uint64_t>(count);
}

Json stretch_of(const RotaryConfig& rotary) {
    switch (rotary.stretch) {
        case RotaryConfig::Stretch::none:
            return {{"rope_type", "default"}};
        case RotaryConfig::Stretch::linear:
            return {{"rope_type", "linear"}, {"factor", rotary.factor}};
        case RotaryConfig::Stretch::llama3:
            return {{"rope_type", "llama3"},
                    {"factor", rotary.factor},
                    {"low_freq_factor", rotary.low_frequency},
                    {"high_freq_factor", rotary.high_frequency},
                    {"original_max_position_embeddings", positions_of(rotary.original_positions)}};
    }
    throw BugError("unknown stretch of rotary positions");
}

void write_rotary(const RotaryConfig& rotary, ConfigSettings& file) {
    Json parameters = stretch_of(rotary);
    file["rope_scaling"] = rotary.stretch == RotaryConfig::Stretch::none ? Json() : parameters;
    parameters["rope_theta"] = rotary.base;
    file["rope_theta"] = rotary.base;
    file["rope_parameters"] = std::move(parameters);
}

void write_llama(const ModelConfig& config, ConfigSettings& file) {
    write_sizes(config, file);
    file["num_key_value_heads"] = config.key_groups();
    file["head_dim"] = config.head_size();
    file["max_position_embeddings"] = config.positions;
    file["hidden_act"] = "silu";
    file["attention_bias"] = false;
    file["mlp_bias"] = false;
    file["attention_dropout"] = config.attention_dropout;
    file["rms_norm_eps"] = config.norm_epsilon;
    write_rotary(config.rotary, file);
    write_text_ends(config, {{32000, 1, 2}, {128256, 128000, 128001}}, file);
}

ModelConfig llama(const char* name, const BlockSizes& sizes, std::size_t positions, std::size_t vocabulary) {
    ModelConfig model = disable_dropout(make_model(name, sizes));
    model.family = Family::llama;
    model.positions = positions;
    model.vocabulary = vocabulary;
    model.tied = false;
    return model;
}

// Llama 3.1 and 3.2 have 16 times the positions that Llama 3 was trained on.
ModelConfig llama3(const char* name, const BlockSizes& sizes, double factor) {
    ModelConfig model = llama(name, sizes, 131072, 128256);
    model.groups = 8;
    model.rotary = {.base = 500000, .stretch = RotaryConfig::Stretch::llama3, .factor = factor};
    return model;
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
                                    .computed = llama_computed,
                                    .is_causal = true,
                                    .has_rotary_positions = true,
                                    .has_rms_norm = true,
                                    .shares_keys = true,
                                    .read = read_llama,
                                    .write = write_llama,
                                    .models = llama_models};

}  // namespace trireme::model

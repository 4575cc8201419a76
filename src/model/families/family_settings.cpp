// Settings that are not named here say nothing about what a model computes.
#include "model/families/architectures.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

using Json = ConfigFields::Json;

// A file without the width of its model would be read as one of the default sizes; it is a mistake.
std::size_t width_in(const ConfigFields& fields, const char* key) {
    if (!fields.is_set(key)) {
        throw ConfigError(cat(fields.place(), ": ", key, " is missing; is it the config.json of a model?"));
    }
    return fields.size(key, 0);
}

ActivationKind activation_in(const ConfigFields& fields, const char* key, const char* otherwise) {
    const std::optional<ActivationKind> kind = activation_named(fields.word(key, otherwise));
    if (!kind) fields.refuse(key, cat("Trireme knows ", known_activations()));
    return *kind;
}

// GPT-2 has words of its own, and takes those of the others too.
const char* either(const ConfigFields& fields, const char* key, const char* alias) {
    if (!fields.is_set(alias)) return key;
    if (const Json* value = fields.find(key)) fields.require(alias, *value);
    return alias;
}

ModelConfig gpt2_in(const ConfigFields& fields) {
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

void read_stretch(const ConfigFields& fields, const ConfigFields& rope, ModelConfig& config) {
    const char* key = rope.is_set("rope_type") ? "rope_type" : "type";  // the older word
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

// Before its fifth version transformers wrote rope_theta and rope_scaling, since then rope_parameters. Where
// both are there, it takes the former.
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

ModelConfig llama_in(const ConfigFields& fields) {
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

// BERT's words, which the ViT took over.
ModelConfig bert_like_in(const ConfigFields& fields) {
    ModelConfig config;
    config.layers = fields.size("num_hidden_layers", 12);
    config.width = width_in(fields, "hidden_size");
    config.heads = fields.size("num_attention_heads", 12);
    config.mlp_width = fields.size("intermediate_size", 3072);
    config.activation = activation_in(fields, "hidden_act", "gelu");
    config.norm_epsilon = fields.number("layer_norm_eps", 1e-12);
    return config;
}

ModelConfig bert_in(const ConfigFields& fields) {
    ModelConfig config = bert_like_in(fields);
    config.positions = fields.size("max_position_embeddings", 512);
    config.vocabulary = fields.size("vocab_size", 30522);
    config.token_types = fields.size("type_vocab_size", 2);
    config.dropout = fields.share("hidden_dropout_prob", 0.1);
    config.attention_dropout = fields.share("attention_probs_dropout_prob", 0.1);
    if (fields.share("classifier_dropout", config.dropout) != config.dropout) {
        fields.refuse("classifier_dropout",
                      cat("Trireme drops as much everywhere, and hidden_dropout_prob is ", config.dropout));
    }
    fields.require("position_embedding_type", "absolute");
    fields.require("is_decoder", false);
    fields.require("add_cross_attention", false);
    return config;
}

ModelConfig vit_in(const ConfigFields& fields) {
    ModelConfig config = bert_like_in(fields);
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

}  // namespace

ModelConfig settings_of(Family family, const ConfigFields& fields) {
    switch (family) {
        case Family::gpt2:
            return gpt2_in(fields);
        case Family::llama:
            return llama_in(fields);
        case Family::bert:
            return bert_in(fields);
        case Family::vit:
            return vit_in(fields);
    }
    throw BugError("unknown family");
}

}  // namespace trireme

#include "model/families/settings.hpp"

#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

struct NamedActivation {
    const char* name;
    kernels::ActivationKind kind;
};

// If a kind has several names, the first one is written to files.
constexpr NamedActivation activations[] = {
    {"gelu_new", kernels::ActivationKind::gelu_tanh},
    {"gelu_pytorch_tanh", kernels::ActivationKind::gelu_tanh},
    {"gelu", kernels::ActivationKind::gelu},
    {"tanh", kernels::ActivationKind::tanh},
};

}  // namespace

const char* to_string(kernels::ActivationKind kind) {
    for (const NamedActivation& activation : activations) {
        if (activation.kind == kind) return activation.name;
    }
    throw BugError("unknown activation");
}

std::size_t read_width(const ConfigFields& fields, const char* key) {
    if (!fields.is_set(key)) {
        throw ConfigError(cat(fields.source(), ": ", key, " is missing; is it the config.json of a model?"));
    }
    return fields.read_size(key, 0);
}

kernels::ActivationKind read_activation(const ConfigFields& fields, const char* key,
                                        const char* default_value) {
    const std::string activation_name = fields.read_string(key, default_value);
    std::string known_names;
    for (const NamedActivation& activation : activations) {
        if (activation_name == activation.name) return activation.kind;
        known_names += cat(known_names.empty() ? "" : ", ", activation.name);
    }
    fields.reject(key, cat("Trireme supports ", known_names));
}

void write_sizes(const ModelConfig& config, ConfigSettings& settings) {
    settings["num_hidden_layers"] = config.layers;
    settings["hidden_size"] = config.width;
    settings["num_attention_heads"] = config.heads;
    settings["intermediate_size"] = config.mlp_width;
}

void write_boundary_tokens(const ModelConfig& config, std::initializer_list<BoundaryTokens> known_tokens,
                           ConfigSettings& settings) {
    settings["bos_token_id"] = nullptr;
    settings["eos_token_id"] = nullptr;
    for (const BoundaryTokens& tokens : known_tokens) {
        if (tokens.vocabulary != config.vocabulary) continue;
        settings["bos_token_id"] = tokens.begin;
        settings["eos_token_id"] = tokens.end;
    }
}

ModelConfig read_encoder(const ConfigFields& fields) {
    ModelConfig config;
    config.layers = fields.read_size("num_hidden_layers", 12);
    config.width = read_width(fields, "hidden_size");
    config.heads = fields.read_size("num_attention_heads", 12);
    config.mlp_width = fields.read_size("intermediate_size", 3072);
    config.activation = read_activation(fields, "hidden_act", "gelu");
    config.norm_epsilon = fields.read_number("layer_norm_eps", 1e-12);
    return config;
}

void write_encoder(const ModelConfig& config, ConfigSettings& settings) {
    write_sizes(config, settings);
    settings["hidden_act"] = to_string(config.activation);
    settings["hidden_dropout_prob"] = config.dropout;
    settings["attention_probs_dropout_prob"] = config.attention_dropout;
    settings["layer_norm_eps"] = config.norm_epsilon;
}

BlockSizes make_fourfold_mlp_sizes(std::size_t layers, std::size_t width, std::size_t heads) {
    return {.layers = layers, .width = width, .heads = heads, .mlp_width = 4 * width};
}

ModelConfig make_model(const char* name, const BlockSizes& sizes) {
    ModelConfig model;
    model.name = name;
    model.layers = sizes.layers;
    model.width = sizes.width;
    model.heads = sizes.heads;
    model.mlp_width = sizes.mlp_width;
    return model;
}

ModelConfig disable_dropout(ModelConfig model) {
    model.dropout = 0;
    model.attention_dropout = 0;
    return model;
}

}  // namespace trireme::model

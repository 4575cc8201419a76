#include "model/families/settings.hpp"

#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

struct NamedActivation {
    const char* name;
    kernels::ActivationKind kind;
};

// The first name of each kind is written to files.
constexpr NamedActivation activations[] = {
    {"gelu_new", kernels::ActivationKind::gelu_tanh},
    {"gelu_pytorch_tanh", kernels::ActivationKind::gelu_tanh},
    {"gelu", kernels::ActivationKind::gelu},
    {"tanh", kernels::ActivationKind::tanh},
};

}  // namespace

const char* name_of(kernels::ActivationKind kind) {
    for (const NamedActivation& activation : activations) {
        if (activation.kind == kind) return activation.name;
    }
    throw BugError("unknown activation");
}

std::size_t width_in(const ConfigFields& fields, const char* key) {
    if (!fields.is_set(key)) {
        throw ConfigError(cat(fields.place(), ": ", key, " is missing; is it the config.json of a model?"));
    }
    return fields.size(key, 0);
}

kernels::ActivationKind activation_in(const ConfigFields& fields, const char* key, const char* otherwise) {
    const std::string said = fields.word(key, otherwise);
    std::string known;
    for (const NamedActivation& activation : activations) {
        if (said == activation.name) return activation.kind;
        known += cat(known.empty() ? "" : ", ", activation.name);
    }
    fields.refuse(key, cat("Trireme knows ", known));
}

void write_sizes(const ModelConfig& config, ConfigSettings& file) {
    file["num_hidden_layers"] = config.layers;
    file["hidden_size"] = config.width;
    file["num_attention_heads"] = config.heads;
    file["intermediate_size"] = config.mlp_width;
}

void write_text_ends(const ModelConfig& config, std::initializer_list<TextEnds> known, ConfigSettings& file) {
    file["bos_token_id"] = nullptr;
    file["eos_token_id"] = nullptr;
    for (const TextEnds& ends : known) {
        if (ends.vocabulary != config.vocabulary) continue;
        file["bos_token_id"] = ends.begin;
        file["eos_token_id"] = ends.end;
    }
}

ModelConfig read_encoder(const ConfigFields& fields) {
    ModelConfig config;
    config.layers = fields.size("num_hidden_layers", 12);
    config.width = width_in(fields, "hidden_size");
    config.heads = fields.size("num_attention_heads", 12);
    config.mlp_width = fields.size("intermediate_size", 3072);
    config.activation = activation_in(fields, "hidden_act", "gelu");
    config.norm_epsilon = fields.number("layer_norm_eps", 1e-12);
    return config;
}

void write_encoder(const ModelConfig& config, ConfigSettings& file) {
    write_sizes(config, file);
    file["hidden_act"] = name_of(config.activation);
    file["hidden_dropout_prob"] = config.dropout;
    file["attention_probs_dropout_prob"] = config.attention_dropout;
    file["layer_norm_eps"] = config.norm_epsilon;
}

BlockSizes with_fourfold_mlp(std::size_t layers, std::size_t width, std::size_t heads) {
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

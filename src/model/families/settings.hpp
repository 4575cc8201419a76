// Functions that the model families share. Some read or write a config.json, others make the predefined models.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "model/families/config_fields.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {

// Settings to be written to a config.json.
struct ConfigSettings {
    using Json = ConfigFields::Json;

    Json& operator[](const char* key) { return values[key]; }

    Json values = Json::object();
};

// Reads the width of the model. Throws ConfigError if the setting is absent: a default width would hide that
// the file does not describe a model.
std::size_t read_width(const ConfigFields& fields, const char* key);
// Reads the name of an activation. Throws ConfigError for an unknown name; the message lists the known ones.
kernels::ActivationKind read_activation(const ConfigFields& fields, const char* key, const char* default_value);

// Writes the number of blocks, the width, the number of heads and the MLP width, under the keys that all
// families but GPT-2 use.
void write_sizes(const ModelConfig& config, ConfigSettings& settings);

// The tokens before and after each text (begin-of-text and end-of-text), in a vocabulary of size `vocabulary`.
struct BoundaryTokens {
    std::size_t vocabulary;
    std::uint32_t begin, end;
};
// Writes the tokens of the element of `known_tokens` that has the model's vocabulary size. If no element has
// this size, writes null for both tokens. If the settings were absent, the Python library `transformers` would
// use its default tokens, which may be wrong.
void write_boundary_tokens(const ModelConfig& config, std::initializer_list<BoundaryTokens> known_tokens,
                           ConfigSettings& settings);

// Read and write the settings that BERT and ViT share.
ModelConfig read_encoder(const ConfigFields& fields);
void write_encoder(const ModelConfig& config, ConfigSettings& settings);

struct BlockSizes {
    std::size_t layers;  // number of blocks
    std::size_t width;
    std::size_t heads;
    std::size_t mlp_width;
};

// Returns sizes with an MLP width of 4 * width.
BlockSizes make_fourfold_mlp_sizes(std::size_t layers, std::size_t width, std::size_t heads);
// Returns a configuration with the defaults of ModelConfig, except for name and sizes.
ModelConfig make_model(const char* name, const BlockSizes& sizes);
ModelConfig disable_dropout(ModelConfig model);

}  // namespace trireme::model

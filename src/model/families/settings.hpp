// Code that the families share: settings in a config.json, and sizes of named models.
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

// Reads the width of the model. It is required: a file without it is a mistake, which default sizes would hide.
std::size_t width_in(const ConfigFields& fields, const char* key);
kernels::ActivationKind activation_in(const ConfigFields& fields, const char* key, const char* otherwise);

// Writes the sizes whose keys several families share.
void write_sizes(const ModelConfig& config, ConfigSettings& file);

// The tokens before and after each text, in a vocabulary of this size.
struct TextEnds {
    std::size_t vocabulary;
    std::uint32_t begin, end;
};
// Writes the tokens of the known vocabulary with the model's size, or null. Without a value transformers would
// use its defaults, which are other tokens.
void write_text_ends(const ModelConfig& config, std::initializer_list<TextEnds> known, ConfigSettings& file);

// Settings that BERT and ViT share.
ModelConfig read_encoder(const ConfigFields& fields);
void write_encoder(const ModelConfig& config, ConfigSettings& file);

struct BlockSizes {
    std::size_t layers;
    std::size_t width;
    std::size_t heads;
    std::size_t mlp_width;
};

BlockSizes with_fourfold_mlp(std::size_t layers, std::size_t width, std::size_t heads);
ModelConfig make_model(const char* name, const BlockSizes& sizes);
ModelConfig disable_dropout(ModelConfig model);

}  // namespace trireme::model

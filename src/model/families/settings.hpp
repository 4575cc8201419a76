// What the files of the families share: settings in a config.json, and sizes of named models.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "model/families/config_fields.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {

// The settings that go into a config.json.
struct ConfigSettings {
    using Json = ConfigFields::Json;

    Json& operator[](const char* key) { return values[key]; }

    Json values = Json::object();
};

// Reads a size without a default. A file without the width of its model would be read as one of the default
// sizes; it is a mistake.
std::size_t width_in(const ConfigFields& fields, const char* key);
kernels::ActivationKind activation_in(const ConfigFields& fields, const char* key, const char* otherwise);

// Writes the sizes that several families name alike.
void write_sizes(const ModelConfig& config, ConfigSettings& file);

// The tokens before and after each text, in a vocabulary of this size.
struct TextEnds {
    std::size_t vocabulary;
    std::uint32_t begin, end;
};
// Writes the tokens of the known vocabulary that has the model's size, or null: without a value, transformers
// would take its defaults, which are other tokens.
void write_text_ends(const ModelConfig& config, std::initializer_list<TextEnds> known, ConfigSettings& file);

// The settings of BERT, which the ViT took over.
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

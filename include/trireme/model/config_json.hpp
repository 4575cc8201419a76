// Hugging Face's config.json: what it says of a model, and saying it of ours.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trireme/model/config.hpp"

namespace trireme::model {

// `place` names the text in messages. The name of the model is its model_type. Throws ConfigError where the
// text is no JSON, for an architecture that is not one of ours (naming those that are), and for a setting under
// which the model would compute something else than ours does: an unknown activation, a head size of its own,
// biases in a Llama, and so on.
ModelConfig model_from_config_json(std::string_view text, const std::string& place);

// Of a file. Throws ConfigError where it cannot be read.
ModelConfig read_config_json(const std::filesystem::path& file);

// As Hugging Face writes it, so that transformers builds the same model from it; `dtype` is "float32" or such.
// What a `base`, an earlier config.json of the model, says beside that is kept: which tokens end a text, and,
// where the configuration has no names for its labels, those of equally many.
std::string config_json_of(const ModelConfig& config, const std::string& dtype = "float32",
                           const std::string& base = "");

}  // namespace trireme::model

// Reads and writes model configurations in the format of Hugging Face's config.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trireme/model/config.hpp"

namespace trireme::model {

// Parses a config.json; `place` names the text in messages. The model gets its model_type as name. Throws
// ConfigError if the text is not JSON, if the architecture is unknown (the message lists the known ones), or if
// a setting asks for a computation that Trireme does not support: an unknown activation, a separate head size,
// biases in a Llama, and so on.
ModelConfig model_from_config_json(std::string_view text, const std::string& place);

// Parses the config.json in `file`. Throws ConfigError also if the file cannot be read.
ModelConfig read_config_json(const std::filesystem::path& file);

// Returns the text of a config.json from which transformers builds the same model; `dtype` is "float32" or
// similar. `base` is an earlier config.json of the model, or empty. Its other settings are kept: for example
// the tokens that end a text, and label names if `config` has none and the number of labels is equal.
std::string config_json_of(const ModelConfig& config, const std::string& dtype = "float32",
                           const std::string& base = "");

}  // namespace trireme::model

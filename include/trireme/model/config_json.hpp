// Reads and writes model configurations in the format of Hugging Face's config.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trireme/model/config.hpp"

namespace trireme::model {

// Parses the text of a config.json. `source` is the name of the file in messages. ModelConfig::name is the
// model_type. Throws ConfigError if the text is not JSON, if the architecture is unknown (the message lists the
// known ones), or if a setting requires a computation that Trireme does not support, such as an unknown
// activation, heads whose size is not width / heads, or biases in a Llama.
ModelConfig parse_config_json(std::string_view text, const std::string& source);

// Parses the file `file` like parse_config_json(). Throws ConfigError also if the file cannot be read.
ModelConfig read_config_json(const std::filesystem::path& file);

// Returns the text of a config.json from which transformers builds the same model. `dtype` is "float32" or
// similar. `base` is the text of an earlier config.json of the model, or empty. The result has all settings of
// `base` that `config` does not determine: for example end-of-text tokens, and the label names if `config` has
// none and the number of labels is equal.
std::string to_config_json(const ModelConfig& config, const std::string& dtype = "float32",
                           const std::string& base = "");

}  // namespace trireme::model

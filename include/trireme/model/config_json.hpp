// Reads and writes model configurations in the format of Hugging Face's config.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trireme/model/config.hpp"

namespace trireme::model {

// Parses the text of a config.json. `source` is the name of the file in messages. The name of the
// result is the name of its family. Throws ConfigError if the text is not a JSON object, if the architecture is
// unknown (the message lists the known architectures), or if a value is invalid. Throws ConfigError also if a
// setting requires a computation that Trireme does not support, such as an unknown activation or biases in a
// Llama.
ModelConfig parse_config_json(std::string_view text, const std::string& source);

// Reads `file` and parses its text with parse_config_json(). Throws ConfigError also if the file cannot be
// read.
ModelConfig read_config_json(const std::filesystem::path& file);

// Returns the text of a config.json from which transformers builds the same model. `dtype` is the type of the
// stored weights, for example "float32" or "bfloat16". `base` is the text of an earlier config.json of the
// model; `base` is ignored if this text is not a JSON object. The result keeps all settings of `base` that
// `config` does not determine, such as an end-of-text token that Trireme does not know. The result keeps the
// label names of `base` if `config` has no label names and has the same number of labels as `base`.
std::string to_config_json(const ModelConfig& config, const std::string& dtype = "float32",
                           const std::string& base = "");

}  // namespace trireme::model

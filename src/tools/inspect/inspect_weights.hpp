// `trireme inspect` of a stored model.
#pragma once

#include <filesystem>
#include <ostream>

namespace trireme {

// Whether inspect_weights() is who describes it: a folder, or a .safetensors file.
bool may_hold_weights(const std::filesystem::path& path);

// Describes a checkpoint, a folder of Hugging Face's, or a .safetensors file, with or without a config.json
// beside it: the model, and every tensor with type and shape. With `verify`, reads every byte and compares the
// SHA-256s that a checkpoint has. Throws ConfigError where there is none, or it is damaged.
void inspect_weights(const std::filesystem::path& path, bool verify, std::ostream& out);

}  // namespace trireme

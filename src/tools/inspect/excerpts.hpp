// What `trireme inspect` shows of a corpus, of an image and of a stored model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "trireme/data/corpus.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::tools {

// The beginning of a text and its class, a question and its answer, or an image and its class. Nothing where
// there are no rows.
void print_excerpt(const data::Corpus& corpus, std::ostream& out);

// Lines of the same length, at most 32 letters, from ' ' for black to '@' for white; a letter is the mean of
// the pixels and channels that it stands for, and twice as high as wide. `pixels`: (channels, height, width).
std::vector<std::string> sketch(std::span<const std::uint8_t> pixels, const data::ImageSize& size);

// Whether inspect_weights() is who describes it: a folder, or a .safetensors file.
bool may_hold_weights(const std::filesystem::path& path);

// Describes a checkpoint, a folder of Hugging Face's, or a .safetensors file, with or without a config.json
// beside it: the model, and every tensor with type and shape. With `verify`, reads every byte and compares the
// SHA-256s that a checkpoint has. Throws ConfigError where there is none, or it is damaged.
void inspect_weights(const std::filesystem::path& path, bool verify, std::ostream& out);

}  // namespace trireme::tools

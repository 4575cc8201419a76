// Parts of the output of `trireme inspect`: excerpts of a corpus, a sketch of an image, and stored models.
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

// Prints the beginning of a text and its class, a question and its answer, or an image and its class. Prints
// nothing if there are no rows.
void print_excerpt(const data::Corpus& corpus, std::ostream& out);

// Draws an image as lines of equal length, at most 32 characters, from ' ' for black to '@' for white.
// A character shows the mean of its pixels and channels and is twice as high as wide. `pixels`:
// (channels, height, width).
std::vector<std::string> sketch(std::span<const std::uint8_t> pixels, const data::ImageSize& size);

// Returns true for a folder or a .safetensors file, which inspect_weights() describes.
bool may_hold_weights(const std::filesystem::path& path);

// Describes a checkpoint, a Hugging Face folder, or a .safetensors file, with or without a config.json beside
// it: the model, and every tensor with type and shape. With `verify`, reads every byte and checks the SHA-256s
// that a checkpoint records. Throws ConfigError if there is no model, or if it is damaged.
void inspect_weights(const std::filesystem::path& path, bool verify, std::ostream& out);

}  // namespace trireme::tools

// Prints parts of the output of `trireme inspect`: an excerpt of a corpus, a sketch of an image, a stored
// model.
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

// Prints one row of the corpus: the beginning of a text and its class, a question and its answer, or an image
// and its class. Prints nothing if there are no rows.
void print_excerpt(const data::Corpus& corpus, std::ostream& out);

// Draws an image as lines of equal length, with at most 32 characters from ' ' (black) to '@' (white). A
// character shows the mean of its pixels over all channels. A character is twice as high as wide, so the sketch
// has only half of the lines that the aspect ratio suggests. Shape of `pixels`: (channels, height, width).
std::vector<std::string> draw_sketch(std::span<const std::uint8_t> pixels, const data::ImageSize& size);

// Returns true for a folder or a .safetensors file, which inspect_weights() describes.
bool may_hold_weights(const std::filesystem::path& path);

// Describes a checkpoint, a Hugging Face folder, or a .safetensors file: the model, and every tensor with type
// and shape. Without a config.json in the folder of a .safetensors file, the model is unknown and only the
// tensors are listed. With `verify`, reads every byte and checks the SHA-256s that a checkpoint records. Throws
// ConfigError if there is no model, or if it is damaged.
void inspect_weights(const std::filesystem::path& path, bool verify, std::ostream& out);

}  // namespace trireme::tools

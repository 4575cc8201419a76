// Parts of the output of `trireme inspect`: an excerpt of a corpus, a sketch of an image, a stored model.
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

// Prints the middle row of the corpus: a text and its class if it has one, a question with its context and
// answers, or an image and its class. Prints at most 400 bytes of each text. Prints nothing if there are no
// rows.
void print_excerpt(const data::Corpus& corpus, std::ostream& out);

// Draws an image as lines of equal length, each of at most 32 characters from ' ' (black) to '@' (white). A
// character shows the mean over all channels of the pixels that it covers. On a terminal a character is twice
// as high as it is wide, so an image of 32 x 32 pixels becomes 16 lines of 32 characters. Shape of `pixels`:
// (channels, height, width).
std::vector<std::string> draw_sketch(std::span<const std::uint8_t> pixels, const data::ImageSize& size);

// Returns true if `path` is a folder or ends with .safetensors. For such a path inspect() calls
// inspect_weights().
bool may_hold_weights(const std::filesystem::path& path);

// Prints the model at `path`, and the name, type and shape of every tensor. `path` is a path for
// StoredModel::open(), or a .safetensors file in a folder without config.json. For such a file, prints only its
// metadata and tensors. With `verify`, also reads every tensor, and compares each tensor of a checkpoint with
// its recorded SHA-256. Throws ConfigError if there is no model, or if a file is damaged.
void inspect_weights(const std::filesystem::path& path, bool verify, std::ostream& out);

}  // namespace trireme::tools

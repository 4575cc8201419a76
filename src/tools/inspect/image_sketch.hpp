// An image in letters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trireme/data/corpus_info.hpp"

namespace trireme {

// Lines of the same length, at most 32 letters, from ' ' for black to '@' for white; a letter is the mean of
// the pixels and channels that it stands for, and twice as high as wide. `pixels`: (channels, height, width).
std::vector<std::string> sketch(std::span<const std::uint8_t> pixels, const ImageSize& size);

}  // namespace trireme

// An image as the rows of numbers that a vision transformer reads (Dosovitskiy et al. 2021, section 3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trireme/data/corpus_info.hpp"

namespace trireme {

// Squares of `patch` x `patch` pixels in an image. Throws BugError where they do not cover it exactly.
std::size_t count_patches(const ImageSize& image, std::size_t patch);

// Appends the rows (patches, channels * patch * patch) of pixels (channels, height, width): patches row by row
// of the image, within one channel by channel, in these row by row. Byte p becomes p / 127.5 - 1.
void append_patches(std::span<const std::uint8_t> pixels, const ImageSize& image, std::size_t patch,
                    std::vector<float>& rows);

}  // namespace trireme

#include "data/patches.hpp"

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

float brightness(std::uint8_t byte) { return static_cast<float>(byte) / 127.5F - 1.0F; }

// The square whose first pixel is (top, left), of all channels.
void append_patch(std::span<const std::uint8_t> pixels, const ImageSize& image, std::size_t patch,
                  std::size_t top, std::size_t left, std::vector<float>& rows) {
    for (std::size_t channel = 0; channel < image.channels; ++channel)
        for (std::size_t y = top; y < top + patch; ++y) {
            const std::size_t begin = (channel * image.height + y) * image.width + left;
            for (const std::uint8_t byte : pixels.subspan(begin, patch)) rows.push_back(brightness(byte));
        }
}

}  // namespace

std::size_t count_patches(const ImageSize& image, std::size_t patch) {
    if (patch == 0 || image.height % patch != 0 || image.width % patch != 0)
        throw BugError(
            cat("patches of ", patch, " pixels do not cover images of ", image.height, " x ", image.width));
    return (image.height / patch) * (image.width / patch);
}

void append_patches(std::span<const std::uint8_t> pixels, const ImageSize& image, std::size_t patch,
                    std::vector<float>& rows) {
    for (std::size_t top = 0; top < image.height; top += patch)
        for (std::size_t left = 0; left < image.width; left += patch)
            append_patch(pixels, image, patch, top, left, rows);
}

}  // namespace trireme

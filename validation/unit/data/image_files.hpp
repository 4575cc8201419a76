// Small image files in the formats of CIFAR-10 and MNIST.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace trireme::validation {

// Returns one image of CIFAR-10 whose pixels are all `pixel`.
inline std::string cifar_image(int label, int pixel) {
    return static_cast<char>(label) + std::string(3072, static_cast<char>(pixel));
}

inline std::string big_endian(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFF);
    return bytes;
}

// Returns a file of images in IDX format. `count` need not agree with the pixels.
inline std::string idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width,
                              const std::string& pixels) {
    return big_endian(0x803) + big_endian(count) + big_endian(height) + big_endian(width) + pixels;
}
inline std::string idx_labels(std::uint32_t count, const std::string& labels) {
    return big_endian(0x801) + big_endian(count) + labels;
}

}  // namespace trireme::validation

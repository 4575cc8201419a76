#include <gtest/gtest.h>

#include "tools/inspect/excerpts.hpp"

namespace trireme::tools {
namespace {

using Lines = std::vector<std::string>;

TEST(ImageSketch, UsesDenserCharactersForBrighterPixels) {
    const std::vector<std::uint8_t> pixels = {0, 100, 200, 255, 0, 100, 200, 255};

    EXPECT_EQ(draw_sketch(pixels, {1, 2, 4}), Lines{" -#@"});
}

TEST(ImageSketch, AveragesTheChannels) {
    const std::vector<std::uint8_t> pixels = {255, 0, 255, 0, 255, 255};  // (3, 1, 2)

    EXPECT_EQ(draw_sketch(pixels, {3, 1, 2}), Lines{"@-"});
}

TEST(ImageSketch, IsAtMost32CharactersWide) {
    const std::vector<std::uint8_t> pixels(std::size_t{100} * 300, 255);

    const Lines lines = draw_sketch(pixels, {1, 100, 300});

    EXPECT_EQ(lines, Lines(5, std::string(32, '@')));
}

TEST(ImageSketch, ShowsOnePixel) {
    const std::vector<std::uint8_t> pixels = {255};

    EXPECT_EQ(draw_sketch(pixels, {1, 1, 1}), Lines{"@"});
}

}  // namespace
}  // namespace trireme::tools

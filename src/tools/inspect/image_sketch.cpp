#include <algorithm>
#include <string_view>

#include "tools/inspect/excerpts.hpp"

namespace trireme::tools {
namespace {

constexpr std::size_t max_columns = 32;                     // characters per line
constexpr std::string_view grey_characters = " .:-=+*#%@";  // from black to white

// The pixels [begin, end) of a row or column of the image.
struct PixelRange {
    std::size_t begin, end;
};

// Divides `length` pixels into `count` nearly equal ranges and returns range `index`. Each range has at
// least one pixel.
PixelRange select_range(std::size_t length, std::size_t index, std::size_t count) {
    const std::size_t begin = length * index / count;
    return {begin, std::max(begin + 1, length * (index + 1) / count)};
}

}  // namespace

std::vector<std::string> draw_sketch(std::span<const std::uint8_t> pixels, const data::ImageSize& size) {
    const std::size_t columns = std::min(size.width, max_columns);
    const std::size_t lines =
        std::max<std::size_t>(1, std::min(size.height, size.height * columns / size.width / 2));
    const auto compute_mean = [&](PixelRange row_range, PixelRange column_range) {
        std::uint64_t sum = 0;
        for (std::size_t channel = 0; channel < size.channels; ++channel)
            for (std::size_t row = row_range.begin; row < row_range.end; ++row)
                for (std::size_t column = column_range.begin; column < column_range.end; ++column)
                    sum += pixels[(channel * size.height + row) * size.width + column];
        return sum /
               (size.channels * (row_range.end - row_range.begin) * (column_range.end - column_range.begin));
    };
    std::vector<std::string> sketch_lines(lines);
    for (std::size_t line = 0; line < lines; ++line)
        for (std::size_t column = 0; column < columns; ++column)
            sketch_lines[line] += grey_characters[compute_mean(select_range(size.height, line, lines),
                                                               select_range(size.width, column, columns)) *
                                                  grey_characters.size() / 256];
    return sketch_lines;
}

}  // namespace trireme::tools

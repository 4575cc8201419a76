#include <algorithm>
#include <string_view>

#include "tools/inspect/excerpts.hpp"

namespace trireme::tools {
namespace {

constexpr std::size_t most_columns = 32;
constexpr std::string_view greys = " .:-=+*#%@";

struct PixelRange {
    std::size_t begin, end;
};

// Returns range `part` of `parts` equal ranges of `length`; it has at least one element.
PixelRange part_of(std::size_t length, std::size_t part, std::size_t parts) {
    const std::size_t begin = length * part / parts;
    return {begin, std::max(begin + 1, length * (part + 1) / parts)};
}

}  // namespace

std::vector<std::string> sketch(std::span<const std::uint8_t> pixels, const data::ImageSize& size) {
    const std::size_t columns = std::min(size.width, most_columns);
    const std::size_t lines =
        std::max<std::size_t>(1, std::min(size.height, size.height * columns / size.width / 2));
    const auto mean = [&](PixelRange rows, PixelRange places) {
        std::uint64_t sum = 0;
        for (std::size_t channel = 0; channel < size.channels; ++channel)
            for (std::size_t row = rows.begin; row < rows.end; ++row)
                for (std::size_t place = places.begin; place < places.end; ++place)
                    sum += pixels[(channel * size.height + row) * size.width + place];
        return sum / (size.channels * (rows.end - rows.begin) * (places.end - places.begin));
    };
    std::vector<std::string> picture(lines);
    for (std::size_t line = 0; line < lines; ++line)
        for (std::size_t column = 0; column < columns; ++column)
            picture[line] +=
                greys[mean(part_of(size.height, line, lines), part_of(size.width, column, columns)) *
                      greys.size() / 256];
    return picture;
}

}  // namespace trireme::tools

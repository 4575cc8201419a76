#include "trireme/base/number_text.hpp"

#include <fmt/format.h>

namespace trireme {

std::string with_commas(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    }
    return digits;
}

std::string bytes_text(std::uint64_t bytes) {
    const auto number = static_cast<double>(bytes);
    return number < 1e9 ? fmt::format("{:.1f} MB", number * 1e-6) : fmt::format("{:.1f} GB", number * 1e-9);
}

std::string counted(std::uint64_t count, std::string_view noun) {
    std::string text = with_commas(count) + " " + std::string(noun);
    if (count != 1) text += noun.ends_with("ch") ? "es" : "s";
    return text;
}

}  // namespace trireme

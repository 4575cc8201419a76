#include "trireme/archive/quoted.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

std::string in_quotes(std::string_view name) {
    constexpr std::size_t longest = 80;
    std::string text(name.substr(0, longest));
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
    return cat('\'', text, name.size() > longest ? "...'" : "'");
}

}  // namespace trireme

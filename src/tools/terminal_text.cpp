#include "tools/terminal_text.hpp"

#include <algorithm>
#include <utility>

namespace trireme {
namespace {

bool disturbs(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::string for_terminal(std::string text, std::size_t limit) {
    if (text.size() > limit) {
        std::size_t end = limit;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
        text = text.substr(0, end) + " ...";
    }
    for (char& c : text)
        if (disturbs(c) && c != '\n' && c != '\t') c = '.';
    return text;
}

std::string line_for_terminal(std::string text, std::size_t limit) {
    text = for_terminal(std::move(text), limit);
    std::replace_if(text.begin(), text.end(), disturbs, '.');
    return text;
}

}  // namespace trireme

#include "tools/printed_text.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

namespace trireme::tools {
namespace {

bool disturbs(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

void print_fact(std::ostream& out, const std::string& name, const std::string& value) {
    constexpr std::size_t column = 12;
    constexpr std::size_t longest_value = 2000;
    const std::string shown = line_for_terminal(name);
    out << "  " << shown << std::string(shown.size() < column ? column - shown.size() : 1, ' ')
        << line_for_terminal(value, longest_value) << '\n';
}

std::string one_decimal(double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << value;
    return text.str();
}

std::string in_megabytes(double bytes) { return one_decimal(bytes / 1e6) + " MB"; }

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

}  // namespace trireme::tools

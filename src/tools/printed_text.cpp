#include "tools/printed_text.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

namespace trireme::tools {
namespace {

bool is_control_character(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

void print_fact(std::ostream& out, const std::string& name, const std::string& value) {
    constexpr std::size_t name_width = 12;
    constexpr std::size_t max_value_bytes = 2000;
    const std::string label = sanitise_line(name);
    out << "  " << label << std::string(label.size() < name_width ? name_width - label.size() : 1, ' ')
        << sanitise_line(value, max_value_bytes) << '\n';
}

std::string format_one_decimal(double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << value;
    return text.str();
}

std::string format_megabytes(double bytes) { return format_one_decimal(bytes / 1e6) + " MB"; }

std::string sanitise_for_terminal(std::string text, std::size_t limit) {
    if (text.size() > limit) {
        std::size_t end = limit;
        // Moves `end` back to the first byte of a UTF-8 character. Its later bytes have the bits 10xxxxxx.
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
        text = text.substr(0, end) + " ...";
    }
    for (char& c : text)
        if (is_control_character(c) && c != '\n' && c != '\t') c = '.';
    return text;
}

std::string sanitise_line(std::string text, std::size_t limit) {
    text = sanitise_for_terminal(std::move(text), limit);
    std::replace_if(text.begin(), text.end(), is_control_character, '.');
    return text;
}

}  // namespace trireme::tools

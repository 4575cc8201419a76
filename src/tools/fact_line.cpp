#include "tools/fact_line.hpp"

#include "tools/terminal_text.hpp"

namespace trireme {

void print_fact(std::ostream& out, const std::string& name, const std::string& value) {
    constexpr std::size_t column = 12;
    constexpr std::size_t longest_value = 2000;
    const std::string shown = line_for_terminal(name);
    out << "  " << shown << std::string(shown.size() < column ? column - shown.size() : 1, ' ')
        << line_for_terminal(value, longest_value) << '\n';
}

}  // namespace trireme

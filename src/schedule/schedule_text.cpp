#include "trireme/schedule/schedule_text.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Takes from `text` what stands before the next `mark`, and the mark.
std::string_view cut(std::string_view& text, char mark) {
    const std::size_t end = std::min(text.find(mark), text.size());
    const std::string_view before = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return before;
}

Program program_from_line(std::string_view line, const std::string& place) {
    Program program;
    for (int number = 1; !line.empty(); ++number) {
        const std::string_view cell = trimmed(cut(line, ','));
        if (!cell.empty()) program.push_back(parse_instruction(cell, cat(place, ", cell ", number)));
    }
    return program;
}

}  // namespace

std::vector<Program> programs_from_csv(std::string_view text, const std::string& place) {
    std::vector<Program> programs;
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = trimmed(cut(text, '\n'));
        if (line.empty() || line.front() == '#') continue;
        programs.push_back(program_from_line(line, cat("line ", number, " of ", place)));
    }
    if (programs.empty()) {
        throw ConfigError(
            cat(place, " holds no program; write one line for each team, such as 0F0,0F1,0B0,0B1"));
    }
    return programs;
}

std::string csv_of(const std::vector<Program>& programs) {
    std::string text;
    for (const Program& program : programs) {
        for (std::size_t i = 0; i < program.size(); ++i) text += (i == 0 ? "" : ",") + text_of(program[i]);
        // Two empty cells: a blank line would be skipped, and the teams behind it would move up.
        if (program.empty()) text += ',';
        text += '\n';
    }
    return text;
}

}  // namespace trireme

// Programs as tests write them: one line per team, instructions separated by spaces.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::schedule {

inline Program program_of(const std::string& line) {
    Program program;
    std::istringstream words(line);
    for (std::string word; words >> word;) program.push_back(parse_instruction(word, "this test"));
    return program;
}

inline std::vector<Program> programs_of(const std::vector<std::string>& lines) {
    std::vector<Program> programs;
    for (const std::string& line : lines) programs.push_back(program_of(line));
    return programs;
}

inline std::vector<Program> programs_of(std::initializer_list<const char*> lines) {
    return programs_of(std::vector<std::string>(lines.begin(), lines.end()));
}

inline std::vector<std::string> texts_of(const std::vector<Program>& programs) {
    std::vector<std::string> texts;
    for (const Program& program : programs) texts.push_back(to_string(program));
    return texts;
}

}  // namespace trireme::schedule

// Programs as tests write them: one line for each team, instructions separated by spaces.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"

namespace trireme {

inline std::vector<Program> programs_of(std::initializer_list<const char*> lines) {
    std::vector<Program> programs;
    for (const char* line : lines) {
        Program& program = programs.emplace_back();
        std::istringstream words(line);
        for (std::string word; words >> word;) program.push_back(parse_instruction(word, "this test"));
    }
    return programs;
}

}  // namespace trireme

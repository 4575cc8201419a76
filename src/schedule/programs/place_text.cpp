#include "schedule/programs/place_text.hpp"

#include "trireme/base/error.hpp"

namespace trireme {

std::string ordinal(std::size_t number) {
    const bool is_teen = number / 10 % 10 == 1;
    const char* const endings[] = {"th", "st", "nd", "rd"};
    const std::size_t last = number % 10;
    return cat(number, endings[is_teen || last > 3 ? 0 : last]);
}

std::string place_of(const std::vector<Program>& programs, int team, std::size_t position) {
    const Instruction& instruction = programs[static_cast<std::size_t>(team)][position];
    return cat(text_of(instruction), ", the ", ordinal(position + 1), " instruction of team ", team);
}

}  // namespace trireme

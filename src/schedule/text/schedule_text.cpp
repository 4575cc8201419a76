#include "trireme/schedule/schedule_text.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

std::string_view trim(std::string_view text) {
    constexpr std::string_view blank_characters = " \t\r";
    const std::size_t begin = text.find_first_not_of(blank_characters);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blank_characters) - begin + 1);
}

// Removes the beginning of `text` up to and including the next `mark`, and returns the removed text without the
// mark. If `text` has no such mark, takes the whole text.
std::string_view take_until(std::string_view& text, char mark) {
    const std::size_t end = std::min(text.find(mark), text.size());
    const std::string_view taken_text = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken_text;
}

constexpr std::string_view body_mark = "BODY";

// The instructions of one line, before and after the cell BODY. In a line without the cell BODY, all
// instructions belong to the body.
struct ProgramLine {
    Program prologue;
    Program body;
};

// Maps the text of each compute instruction, send and receive in a prologue or a body to the number of its
// cell, counted from 1.
using CellNumbers = std::unordered_map<std::string, int>;

// Adds the instruction to `cell_numbers`. Throws ConfigError if the instruction is there already, with the same
// or another age: 2F0 and 2F0@1 are the same work. REDUCE, STEP and VALIDATE name no micro-batch, so that a
// prologue of several steps contains them several times; for them, this function does nothing.
// verify_programs() would find repeated instructions, too, but only after lower(). For a file with many equal
// cells, lower() takes minutes.
void require_first_use(Instruction instruction, int cell_number, CellNumbers& cell_numbers,
                       const std::string& location) {
    if (!has_microbatch(instruction.op)) return;
    instruction.age = 0;
    const auto [first_use, is_new] = cell_numbers.emplace(to_string(instruction), cell_number);
    if (!is_new)
        throw ConfigError(cat(location, ": ", first_use->first, " is in cell ", first_use->second,
                              " already; keep one of them"));
}

ProgramLine parse_line(std::string_view line, const std::string& location) {
    ProgramLine parsed_line;
    CellNumbers cell_numbers;
    bool has_body_mark = false;
    for (int cell_number = 1; !line.empty(); ++cell_number) {
        const std::string_view cell = trim(take_until(line, ','));
        if (cell == body_mark) {
            if (has_body_mark)
                throw ConfigError(cat(location, ", cell ", cell_number, ": the line already has a cell ",
                                      body_mark, "; keep one of them"));
            has_body_mark = true;
            parsed_line.prologue = std::exchange(parsed_line.body, {});
            cell_numbers.clear();
        } else if (!cell.empty()) {
            const std::string cell_location = cat(location, ", cell ", cell_number);
            parsed_line.body.push_back(parse_instruction(cell, cell_location));
            require_first_use(parsed_line.body.back(), cell_number, cell_numbers, cell_location);
        }
    }
    return parsed_line;
}

std::string format_cells(const Program& program) {
    std::string text;
    for (std::size_t i = 0; i < program.size(); ++i) text += (i == 0 ? "" : ",") + to_string(program[i]);
    return text;
}

}  // namespace

Phases parse_phases_csv(std::string_view text, const std::string& location) {
    Phases phases;
    for (int line_number = 1; !text.empty(); ++line_number) {
        const std::string_view line = trim(take_until(text, '\n'));
        if (line.empty() || line.front() == '#') continue;
        ProgramLine parsed_line = parse_line(line, cat("line ", line_number, " of ", location));
        phases.prologue.push_back(std::move(parsed_line.prologue));
        phases.body.push_back(std::move(parsed_line.body));
    }
    if (phases.body.empty()) {
        throw ConfigError(
            cat(location, " holds no program; write one line for each team, such as 0F0,0F1,0B0,0B1"));
    }
    return phases;
}

std::string to_csv(const Phases& phases) {
    std::string text;
    for (std::size_t team = 0; team < phases.body.size(); ++team) {
        const Program& prologue = phases.prologue[team];
        if (!prologue.empty()) text += cat(format_cells(prologue), ",", body_mark, ",");
        // An empty body becomes two empty cells: parse_phases_csv() would skip a blank line, and assign the
        // lines after it to the wrong teams.
        text += format_cells(phases.body[team]) + (phases.body[team].empty() ? ",\n" : "\n");
    }
    return text;
}

std::string to_csv(const std::vector<Program>& programs) {
    return to_csv(Phases{.prologue = std::vector<Program>(programs.size()), .body = programs});
}

}  // namespace trireme::schedule

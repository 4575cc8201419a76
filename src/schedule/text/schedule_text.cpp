#include "trireme/schedule/schedule_text.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Removes the text before the next `mark` and the mark from `text`, and returns the former.
std::string_view cut(std::string_view& text, char mark) {
    const std::size_t end = std::min(text.find(mark), text.size());
    const std::string_view before = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return before;
}

constexpr std::string_view body_mark = "BODY";

// The cells of one line, before and after the mark. Without a mark all belong to the body.
struct Line {
    Program prologue;
    Program body;
};

// The compute instructions and messages of a body or a prologue, with the numbers of their cells.
using CellNumbers = std::unordered_map<std::string, int>;

// Rejects repeated work. The check of whole programs would find it, too, but lowers them first, which takes
// minutes for a file of many equal cells. REDUCE, STEP and VALIDATE may occur several times before the first
// step.
void require_new(Instruction work, int number, CellNumbers& known, const std::string& place) {
    if (!has_microbatch(work.op)) return;
    work.age = 0;
    const auto [first, is_new] = known.emplace(to_string(work), number);
    if (!is_new)
        throw ConfigError(
            cat(place, ": ", first->first, " is in cell ", first->second, " already; keep one of them"));
}

Line read_line(std::string_view line, const std::string& place) {
    Line cells;
    CellNumbers known;
    bool has_mark = false;
    for (int number = 1; !line.empty(); ++number) {
        const std::string_view cell = trimmed(cut(line, ','));
        if (cell == body_mark) {
            if (has_mark)
                throw ConfigError(cat(place, ", cell ", number, ": there is one ", body_mark, " already"));
            has_mark = true;
            cells.prologue = std::exchange(cells.body, {});
            known.clear();
        } else if (!cell.empty()) {
            const std::string cell_place = cat(place, ", cell ", number);
            cells.body.push_back(parse_instruction(cell, cell_place));
            require_new(cells.body.back(), number, known, cell_place);
        }
    }
    return cells;
}

std::string cells_of(const Program& program) {
    std::string text;
    for (std::size_t i = 0; i < program.size(); ++i) text += (i == 0 ? "" : ",") + to_string(program[i]);
    return text;
}

}  // namespace

Phases phases_from_csv(std::string_view text, const std::string& place) {
    Phases phases;
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = trimmed(cut(text, '\n'));
        if (line.empty() || line.front() == '#') continue;
        Line cells = read_line(line, cat("line ", number, " of ", place));
        phases.prologue.push_back(std::move(cells.prologue));
        phases.body.push_back(std::move(cells.body));
    }
    if (phases.body.empty()) {
        throw ConfigError(
            cat(place, " holds no program; write one line for each team, such as 0F0,0F1,0B0,0B1"));
    }
    return phases;
}

std::string csv_of(const Phases& phases) {
    std::string text;
    for (std::size_t team = 0; team < phases.body.size(); ++team) {
        const Program& prologue = phases.prologue[team];
        if (!prologue.empty()) text += cat(cells_of(prologue), ",", body_mark, ",");
        // An empty program becomes two empty cells: a blank line would be skipped, and later teams would move
        // up.
        text += cells_of(phases.body[team]) + (phases.body[team].empty() ? ",\n" : "\n");
    }
    return text;
}

std::string csv_of(const std::vector<Program>& programs) {
    return csv_of(Phases{.prologue = std::vector<Program>(programs.size()), .body = programs});
}

}  // namespace trireme::schedule

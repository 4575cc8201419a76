#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::schedule {
namespace {

struct Cell {
    double begin = 0;  // in units, a whole number
    double end = 0;
    std::string label;
};

using Row = std::vector<Cell>;

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

template <class Use>
void for_each_length(const Prediction& prediction, Use&& use) {
    for (const std::vector<Span>& spans : prediction.spans) {
        for (const Span& span : spans) {
            if (is_compute(span.instruction.op)) use(span.end - span.begin);
        }
    }
}

// Returns the duration of the shortest compute instruction that takes at least 1 / 16 of the longest one.
double unit_of(const Prediction& prediction) {
    constexpr double shortest_part = 1.0 / 16;
    double longest = 0;
    for_each_length(prediction, [&](double length) { longest = std::max(longest, length); });
    double unit = longest;
    for_each_length(prediction, [&](double length) {
        if (length >= shortest_part * longest) unit = std::min(unit, length);
    });
    return unit > 0 ? unit : 1;
}

bool is_one_stage_each(const Prediction& prediction) {
    return std::all_of(prediction.spans.begin(), prediction.spans.end(), [](const std::vector<Span>& spans) {
        return std::all_of(spans.begin(), spans.end(), [&](const Span& span) {
            return span.instruction.stage == spans.front().instruction.stage;
        });
    });
}

// Makes cells that do not overlap and are at least one unit wide, even for instructions that take no time.
Row row_of(const std::vector<Span>& spans, double unit, bool names_stage) {
    Row row;
    double free_from = 0;
    for (const Span& span : spans) {
        if (!is_compute(span.instruction.op)) continue;
        const std::string text = to_string(span.instruction);
        Cell cell{.begin = std::max(free_from, std::round(span.begin / unit)),
                  .end = std::round(span.end / unit),
                  .label = names_stage ? text : text.substr(text.find_first_not_of("0123456789"))};
        cell.end = std::max(cell.end, cell.begin + 1);
        free_from = cell.end;
        row.push_back(cell);
    }
    return row;
}

std::string line_of(const Row& row, double columns, std::size_t cell_width) {
    std::string line;
    const auto put = [&](double column, const std::string& text) {
        if (column >= columns) return;
        line = padded(line, static_cast<std::size_t>(column) * cell_width) + padded(text, cell_width);
    };
    for (const Cell& cell : row) {
        put(cell.begin, cell.label);
        for (double column = cell.begin + 1; column < std::min(cell.end, columns); ++column) put(column, "..");
    }
    return line;
}

std::string without_trailing_blanks(const std::string& line) {
    return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string grid_of(const Prediction& prediction, std::size_t most_columns) {
    const double unit = unit_of(prediction);
    const bool names_stage = !is_one_stage_each(prediction);
    std::vector<Row> rows;
    double columns = 0;
    std::size_t cell_width = 3;  // a label or "..", and a blank
    for (const std::vector<Span>& spans : prediction.spans) {
        const Row& row = rows.emplace_back(row_of(spans, unit, names_stage));
        for (const Cell& cell : row) cell_width = std::max(cell_width, cell.label.size() + 1);
        if (!row.empty()) columns = std::max(columns, row.back().end);
    }
    const std::size_t label_width = cat("team ", rows.size() - 1).size() + 3;
    const std::string cut_mark = "...";
    const std::size_t taken = label_width + cut_mark.size();
    const std::size_t room = most_columns > taken ? (most_columns - taken) / cell_width : 0;
    const double shown = std::min(columns, static_cast<double>(room));

    std::string grid;
    for (std::size_t team = 0; team < rows.size(); ++team) {
        std::string line = padded(cat("team ", team), label_width) + line_of(rows[team], shown, cell_width);
        if (shown < columns) line = padded(line, label_width + room * cell_width) + cut_mark;
        grid += without_trailing_blanks(line) + '\n';
    }
    if (shown < columns) {
        grid += cat("(the first ", shown, " of ", columns, " units of time; a wider grid shows more)\n");
    }
    return grid;
}

}  // namespace trireme::schedule

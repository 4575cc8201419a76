#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme::schedule {
namespace {

// The columns of one compute instruction. A column is one unit of time wide. Columns are numbered from 0.
struct GridCell {
    double begin = 0;   // first column
    double end = 0;     // column after the last one
    std::string label;  // written into the first column
};

using GridLine = std::vector<GridCell>;  // the cells of one team

std::string pad_right(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

template <class Function>
void for_each_compute_duration(const Prediction& prediction, Function&& visit) {
    for (const std::vector<Span>& spans : prediction.spans) {
        for (const Span& span : spans) {
            if (is_compute(span.instruction.op)) visit(span.end - span.begin);
        }
    }
}

// Returns the duration of the shortest compute instruction that takes at least 1 / 16 of the longest one.
// Returns 1 if no compute instruction takes time.
double choose_unit(const Prediction& prediction) {
    constexpr double min_fraction = 1.0 / 16;
    double longest = 0;
    for_each_compute_duration(prediction, [&](double duration) { longest = std::max(longest, duration); });
    double unit = longest;
    for_each_compute_duration(prediction, [&](double duration) {
        if (duration >= min_fraction * longest) unit = std::min(unit, duration);
    });
    return unit > 0 ? unit : 1;
}

bool has_one_stage_per_team(const Prediction& prediction) {
    return std::all_of(prediction.spans.begin(), prediction.spans.end(), [](const std::vector<Span>& spans) {
        return std::all_of(spans.begin(), spans.end(), [&](const Span& span) {
            return span.instruction.stage == spans.front().instruction.stage;
        });
    });
}

// Returns the cells of a team. The cells do not overlap and are at least one column wide, even for instructions
// that take no time.
GridLine make_grid_line(const std::vector<Span>& spans, double unit, bool shows_stage) {
    GridLine grid_line;
    double next_column = 0;
    for (const Span& span : spans) {
        if (!is_compute(span.instruction.op)) continue;
        const std::string text = to_string(span.instruction);  // begins with the stage number
        GridCell cell{.begin = std::max(next_column, std::round(span.begin / unit)),
                      .end = std::round(span.end / unit),
                      .label = shows_stage ? text : text.substr(text.find_first_not_of("0123456789"))};
        cell.end = std::max(cell.end, cell.begin + 1);
        next_column = cell.end;
        grid_line.push_back(cell);
    }
    return grid_line;
}

// Returns the first `visible_columns` columns of a team, each `column_width` characters wide.
std::string format_line(const GridLine& grid_line, double visible_columns, std::size_t column_width) {
    std::string line;
    const auto write_at = [&](double column, const std::string& text) {
        if (column >= visible_columns) return;
        line = pad_right(line, static_cast<std::size_t>(column) * column_width) + pad_right(text, column_width);
    };
    for (const GridCell& cell : grid_line) {
        write_at(cell.begin, cell.label);
        for (double column = cell.begin + 1; column < std::min(cell.end, visible_columns); ++column)
            write_at(column, "..");
    }
    return line;
}

std::string trim_right(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

}  // namespace

std::string draw_grid(const Prediction& prediction, std::size_t max_width) {
    const double unit = choose_unit(prediction);
    const bool shows_stage = !has_one_stage_per_team(prediction);
    std::vector<GridLine> grid_lines;
    double columns = 0;
    std::size_t column_width = 3;  // characters: the longest label or "..", and a space
    for (const std::vector<Span>& spans : prediction.spans) {
        const GridLine& grid_line = grid_lines.emplace_back(make_grid_line(spans, unit, shows_stage));
        for (const GridCell& cell : grid_line) column_width = std::max(column_width, cell.label.size() + 1);
        if (!grid_line.empty()) columns = std::max(columns, grid_line.back().end);
    }
    const std::size_t team_label_width = cat("team ", grid_lines.size() - 1).size() + 3;
    const std::string cut_mark = "...";
    const std::size_t reserved_width = team_label_width + cut_mark.size();
    const std::size_t max_visible_columns =
        max_width > reserved_width ? (max_width - reserved_width) / column_width : 0;
    const double visible_columns = std::min(columns, static_cast<double>(max_visible_columns));

    std::string grid;
    for (std::size_t team = 0; team < grid_lines.size(); ++team) {
        std::string line = pad_right(cat("team ", team), team_label_width) +
                           format_line(grid_lines[team], visible_columns, column_width);
        if (visible_columns < columns)
            line = pad_right(line, team_label_width + max_visible_columns * column_width) + cut_mark;
        grid += trim_right(line) + '\n';
    }
    if (visible_columns < columns) {
        grid +=
            cat("(the first ", visible_columns, " of ", columns, " units of time; a wider grid shows more)\n");
    }
    return grid;
}

}  // namespace trireme::schedule

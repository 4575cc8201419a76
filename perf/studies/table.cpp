#include "table.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "chart.hpp"
#include "trireme/base/error.hpp"

namespace trireme::studies {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Returns a figure of summary.json or a saved fraction; null if the row has none.
Json get_figure(const Row& row, const std::string& figure) {
    const auto found = row.figures.find(figure);
    return found == row.figures.end() ? Json() : found->second;
}

// Returns the names of the figures that are columns of the table, including the saved fractions.
std::vector<std::string> figures_of(const Study& study) {
    std::vector<std::string> figures = study.figures;
    if (!study.beside) return figures;
    for (const auto& [name, figure] : study.beside->saved) figures.push_back(name);
    return figures;
}

// Quotes a text for CSV if it contains a comma, a quote or a line feed.
std::string cell(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

// Returns the names of the options that are columns of the table.
std::vector<std::string> columns_of(const std::vector<Point>& points) {
    std::set<std::string> names;
    for (const Point& point : points) {
        for (const auto& [option, value] : point.own) names.insert(option);
    }
    return {names.begin(), names.end()};
}

std::string to_csv(const Study& study, const std::vector<std::string>& columns,
                   const std::vector<TableRow>& rows) {
    const std::vector<std::string> figures = figures_of(study);
    std::string csv = cat("# command: perf/study ", study.file, "\n");
    for (const std::string& column : columns) csv += cell(column) + ",";
    for (const std::string& figure : figures) csv += cell(figure) + ",";
    csv += "clock,program,failure\n";
    for (const auto& [point, row] : rows) {
        for (const std::string& column : columns) {
            const auto value = point->own.find(column);
            csv += (value == point->own.end() ? "" : cell(value->second)) + ",";
        }
        for (const std::string& figure : figures) {
            const Json value = get_figure(row, figure);
            csv += (value.is_null() ? "" : value.is_string() ? cell(value) : value.dump()) + ",";
        }
        for (const char* const figure : {"clock", "program"}) {
            const Json value = get_figure(row, figure);
            csv += (value.is_string() ? cell(value) : "") + ",";
        }
        csv += cell(row.failure) + "\n";
    }
    return csv;
}

double parse_number(const std::string& option, const std::string& text) {
    double value = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && last == text.data() + text.size() && value > 0) return value;
    throw ConfigError(
        cat("a chart over ", option, " needs numbers above 0, but one value of ", option, " is ", text));
}

std::string chart_of(const ChartSpec& chart, const std::vector<TableRow>& rows) {
    Lines lines;
    std::set<std::string> clocks;
    for (const auto& [point, row] : rows) {
        const Json y = get_figure(row, chart.y);
        const auto x = point->all.find(chart.x);
        if (!y.is_number() || x == point->all.end()) continue;
        std::string line;
        for (const std::string& option : chart.lines) {
            const auto value = point->all.find(option);
            if (value != point->all.end()) line += (line.empty() ? "" : ", ") + value->second;
        }
        lines[line].emplace_back(parse_number(chart.x, x->second), y.get<double>());
        clocks.insert(get_figure(row, "clock").get<std::string>());
    }
    std::string title = chart.title;
    for (const std::string& clock : clocks) title += cat(" (", clock, ")");
    return draw_svg(title, chart.x, chart.y, lines);
}

// Returns the file name of a chart: weak-mfu.svg for "mfu" of the study "weak".
fs::path path_of(const ChartSpec& chart, const std::string& study) {
    std::string name = cat(study, "-", chart.y, ".svg");
    std::ranges::replace(name, '/', '-');
    return name;
}

}  // namespace

void write_table(const Study& study, const std::vector<Point>& points, const std::vector<TableRow>& rows,
                 const fs::path& output) {
    write_text(output / (study.name + ".csv"), to_csv(study, columns_of(points), rows));
    for (const ChartSpec& chart : study.charts)
        write_text(output / path_of(chart, study.name), chart_of(chart, rows));
}

}  // namespace trireme::studies

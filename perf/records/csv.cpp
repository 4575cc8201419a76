#include "records/csv.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "trireme/base/error.hpp"

namespace trireme::perf {
namespace {

// Splits a line into cells. Quoted cells may contain commas; two quotes stand for one.
std::vector<std::string> split_cells(const std::string& line) {
    std::vector<std::string> cells(1);
    bool is_quoted = false;
    for (std::size_t at = 0; at < line.size(); ++at) {
        const char c = line[at];
        if (c == '"' && is_quoted && at + 1 < line.size() && line[at + 1] == '"') {
            cells.back() += line[++at];
        } else if (c == '"') {
            is_quoted = !is_quoted;
        } else if (c == ',' && !is_quoted) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

}  // namespace

bool CsvTable::has_column(const std::string& name) const {
    return std::ranges::find(columns, name) != columns.end();
}

const std::string& CsvTable::cell(const std::vector<std::string>& row, const std::string& column) const {
    const auto found = std::ranges::find(columns, column);
    if (found == columns.end()) throw ConfigError(cat("the CSV file has no column ", column));
    return row[static_cast<std::size_t>(found - columns.begin())];
}

std::string read_text(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw ConfigError(cat(path.string(), " cannot be read"));
    return text.str();
}

CsvTable read_csv(const std::filesystem::path& path) {
    std::istringstream lines(read_text(path));
    CsvTable table;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) {
            table.comments.push_back(line);
        } else if (table.columns.empty()) {
            table.columns = split_cells(line);
        } else {
            table.rows.push_back(split_cells(line));
            if (table.rows.back().size() != table.columns.size())
                throw ConfigError(cat(path.string(), " has a row whose number of cells is ",
                                      table.rows.back().size(), " instead of ", table.columns.size(), ": ",
                                      line));
        }
    }
    return table;
}

double number_in(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        throw ConfigError(cat("\"", text, "\" is not a number"));
    return value;
}

}  // namespace trireme::perf

#include "records/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "records/csv.hpp"
#include "records/stragglers.hpp"
#include "trireme/base/error.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;

constexpr const char* opening = "<!-- table ";
constexpr const char* closing = "<!-- end of table -->";

// Formats a number as "1,024".
std::string format_with_commas(long long number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
    return text;
}

// Returns the distinct values in the order of their first occurrence.
std::vector<std::string> values_of(const CsvTable& table, const std::string& column) {
    std::vector<std::string> values;
    for (const auto& row : table.rows) {
        const std::string& value = table.cell(row, column);
        if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
    return values;
}

// Formats tokens per second, MFU, measured and minimum bubble, and exposed communication; "-" for a run that
// failed.
std::string scaling_cell(const CsvTable& table, const std::vector<std::string>& row) {
    const auto has = [&](const char* column) { return !table.cell(row, column).empty(); };
    if (!has("tokens_per_s")) return "-";
    const auto figure = [&](const char* column) { return number_in(table.cell(row, column)); };
    return fmt::format("{}k, {:.1f} %, {:.0f} / {:.0f} %, {:.0f} %",
                       format_with_commas(std::llround(figure("tokens_per_s") / 1000)), 100 * figure("mfu"),
                       100 * figure("bubble/measured"), 100 * figure("bubble/limit"),
                       100 * figure("exposed_comm"));
}

// One row per schedule, one column per number of ranks.
std::string scaling_table(const fs::path& file) {
    const CsvTable table = read_csv(file);
    const std::vector<std::string> ranks = values_of(table, "ranks");
    std::string text = "|  |";
    for (const std::string& count : ranks) text += cat(" ", format_with_commas(std::stoll(count)), " ranks |");
    text += "\n|---|";
    for (std::size_t i = 0; i < ranks.size(); ++i) text += "---|";
    for (const std::string& schedule : values_of(table, "schedule")) {
        text += cat("\n| ", schedule, " |");
        for (const std::string& count : ranks) {
            std::string cell = "-";
            for (const auto& row : table.rows)
                if (table.cell(row, "schedule") == schedule && table.cell(row, "ranks") == count)
                    cell = scaling_cell(table, row);
            text += cat(" ", cell, " |");
        }
    }
    return text + "\n";
}

std::string table_of(const std::string& kind, const fs::path& source) {
    static const std::map<std::string, std::function<std::string(const fs::path&)>> kinds{
        {"scaling", scaling_table},
        {"stragglers", stragglers_table},
        {"half-stragglers", half_stragglers_table}};
    const auto found = kinds.find(kind);
    if (found == kinds.end())
        throw ConfigError(
            cat("there is no table \"", kind, "\"; the tables are scaling, stragglers and half-stragglers"));
    return found->second(source);
}

}  // namespace

std::string update_tables(const std::string& document, const fs::path& records) {
    std::istringstream lines(document);
    std::string text;
    bool is_in_table = false;
    for (std::string line; std::getline(lines, line);) {
        if (line == closing) is_in_table = false;
        if (!is_in_table) text += line + "\n";
        if (!line.starts_with(opening)) continue;
        std::istringstream words(line.substr(std::string(opening).size()));
        std::string kind, source;
        words >> kind >> source;
        text += table_of(kind, records / source);
        is_in_table = true;
    }
    if (is_in_table) throw ConfigError(cat("a table does not end with ", closing));
    return text;
}

}  // namespace trireme::perf

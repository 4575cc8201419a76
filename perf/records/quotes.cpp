#include "records/quotes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

#include "records/csv.hpp"
#include "trireme/base/error.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;
using Value = std::variant<double, std::string>;

constexpr const char* opening = "<!-- figures\n";
constexpr const char* closing = "-->";

// The lines of a comment, and the text that it refers to.
struct Block {
    std::string text;
    std::vector<std::string> lines;
};

std::vector<std::string> parted(const std::string& text, const std::string& by) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t at = text.find(by); at != std::string::npos; at = text.find(by, begin)) {
        parts.push_back(text.substr(begin, at - begin));
        begin = at + by.size();
    }
    parts.push_back(text.substr(begin));
    return parts;
}

// Replaces line breaks and runs of blanks by one blank.
std::string join_lines(const std::string& text) {
    std::istringstream in(text);
    std::string line;
    for (std::string word; in >> word;) line += (line.empty() ? "" : " ") + word;
    return line;
}

std::vector<Block> parse_blocks(const std::string& document) {
    std::vector<Block> blocks;
    std::size_t begin = 0;
    for (std::size_t at = document.find(opening); at != std::string::npos; at = document.find(opening, begin)) {
        const std::size_t end = document.find(closing, at);
        if (end == std::string::npos) throw ConfigError("a comment <!-- figures does not end with -->");
        Block block{.text = join_lines(document.substr(begin, at - begin)), .lines = {}};
        for (const std::string& line : parted(document.substr(at, end - at), "\n"))
            if (line.find(" = ") != std::string::npos) block.lines.push_back(line);
        blocks.push_back(std::move(block));
        begin = end;
    }
    return blocks;
}

Value read_json_value(const fs::path& file, const std::string& pointer) {
    const auto json = nlohmann::json::parse(read_text(file));
    const nlohmann::json::json_pointer place(pointer);
    if (!json.contains(place)) throw ConfigError(cat(file.string(), " has no value at ", pointer));
    const auto& value = json.at(place);
    if (value.is_string()) return value.get<std::string>();
    return value.get<double>();
}

// True if the row has the selected cell. "schedule=zb-h1" compares the whole cell of a column,
// "case~precision=f64" searches within it.
bool is_selected(const CsvTable& table, const std::vector<std::string>& row, const std::string& word) {
    const std::size_t sign = word.find_first_of("=~");
    if (sign == std::string::npos)
        throw ConfigError(cat("\"", word, "\" does not select rows; write COLUMN=VALUE or COLUMN~TEXT"));
    const std::string& cell = table.cell(row, word.substr(0, sign));
    const std::string value = word.substr(sign + 1);
    return word[sign] == '=' ? cell == value : cell.find(value) != std::string::npos;
}

// Reads the value that the words after the file name select: a column, and cells that select one row. A leading
// "max" takes the largest value of several rows. An underscore in the column name stands for a blank.
Value read_csv_value(const fs::path& file, std::vector<std::string> words) {
    const bool is_largest = words.front() == "max";
    if (is_largest) words.erase(words.begin());
    if (words.empty()) throw ConfigError("no column follows the word max");
    const CsvTable table = read_csv(file);
    std::string column = words.front();
    if (!table.has_column(column)) std::ranges::replace(column, '_', ' ');
    std::vector<double> found;
    for (const auto& row : table.rows) {
        if (std::all_of(words.begin() + 1, words.end(),
                        [&](const std::string& word) { return is_selected(table, row, word); }))
            found.push_back(number_in(table.cell(row, column)));
    }
    if (found.empty()) throw ConfigError("no row of the CSV file has these values");
    if (found.size() > 1 && !is_largest)
        throw ConfigError("several rows of the CSV file have these values; select one row, or write max");
    return std::ranges::max(found);
}

Value value_of(const std::string& reference, const fs::path& records) {
    std::istringstream in(reference);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.size() < 2) throw ConfigError(cat("\"", reference, "\" does not name a file and a value"));
    const fs::path file = records / words[0];
    const bool is_pointer = words[1].starts_with("/");  // a JSON pointer; names in it may contain blanks
    return is_pointer ? read_json_value(file, reference.substr(reference.find(" /") + 1))
                      : read_csv_value(file, {words.begin() + 1, words.end()});
}

double median_in(const std::string& references, const fs::path& records) {
    std::vector<double> values;
    for (const std::string& reference : parted(references, "; "))
        values.push_back(std::get<double>(value_of(reference, records)));
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double unit_scale(const std::string& unit) {
    static const std::map<std::string, double> scales{{"%", 1e2},   {"ms", 1e3},    {"us", 1e6},
                                                      {"k", 1e-3},  {"MB/s", 1e-6}, {"GB/s", 1e-9},
                                                      {"GB", 1e-9}, {"MB", 1e-6}};
    const auto found = scales.find(unit);
    return found == scales.end() ? 1 : found->second;
}

// A figure as written in a document: 2,098 ms, +0.6 %, 1.3e-15.
struct Written {
    double number = 0;
    double last_place = 1;  // the value of one unit in its last digit
    std::string unit = {};
};

Written parsed(const std::string& figure) {
    const std::size_t blank = figure.find(' ');
    std::string digits = figure.substr(0, blank);
    std::erase(digits, ',');
    if (digits.starts_with("+")) digits.erase(0, 1);
    Written written{.number = number_in(digits),
                    .unit = blank == std::string::npos ? "" : figure.substr(blank + 1)};
    const std::size_t power = digits.find('e');
    const std::string mantissa = digits.substr(0, power);
    const std::size_t dot = mantissa.find('.');
    const auto decimals = dot == std::string::npos ? 0.0 : static_cast<double>(mantissa.size() - dot - 1);
    written.last_place =
        std::pow(10, (power == std::string::npos ? 0 : number_in(digits.substr(power + 1))) - decimals);
    return written;
}

// Returns the correct figure, or nullopt if `figure` agrees with its source.
std::optional<std::string> find_correction(const std::string& figure, const std::string& source,
                                           const fs::path& records) {
    const std::vector<std::string> ratio = parted(source, " : ");
    if (ratio.size() == 1 && source.find("; ") == std::string::npos) {
        const Value value = value_of(source, records);
        if (const auto* text = std::get_if<std::string>(&value))
            return *text == figure ? std::nullopt : std::optional(*text);
    }
    double value = median_in(ratio[0], records);
    if (ratio.size() > 1) value /= median_in(ratio[1], records);
    const Written written = parsed(figure);
    value *= unit_scale(written.unit);
    if (std::abs(value - written.number) <= 0.5001 * written.last_place) return std::nullopt;
    return cat(value, written.unit.empty() ? "" : " ", written.unit);
}

}  // namespace

std::vector<std::string> find_wrong_quotes(const std::string& document, const fs::path& records) {
    std::vector<std::string> wrong;
    for (const Block& block : parse_blocks(document)) {
        for (const std::string& line : block.lines) {
            const std::size_t sign = line.find(" = ");
            const std::string figure = line.substr(0, sign);
            try {
                if (block.text.find(figure) == std::string::npos)
                    wrong.push_back(cat("the text above does not quote ", figure, ": ", line));
                if (const auto correction = find_correction(figure, line.substr(sign + 3), records))
                    wrong.push_back(cat(figure, " is ", *correction, " in the file: ", line));
            } catch (const std::exception& error) {
                wrong.push_back(cat(error.what(), ": ", line));
            }
        }
    }
    return wrong;
}

std::size_t count_quotes(const std::string& document) {
    std::size_t count = 0;
    for (const Block& block : parse_blocks(document)) count += block.lines.size();
    return count;
}

}  // namespace trireme::perf

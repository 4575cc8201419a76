#include <algorithm>
#include <array>
#include <optional>

#include "data/source/line_reader.hpp"
#include "data/source/synthetic.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/source.hpp"

namespace trireme {
namespace fs = std::filesystem;

struct RowReader::State {
    SourceConfig config;
    std::vector<std::uint64_t> sizes;  // of the inputs, bytes
    std::size_t input = 0;             // the one being read, or the next to open
    std::optional<LineReader> lines;
    bool is_json = false;
    std::uint64_t bytes_before = 0;  // of the inputs that are done
    std::uint64_t size_before = 0;
    std::uint64_t generated = 0;  // rows of the synthetic sample
    std::string line;

    const std::string& name() const { return config.inputs[input]; }
};

namespace {

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

void drop_carriage_return(std::string& line) {
    if (line.ends_with('\r')) line.pop_back();
}

void begin_plain_row(SourceRow& row, const std::string& file, std::uint64_t line) {
    row = SourceRow{};
    row.place = cat(file, ':', line);
}

std::string without_gz(const std::string& name) {
    return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}

bool holds_json(const std::string& name, LineReader& lines) {
    const std::string extension = fs::path(without_gz(name)).extension().string();
    if (extension == ".jsonl" || extension == ".ndjson" || extension == ".json") return true;
    if (extension == ".txt" || extension == ".md") return false;
    return lines.first_sign() == '{';
}

std::uint64_t checked_size(const std::string& name) {
    std::error_code error;
    const fs::file_status status = fs::status(name, error);
    if (!fs::exists(status)) throw ConfigError(cat("the input ", name, " does not exist; check its name"));
    if (fs::is_directory(status))
        throw ConfigError(cat("the input ", name, " is a folder; name its files: ", name, "/*.jsonl"));
    const std::uintmax_t size = fs::file_size(name, error);
    return error ? 0 : size;  // a pipe has none
}

bool next_json(LineReader& lines, const std::string& file, std::string& line, SourceRow& row) {
    do {
        if (!lines.next(line)) return false;
    } while (is_blank(line));
    parse_json_row(line, row);
    row.place = cat(file, ':', lines.line_number());
    return true;
}

bool next_line(LineReader& lines, const std::string& file, SourceRow& row) {
    begin_plain_row(row, file, 0);
    do {
        if (!lines.next(row.plain)) return false;
        drop_carriage_return(row.plain);
    } while (row.plain.empty());
    row.place = cat(file, ':', lines.line_number());
    return true;
}

bool next_paragraph(LineReader& lines, const std::string& file, std::string& line, SourceRow& row) {
    do {
        if (!lines.next(line)) return false;
    } while (is_blank(line));
    begin_plain_row(row, file, lines.line_number());
    do {
        drop_carriage_return(line);
        if (!row.plain.empty()) row.plain += '\n';
        row.plain += line;
    } while (lines.next(line) && !is_blank(line));
    return true;
}

bool next_file(LineReader& lines, const std::string& file, SourceRow& row) {
    begin_plain_row(row, file, 1);
    row.plain = lines.rest();
    return !row.plain.empty();
}

bool next_plain(LineReader& lines, const std::string& file, RowUnit unit, std::string& line, SourceRow& row) {
    switch (unit) {
        case RowUnit::line:
            return next_line(lines, file, row);
        case RowUnit::paragraph:
            return next_paragraph(lines, file, line, row);
        case RowUnit::file:
            return next_file(lines, file, row);
    }
    throw BugError("a unit of rows without a reader");
}

}  // namespace

RowUnit row_unit_from_option(const std::string& option) {
    if (option == "line") return RowUnit::line;
    if (option == "paragraph") return RowUnit::paragraph;
    if (option == "file") return RowUnit::file;
    throw ConfigError(cat("--rows '", option, "' is unknown; choose line, paragraph or file"));
}

RowReader::RowReader(SourceConfig config) : state_(std::make_unique<State>()) {
    if (!config.synthetic.empty()) {
        if (config.synthetic != "csn")
            throw ConfigError(
                cat("--synthetic '", config.synthetic, "' is unknown; the one sample there is: csn"));
        if (!config.inputs.empty())
            throw ConfigError(cat("--synthetic makes its own rows, but there is an input too (",
                                  config.inputs[0], "); leave one of them out"));
        if (config.count == 0)
            throw ConfigError("--synthetic with --count 0 makes no rows; ask for one at least");
    } else if (config.inputs.empty()) {
        throw ConfigError("there is nothing to prepare; name input files, or ask for --synthetic csn");
    }
    for (const std::string& input : config.inputs) state_->sizes.push_back(checked_size(input));
    state_->config = std::move(config);
}

RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;
RowReader::~RowReader() = default;

bool RowReader::next(SourceRow& row) {
    State& state = *state_;
    if (!state.config.synthetic.empty()) {
        if (state.generated == state.config.count) return false;
        state.line = synthetic_json_row(state.config.seed, state.generated++);
        parse_json_row(state.line, row);
        row.place = cat("synthetic row ", state.generated);
        state.bytes_before += state.line.size();
        return true;
    }
    while (state.input < state.config.inputs.size()) {
        if (!state.lines) {
            state.lines.emplace(state.name());
            state.is_json = holds_json(state.name(), *state.lines);
        }
        const bool found = state.is_json
                               ? next_json(*state.lines, state.name(), state.line, row)
                               : next_plain(*state.lines, state.name(), state.config.unit, state.line, row);
        if (found) return true;
        state.bytes_before += state.lines->bytes_read();
        state.size_before += state.sizes[state.input];
        state.lines.reset();
        ++state.input;
    }
    return false;
}

std::uint64_t RowReader::bytes_read() const {
    return state_->bytes_before + (state_->lines ? state_->lines->bytes_read() : 0);
}

double RowReader::share_done() const {
    const State& state = *state_;
    if (!state.config.synthetic.empty())
        return static_cast<double>(state.generated) / static_cast<double>(state.config.count);
    std::uint64_t total = 0;
    for (const std::uint64_t size : state.sizes) total += size;
    const std::uint64_t done = state.size_before + (state.lines ? state.lines->file_position() : 0);
    return total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace trireme

#include "records/truncate_records.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "trireme/archive/partial_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::records {
namespace {

namespace fs = std::filesystem;

// The lines of a file of records, sorted into those to keep and those to drop.
struct SortedLines {
    std::vector<std::string> kept_lines = {};
    std::uintmax_t kept_bytes = 0;                 // size of the kept lines with their line ends
    std::size_t later_lines = 0;                   // number of lines from the first record of a dropped step on
    bool is_last_line_cut = false;                 // the last line has no line end
    std::size_t unreadable_lines = 0;              // number of unreadable lines before these later lines
    std::size_t first_unreadable_line_number = 0;  // from 1
};

// Returns the step of a record; empty if the line is not a record.
std::optional<std::size_t> parse_step(const std::string& line) {
    const auto record = try_parse_json<nlohmann::json>(line);
    if (!record || !record->is_object() || !record->contains("step") ||
        !record->at("step").is_number_unsigned())
        return std::nullopt;
    return record->at("step").get<std::size_t>();
}

SortedLines sort_lines(const fs::path& path, std::size_t end) {
    SortedLines lines;
    std::ifstream file(path, std::ios::binary);
    file.exceptions(std::ios::badbit);  // lack of memory is an error, not the end of the file
    std::size_t line_number = 0;
    for (std::string line; std::getline(file, line);) {
        ++line_number;
        const auto line_step = parse_step(line);
        if (file.eof()) {
            lines.is_last_line_cut = true;
        } else if (lines.later_lines > 0 || (line_step && *line_step >= end)) {
            lines.later_lines += 1;
        } else if (line_step) {
            lines.kept_bytes += line.size() + 1;
            lines.kept_lines.push_back(std::move(line));
        } else {
            if (lines.unreadable_lines == 0) lines.first_unreadable_line_number = line_number;
            lines.unreadable_lines += 1;
        }
    }
    return lines;
}

void check_written(const std::error_code& error, const fs::path& path) {
    if (!error) return;
    throw ConfigError(
        cat(path.string(), " cannot be written: ", error.message(), "; choose another --run-dir"));
}

// Copies the file to a new name, such as steps.jsonl.damaged or steps.jsonl.damaged-2, and returns this name.
fs::path back_up_damaged(const fs::path& path) {
    fs::path backup = path.string() + ".damaged";
    for (int copy = 2; fs::exists(fs::symlink_status(backup)); ++copy)
        backup = cat(path.string(), ".damaged-", copy);
    std::error_code error;
    fs::copy_file(path, backup, error);
    if (error) throw ResourceError(cat(backup.string(), " cannot be written: ", error.message()));
    return backup;
}

std::string describe_unreadable(const SortedLines& lines) {
    const std::size_t first = lines.first_unreadable_line_number;
    if (lines.unreadable_lines == 1) return cat("line ", first, ", which cannot be read");
    return cat(format_count(lines.unreadable_lines, "line"), " that cannot be read, the first of them line ",
               first);
}

void write_kept_lines(const fs::path& path, const SortedLines& lines) {
    archive::PartialFile file(path);
    std::ofstream out(file.partial_path(), std::ios::binary);
    for (const std::string& line : lines.kept_lines) out << line << '\n';
    out.close();
    if (!out) throw ResourceError(cat(path.string(), " could not be written; is the disk full?"));
    file.commit(lines.kept_bytes);
}

}  // namespace

std::vector<std::string> truncate_records(const fs::path& path, std::size_t end) {
    std::error_code error;
    if (!fs::exists(path, error)) return {};
    const SortedLines lines = sort_lines(path, end);
    std::vector<std::string> remarks;
    if (lines.unreadable_lines > 0) {
        const fs::path backup = back_up_damaged(path);
        write_kept_lines(path, lines);
        remarks.push_back(cat(path.string(), ": dropped ", describe_unreadable(lines),
                              "; the original file is kept as ", backup.string()));
    } else {
        fs::resize_file(path, lines.kept_bytes, error);
        check_written(error, path);
    }
    if (lines.later_lines > 0)
        remarks.push_back(cat(path.string(), ": dropped ", format_count(lines.later_lines, "line"),
                              " of steps after step ", std::max<std::size_t>(end, 1) - 1,
                              "; this run repeats those steps"));
    if (lines.is_last_line_cut)
        remarks.push_back(
            cat(path.string(), ": dropped the last line, which was cut off while it was written"));
    return remarks;
}

}  // namespace trireme::records

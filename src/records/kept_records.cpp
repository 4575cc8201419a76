#include "records/kept_records.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "trireme/archive/partial_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"

namespace trireme::records {
namespace {

namespace fs = std::filesystem;

// The lines of a file of records, sorted by what is done with them.
struct Lines {
    std::vector<std::string> kept = {};
    std::uintmax_t kept_bytes = 0;
    std::size_t later = 0;             // number of lines after the step
    bool ends_cut_off = false;         // the last line has no line end
    std::size_t unreadable = 0;        // number of unreadable lines before the first later one
    std::size_t first_unreadable = 0;  // its line number, from 1
};

// Returns the step of a record; empty if the line is not a record.
std::optional<std::size_t> step_of(const std::string& line) {
    const auto record = try_parse_json<nlohmann::json>(line);
    if (!record || !record->is_object() || !record->contains("step") ||
        !record->at("step").is_number_unsigned())
        return std::nullopt;
    return record->at("step").get<std::size_t>();
}

Lines sorted_lines(const fs::path& path, std::size_t step) {
    Lines found;
    std::ifstream file(path, std::ios::binary);
    file.exceptions(std::ios::badbit);  // lack of memory is an error, not the end of the file
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        const auto own = step_of(line);
        if (file.eof()) {
            found.ends_cut_off = true;
        } else if (found.later > 0 || own.value_or(0) > step) {
            found.later += 1;
        } else if (own) {
            found.kept_bytes += line.size() + 1;
            found.kept.push_back(std::move(line));
        } else {
            if (found.unreadable == 0) found.first_unreadable = number;
            found.unreadable += 1;
        }
    }
    return found;
}

void check(const std::error_code& error, const fs::path& path) {
    if (!error) return;
    throw ConfigError(
        cat(path.string(), " cannot be written: ", error.message(), "; choose another --run-dir"));
}

// Copies the file to a new name, such as steps.jsonl.damaged or steps.jsonl.damaged-2, and returns this name.
fs::path put_aside(const fs::path& path) {
    fs::path aside = path.string() + ".damaged";
    for (int copy = 2; fs::exists(fs::symlink_status(aside)); ++copy)
        aside = cat(path.string(), ".damaged-", copy);
    std::error_code error;
    fs::copy_file(path, aside, error);
    if (error) throw ResourceError(cat(aside.string(), " cannot be written: ", error.message()));
    return aside;
}

void rewrite(const fs::path& path, const Lines& lines) {
    archive::PartialFile file(path);
    std::ofstream out(file.partial_path(), std::ios::binary);
    for (const std::string& line : lines.kept) out << line << '\n';
    out.close();
    if (!out) throw ResourceError(cat(path.string(), " could not be written; is the disk full?"));
    file.keep(lines.kept_bytes);
}

std::string counted_lines(std::size_t count) { return cat(count, count == 1 ? " line" : " lines"); }

}  // namespace

std::vector<std::string> keep_records(const fs::path& path, std::size_t step) {
    std::error_code error;
    if (!fs::exists(path, error)) return {};
    const Lines lines = sorted_lines(path, step);
    std::vector<std::string> remarks;
    if (lines.unreadable > 0) {
        const fs::path aside = put_aside(path);
        rewrite(path, lines);
        remarks.push_back(cat(path.string(), ": dropped ", counted_lines(lines.unreadable),
                              " that cannot be read, from line ", lines.first_unreadable,
                              " on; the file as it was is ", aside.string()));
    } else {
        fs::resize_file(path, lines.kept_bytes, error);
        check(error, path);
    }
    if (lines.later > 0)
        remarks.push_back(cat(path.string(), ": dropped ", counted_lines(lines.later), " after step ", step,
                              "; this run repeats those steps"));
    if (lines.ends_cut_off)
        remarks.push_back(
            cat(path.string(), ": dropped the last line, which was cut off while it was written"));
    return remarks;
}

}  // namespace trireme::records

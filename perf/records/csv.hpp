// Recorded tables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::perf {

struct CsvTable {
    std::vector<std::string> comments;  // lines that begin with "#"
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;  // each as long as columns

    bool has_column(const std::string& name) const;
    // Throws ConfigError if there is no such column.
    const std::string& cell(const std::vector<std::string>& row, const std::string& column) const;
};

// Throws ConfigError for a file that cannot be read, and for a row of another length than the first.
CsvTable read_csv(const std::filesystem::path& path);

std::string read_text(const std::filesystem::path& path);

// The number that all of `text` is; throws ConfigError if it is none.
double number_in(const std::string& text);

}  // namespace trireme::perf

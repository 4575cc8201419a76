// Reads recorded tables in CSV files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme::perf {

struct CsvTable {
    std::vector<std::string> comments;  // lines that begin with "#"
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;  // each as long as `columns`

    bool has_column(const std::string& name) const;
    // Throws ConfigError if the column does not exist.
    const std::string& cell(const std::vector<std::string>& row, const std::string& column) const;
};

// Throws ConfigError if the file cannot be read, or if a row has another length than the header.
CsvTable read_csv(const std::filesystem::path& path);

std::string read_text(const std::filesystem::path& path);

// Parses all of `text` as a number. Throws ConfigError if it is not one.
double number_in(const std::string& text);

}  // namespace trireme::perf

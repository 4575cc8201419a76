// The row of one point in a study's table. Each row is kept in a file of its own, so that jobs that share a
// study can write at the same time.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "study_file.hpp"

namespace trireme::studies {

struct Row {
    std::map<std::string, nlohmann::json> figures = {};  // by name; null if the run lacks it
    std::string failure = {};                            // error message if a run failed
};

// The first function returns an empty text if the file cannot be read; the second one throws ResourceError if
// the file cannot be written.
std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

// Writes the row to a file in `records`, beside the records of the point's runs.
void keep(const Row& row, const Study& study, const Point& point, const std::filesystem::path& records);

// Returns the row that keep() wrote; empty if its file does not exist, or if the study's options or figures
// have changed since keep().
std::optional<Row> kept_row(const Study& study, const Point& point, const std::filesystem::path& records);

}  // namespace trireme::studies

// What a study knows of one of its points: the row of its table. Each is kept in a file of its own, so that
// jobs that share a study may write at once.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "study_file.hpp"

namespace trireme::studies {

struct Row {
    std::map<std::string, nlohmann::json> figures = {};  // null: there is none
    std::string failure = {};                            // what its runs said when they failed
};

// What files of this study hold, and write_text() puts there.
std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

// In `records`, beside what the point's runs leave.
void keep(const Row& row, const Study& study, const Point& point, const std::filesystem::path& records);

// None where there is no such file, or the study asks for something else by now.
std::optional<Row> kept_row(const Study& study, const Point& point, const std::filesystem::path& records);

}  // namespace trireme::studies

#include "records/origins.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "records/csv.hpp"
#include "trireme/base/error.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Finds the object in `value`, at any depth, that has commit, tree and command; null if there is none.
const json* find_origin(const json& value) {
    if (value.is_object() && value.contains("commit") && value.contains("tree") && value.contains("command"))
        return &value;
    if (!value.is_structured()) return nullptr;
    for (const json& member : value)
        if (const json* found = find_origin(member)) return found;
    return nullptr;
}

// True if a version such as "0.1.0 (2e29447 with changes)" names a commit.
bool names_commit(const std::string& version) { return version.find('(') != std::string::npos; }

bool csv_names_origin(const CsvTable& table) {
    const bool has_command = std::ranges::any_of(
        table.comments, [](const std::string& line) { return line.starts_with("# command: "); });
    return has_command && table.has_column("program") && std::ranges::all_of(table.rows, [&](const auto& row) {
               const bool has_failed = table.has_column("failure") && !table.cell(row, "failure").empty();
               return names_commit(table.cell(row, "program")) || has_failed;
           });
}

bool names_origin(const fs::path& file) {
    if (file.extension() == ".csv") return csv_names_origin(read_csv(file));
    return find_origin(json::parse(read_text(file))) != nullptr;
}

bool is_record(const fs::path& file) {
    const bool is_of_run = fs::exists(file.parent_path() / "manifest.json");
    return !is_of_run && (file.extension() == ".json" || file.extension() == ".csv");
}

}  // namespace

std::vector<std::string> find_unnamed_origins(const fs::path& records) {
    std::set<std::string> known;  // names in without-origin.txt that are not found yet
    std::istringstream lines(read_text(records / "without-origin.txt"));
    for (std::string line; std::getline(lines, line);)
        if (!line.empty() && !line.starts_with("#")) known.insert(line);
    std::vector<std::string> wrong;
    for (const auto& entry : fs::recursive_directory_iterator(records)) {
        if (!entry.is_regular_file() || !is_record(entry.path())) continue;
        const std::string name = entry.path().lexically_relative(records).generic_string();
        const bool is_listed = known.erase(name) > 0;
        const bool is_named = names_origin(entry.path());
        if (!is_named && !is_listed) wrong.push_back(cat(name, " does not name its commit, tree and command"));
        if (is_named && is_listed)
            wrong.push_back(cat(name, " names its commit; remove its line from without-origin.txt"));
    }
    for (const std::string& name : known)
        wrong.push_back(cat("without-origin.txt lists ", name, ", which does not exist"));
    return wrong;
}

}  // namespace trireme::perf

#include "row.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "trireme/base/error.hpp"

namespace trireme::studies {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path path_of(const Point& point, const fs::path& records) { return records / (point.folder + ".row.json"); }

// Returns the options that a row is computed with and the figures that it must have. A row's file also contains
// them, and kept_row() ignores a file whose request is not that of the study now.
Json describe_request(const Study& study, const Point& point) {
    Json request = {{"command", study.command},
                    {"launch", study.launch},
                    {"options", point.all},
                    {"figures", study.figures}};
    if (study.beside) request["beside"] = {{"options", study.beside->options}, {"saved", study.beside->saved}};
    for (const ChartSpec& chart : study.charts) request["charts"].push_back(chart.y);
    return request;
}

}  // namespace

std::string read_text(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void write_text(const fs::path& path, const std::string& text) {
    std::ofstream out(path, std::ios::trunc);
    out << text << std::flush;
    if (!out) throw ResourceError(cat(path.string(), " cannot be written"));
}

// Writes a partial file and renames it when it is complete, because another job may read the rows at the same
// time.
void keep(const Row& row, const Study& study, const Point& point, const fs::path& records) {
    const Json json = {
        {"asked", describe_request(study, point)}, {"figures", row.figures}, {"failure", row.failure}};
    const fs::path path = path_of(point, records);
    const fs::path partial = cat(path.string(), ".partial-", ::getpid());
    write_text(partial, json.dump(2) + "\n");
    fs::rename(partial, path);
}

std::optional<Row> kept_row(const Study& study, const Point& point, const fs::path& records) {
    const Json json = Json::parse(read_text(path_of(point, records)), nullptr, false);
    if (!json.is_object() || json.value("asked", Json()) != describe_request(study, point)) return std::nullopt;
    return Row{.figures = json.at("figures"), .failure = json.at("failure")};
}

}  // namespace trireme::studies

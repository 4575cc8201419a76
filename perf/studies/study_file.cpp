#include "study_file.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "trireme/base/error.hpp"

namespace trireme::studies {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
    throw ConfigError(cat(place, " must be ", what));
}

Json parsed(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw ConfigError(cat(file.string(), " cannot be read"));
    Json json = Json::parse(text.str(), nullptr, false);
    if (!json.is_object()) refuse(file.string(), "a JSON object; perf/study --help describes a study file");
    return json;
}

std::string text_in(const Json& json, const char* key, const std::string& place) {
    if (!json.contains(key) || !json[key].is_string()) refuse(cat(place, ": ", key), "a string");
    return json[key];
}

std::vector<std::string> texts_in(const Json& json, const char* key, const std::string& place) {
    std::vector<std::string> texts;
    if (!json.contains(key)) return texts;
    if (!json[key].is_array()) refuse(cat(place, ": ", key), "a list of strings");
    for (const Json& text : json[key]) {
        if (!text.is_string()) refuse(cat(place, ": ", key), "a list of strings");
        texts.push_back(text);
    }
    return texts;
}

// Values are strings, numbers, or booleans (on and off). Null becomes an empty string: see make_points().
Options parse_options(const Json& json, const std::string& place) {
    if (!json.is_object()) refuse(place, "an object of options");
    Options options;
    for (const auto& [name, value] : json.items()) {
        if (value.is_string() && value != "") {
            options[name] = value;
        } else if (value.is_boolean()) {
            options[name] = value.get<bool>() ? "on" : "off";
        } else if (value.is_number()) {
            options[name] = value.dump();
        } else if (value.is_null()) {
            options[name] = "";
        } else {
            refuse(cat(place, ": ", name), "a string that is not empty, a number, true, false or null");
        }
    }
    return options;
}

std::vector<std::vector<Options>> parse_axes(const Json& json, const std::string& place) {
    std::vector<std::vector<Options>> axes;
    const std::string where = cat(place, ": axes");
    if (!json.contains("axes") || !json["axes"].is_array()) refuse(where, "a list of lists of points");
    for (const Json& axis : json["axes"]) {
        if (!axis.is_array() || axis.empty()) refuse(where, "a list of lists with at least one point each");
        auto& points = axes.emplace_back();
        for (const Json& point : axis) points.push_back(parse_options(point, cat(place, ": a point of axes")));
    }
    return axes;
}

std::vector<ChartSpec> parse_charts(const Json& json, const std::string& place) {
    std::vector<ChartSpec> charts;
    const std::string where = cat(place, ": charts");
    for (const Json& chart : json.value("charts", Json::array())) {
        if (!chart.is_object()) refuse(where, "a list of objects");
        charts.push_back({.title = text_in(chart, "title", where),
                          .x = text_in(chart, "x", where),
                          .y = text_in(chart, "y", where),
                          .lines = texts_in(chart, "lines", where)});
    }
    return charts;
}

std::optional<ComparisonSpec> parse_comparison(const Json& json, const std::string& place) {
    if (!json.contains("beside")) return std::nullopt;
    const Json& beside = json["beside"];
    const std::string where = cat(place, ": beside");
    if (!beside.is_object()) refuse(where, "an object");
    return ComparisonSpec{.options = parse_options(beside.value("options", Json::object()), where),
                          .saved = parse_options(beside.value("saved", Json::object()), where)};
}

// Replaces all characters except letters, digits, - and _ by _, for file names.
std::string plain(std::string text) {
    std::ranges::replace_if(
        text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '_');
    return text;
}

std::string folder_of(const Options& own) {
    std::string name;
    for (const auto& [option, value] : own)
        name += cat(name.empty() ? "" : ".", plain(option), "-", plain(value));
    return name.empty() ? "run" : name;
}

// Replaces option names in braces by their values, and adds these names to `used`.
std::string filled(std::string word, const Options& options, std::set<std::string>& used) {
    for (const auto& [name, value] : options) {
        const std::string braced = cat("{", name, "}");
        for (std::size_t at = word.find(braced); at != std::string::npos; at = word.find(braced)) {
            word.replace(at, braced.size(), value);
            used.insert(name);
        }
    }
    return word;
}

}  // namespace

Study read_study(const std::filesystem::path& file) {
    const Json json = parsed(file);
    const std::string place = file.string();
    if (json.value("schema", Json()) != 1) refuse(cat(place, ": schema"), "1 for this program");
    Study study{.file = place,
                .name = plain(text_in(json, "name", place)),
                .source = text_in(json, "source", place),
                .command = text_in(json, "command", place),
                .launch = texts_in(json, "launch", place),
                .options = parse_options(json.value("options", Json::object()), cat(place, ": options")),
                .axes = parse_axes(json, place),
                .figures = texts_in(json, "figures", place),
                .beside = parse_comparison(json, place),
                .charts = parse_charts(json, place)};
    if (study.figures.empty()) refuse(cat(place, ": figures"), "a list of at least one figure of summary.json");
    return study;
}

std::vector<Point> make_points(const Study& study) {
    std::vector<Options> combinations = {{}};  // the options that the axes set, for each combination of points
    for (const std::vector<Options>& axis : study.axes) {
        std::vector<Options> longer;
        for (const Options& own : combinations) {
            for (const Options& point : axis) {
                Options both = point;
                both.insert(own.begin(), own.end());
                longer.push_back(std::move(both));
            }
        }
        combinations = std::move(longer);
    }
    std::vector<Point> points;
    std::set<std::string> names;
    for (Options& own : combinations) {
        Options all = own;
        all.insert(study.options.begin(), study.options.end());  // keeps the values that the axes set
        for (Options* options : {&own, &all})  // an empty text removes an option of the study from this point
            std::erase_if(*options, [](const auto& option) { return option.second.empty(); });
        const std::string folder = folder_of(own);
        if (!names.insert(folder).second)
            throw ConfigError(cat("two points of study ", study.name, " have the name ", folder,
                                  "; give each point different options"));
        points.push_back({.own = std::move(own), .all = std::move(all), .folder = folder});
    }
    return points;
}

Point beside(const Point& point, const ComparisonSpec& comparison) {
    Point other{.own = point.own, .all = comparison.options, .folder = point.folder + ".beside"};
    other.all.insert(point.all.begin(), point.all.end());  // keeps the values of the comparison
    return other;
}

std::vector<std::string> words_for(const Study& study, const Point& point, const std::string& program,
                                   const std::filesystem::path& folder) {
    std::vector<std::string> words;
    std::set<std::string> launcher_options;
    for (const std::string& word : study.launch) words.push_back(filled(word, point.all, launcher_options));
    if (study.command != "train") launcher_options.clear();  // other commands also get the launcher's options
    words.insert(words.end(), {program, study.command});
    std::set<std::string> used_options = launcher_options;  // in the launch command or in other options
    Options options;
    for (const auto& [option, value] : point.all) options[option] = filled(value, point.all, used_options);
    for (const auto& [option, value] : options) {
        if (used_options.contains(option)) continue;
        words.insert(words.end(), {"--" + option, value});
    }
    if (study.command == "plan")
        words.insert(words.end(), {"--format", "json", "--output", (folder / plan_file).string()});
    else
        words.insert(words.end(), {"--run-dir", folder.string(), "--quiet"});
    return words;
}

}  // namespace trireme::studies

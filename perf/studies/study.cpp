// perf_study FILE OUTPUT [--program PATH]: runs a study (study_file.hpp), what of it has not run yet, and
// writes OUTPUT/NAME.csv and, for each chart, OUTPUT/NAME-Y.svg. Runs leave their records in OUTPUT/NAME/; one
// that has its summary.json is not run again, unless the study now gives it other options. A run that fails has
// its sentence in the table, and is tried again next time.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "chart.hpp"
#include "study_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::studies {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Run {
    Json summary = {};         // null: it failed
    std::string failure = {};  // its first sentence
};

struct Result {
    const Point* point = nullptr;
    Run own = {};
    std::map<std::string, double> saved = {};  // shares, where the run beside it has the figure too
    std::string failure = {};                  // of either
};

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

// Its exit code; what it says goes to `log`.
int run(std::vector<std::string> words, const fs::path& log) {
    const pid_t child = ::fork();
    if (child < 0) throw ResourceError("no process can be started");
    if (child == 0) {
        const int out = ::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0666);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(out, STDERR_FILENO);
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        ::execvp(arguments.front(), arguments.data());
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// "trireme: what happened", or the last line.
std::string sentence_of(const std::string& log) {
    std::istringstream lines(log);
    std::string last;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("trireme: ")) return line.substr(9);
        if (!line.empty()) last = line;
    }
    return last;
}

Json summary_in(const fs::path& folder) {
    return Json::parse(read_text(folder / "summary.json"), nullptr, false);
}

Run run_of(const Study& study, const Point& point, const std::string& program, const fs::path& records) {
    const fs::path folder = records / point.folder;
    const fs::path command = records / (point.folder + ".command");
    const std::vector<std::string> words = words_for(study, point, program, folder);
    const std::string text = fmt::format("{}\n", fmt::join(words, "\n"));
    Json known = summary_in(folder);
    if (known.is_object() && read_text(command) == text) return {.summary = known};
    fs::remove_all(folder);  // what a run that was cut off, or was another, has left
    write_text(command, text);
    const fs::path log = records / (point.folder + ".log");
    const int code = run(words, log);
    known = summary_in(folder);
    if (code == 0 && known.is_object()) return {.summary = known};
    return {.failure = cat("exit code ", code, ": ", sentence_of(read_text(log)))};
}

// "bubble/measured": a number, or a text; null where there is none.
Json figure_in(const Json& summary, const std::string& figure) {
    const Json::json_pointer way("/" + figure);
    return summary.is_object() && summary.contains(way) ? summary.at(way) : Json();
}

Result result_of(const Study& study, const Point& point, const std::string& program, const fs::path& records) {
    Result result{.point = &point, .own = run_of(study, point, program, records)};
    result.failure = result.own.failure;
    if (!study.beside || result.own.summary.is_null()) return result;
    const Run other = run_of(study, beside(point, *study.beside), program, records);
    result.failure = other.failure;
    for (const auto& [name, figure] : study.beside->saved) {
        const Json whole = figure_in(result.own.summary, figure);
        const Json rest = figure_in(other.summary, figure);
        if (whole.is_number() && rest.is_number())
            result.saved[name] = 1 - rest.get<double>() / whole.get<double>();
    }
    return result;
}

// Of summary.json, or a share that is saved.
Json figure_of(const Result& result, const std::string& figure) {
    const auto saved = result.saved.find(figure);
    return saved == result.saved.end() ? figure_in(result.own.summary, figure) : Json(saved->second);
}

std::vector<std::string> figures_of(const Study& study) {
    std::vector<std::string> figures = study.figures;
    if (!study.beside) return figures;
    for (const auto& [name, figure] : study.beside->saved) figures.push_back(name);
    return figures;
}

std::string cell(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
}

std::vector<std::string> columns_of(const std::vector<Point>& points) {
    std::set<std::string> names;
    for (const Point& point : points) {
        for (const auto& [option, value] : point.own) names.insert(option);
    }
    return {names.begin(), names.end()};
}

std::string csv_of(const Study& study, const std::vector<std::string>& columns,
                   const std::vector<Result>& results) {
    const std::vector<std::string> figures = figures_of(study);
    std::string csv;
    for (const std::string& column : columns) csv += cell(column) + ",";
    for (const std::string& figure : figures) csv += cell(figure) + ",";
    csv += "clock,failure\n";
    for (const Result& result : results) {
        for (const std::string& column : columns) {
            const auto value = result.point->own.find(column);
            csv += (value == result.point->own.end() ? "" : cell(value->second)) + ",";
        }
        for (const std::string& figure : figures) {
            const Json value = figure_of(result, figure);
            csv += (value.is_null() ? "" : value.is_string() ? cell(value) : value.dump()) + ",";
        }
        const Json clock = figure_of(result, "clock");
        csv += (clock.is_string() ? clock.get<std::string>() : "") + "," + cell(result.failure) + "\n";
    }
    return csv;
}

double number_of(const std::string& option, const std::string& text) {
    double value = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && last == text.data() + text.size() && value > 0) return value;
    throw ConfigError(cat("a chart over ", option, " needs numbers above 0, and one is ", text));
}

std::string chart_of(const ChartWish& wish, const std::vector<Result>& results) {
    Lines lines;
    std::set<std::string> clocks;
    for (const Result& result : results) {
        const Json y = figure_of(result, wish.y);
        const auto x = result.point->all.find(wish.x);
        if (!y.is_number() || x == result.point->all.end()) continue;
        std::string line;
        for (const std::string& option : wish.lines) {
            const auto value = result.point->all.find(option);
            if (value != result.point->all.end()) line += (line.empty() ? "" : ", ") + value->second;
        }
        lines[line].emplace_back(number_of(wish.x, x->second), y.get<double>());
        clocks.insert(figure_of(result, "clock").get<std::string>());
    }
    std::string title = wish.title;
    for (const std::string& clock : clocks) title += cat(" (", clock, ")");
    return studies::svg_of(title, wish.x, wish.y, lines);
}

// "mfu" of "weak": weak-mfu.svg
fs::path path_of(const ChartWish& wish, const std::string& study) {
    std::string name = cat(study, "-", wish.y, ".svg");
    std::ranges::replace(name, '/', '-');
    return name;
}

void write_results(const Study& study, const std::vector<std::string>& columns,
                   const std::vector<Result>& results, const fs::path& output) {
    write_text(output / (study.name + ".csv"), csv_of(study, columns, results));
    for (const ChartWish& wish : study.charts)
        write_text(output / path_of(wish, study.name), chart_of(wish, results));
}

void study(const std::string& file, const fs::path& output, const std::string& program) {
    const Study study = read_study(file);
    const std::vector<Point> points = points_of(study);
    const std::vector<std::string> columns = columns_of(points);
    const fs::path records = output / study.name;
    fs::create_directories(records);
    std::vector<Result> results;
    for (const Point& point : points) {
        fmt::print("{:>4}/{}  {}", results.size() + 1, points.size(), point.folder);
        std::fflush(stdout);
        results.push_back(result_of(study, point, program, records));
        fmt::print("  {}\n", results.back().failure.empty() ? "done" : results.back().failure);
        write_results(study, columns, results, output);
    }
}

}  // namespace
}  // namespace trireme::studies

int main(int count, char** words) try {
    const std::vector<std::string> given(words + 1, words + count);
    const bool names_program = given.size() == 4 && given[2] == "--program";
    if (given.size() != 2 && !names_program)
        throw trireme::ConfigError("a study is run by perf_study FILE OUTPUT [--program PATH]");
    const std::string program =
        names_program ? given[3]
                      : (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "trireme").string();
    trireme::studies::study(given[0], given[1], program);
    return 0;
} catch (const trireme::Error& error) {
    fmt::print(stderr, "perf_study: {}\n", error.what());
    return static_cast<int>(error.code());
} catch (const std::filesystem::filesystem_error& error) {
    fmt::print(stderr, "perf_study: {}\n", error.what());
    return 3;
}

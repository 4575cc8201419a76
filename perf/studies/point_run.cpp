#include "point_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "trireme/base/error.hpp"

namespace trireme::studies {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Run {
    Json summary = {};         // null if the run failed
    std::string program = {};  // version of trireme, from the run's manifest.json
    std::string failure = {};  // exit code and error message; empty if the run succeeded
};

// Runs a command and returns its exit code; its output goes to `log`.
int run(std::vector<std::string> words, const fs::path& log) {
    const pid_t child = ::fork();
    if (child < 0) throw ResourceError(cat("no process can be started for ", words.front()));
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

// Returns the error message in a log: the text of the first line that begins with "trireme: ", or else the last
// line.
std::string sentence_of(const std::string& log) {
    std::istringstream lines(log);
    std::string last;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("trireme: ")) return line.substr(9);
        if (!line.empty()) last = line;
    }
    return last;
}

Json json_in(const fs::path& file) { return Json::parse(read_text(file), nullptr, false); }

// Returns the run in `folder` if it is complete.
std::optional<Run> complete_run(const fs::path& folder) {
    const Json plan = json_in(folder / plan_file);
    if (plan.is_object()) return Run{.summary = plan, .program = plan.value("version", "")};
    const Json summary = json_in(folder / "summary.json");
    const Json manifest = json_in(folder / "manifest.json");
    if (!summary.is_object() || !manifest.is_object()) return std::nullopt;
    return Run{.summary = summary, .program = manifest.value("version", "")};
}

// Returns the run of a point. Runs the command only if `records` does not have the complete run of the same
// command.
Run run_of(const Study& study, const Point& point, const std::string& program, const fs::path& records) {
    const fs::path folder = records / point.folder;
    const fs::path command = records / (point.folder + ".command");
    const std::vector<std::string> words = words_for(study, point, program, folder);
    const std::string text = fmt::format("{}\n", fmt::join(words, "\n"));
    if (const auto known = complete_run(folder); known && read_text(command) == text) return *known;
    fs::remove_all(folder);  // removes an interrupted run, or one with other options
    if (study.command == "plan") fs::create_directories(folder);
    write_text(command, text);
    const fs::path log = records / (point.folder + ".log");
    const int code = run(words, log);
    if (const auto done = complete_run(folder); code == 0 && done) return *done;
    return {.failure = cat("exit code ", code, ": ", sentence_of(read_text(log)))};
}

// Returns the value of a figure such as "bubble/measured", which is a number or a text; null if `summary` lacks
// the figure.
Json find_figure(const Json& summary, const std::string& figure) {
    const Json::json_pointer pointer("/" + figure);
    return summary.is_object() && summary.contains(pointer) ? summary.at(pointer) : Json();
}

// Returns the figures that the table and the charts show.
std::map<std::string, Json> collect_figures(const Json& summary, const Study& study) {
    std::map<std::string, Json> figures = {{"clock", find_figure(summary, "clock")}};
    for (const std::string& figure : study.figures) figures[figure] = find_figure(summary, figure);
    for (const ChartSpec& chart : study.charts) figures[chart.y] = find_figure(summary, chart.y);
    return figures;
}

}  // namespace

Row make_row(const Study& study, const Point& point, const std::string& program, const fs::path& records) {
    const Run own_run = run_of(study, point, program, records);
    Row row{.figures = collect_figures(own_run.summary, study), .failure = own_run.failure};
    if (!own_run.summary.is_null()) row.figures["program"] = own_run.program;
    if (!study.beside || own_run.summary.is_null()) return row;
    const Run other_run = run_of(study, beside(point, *study.beside), program, records);
    row.failure = other_run.failure;
    if (!other_run.program.empty() && other_run.program != own_run.program)
        row.figures["program"] = cat(own_run.program, " and ", other_run.program);
    // The row also has the fraction of each such figure that the options of the comparison run save.
    for (const auto& [name, figure] : study.beside->saved) {
        const Json own_value = find_figure(own_run.summary, figure);
        const Json other_value = find_figure(other_run.summary, figure);
        if (own_value.is_number() && other_value.is_number())
            row.figures[name] = 1 - other_value.get<double>() / own_value.get<double>();
    }
    return row;
}

}  // namespace trireme::studies

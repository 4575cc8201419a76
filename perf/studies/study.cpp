// perf_study: runs a study (study_file.hpp) or one point of it, or joins the results of its points.
//
//   perf_study FILE [OUTPUT]                 runs all points that have not run yet
//   perf_study --points FILE                 prints the number of points
//   perf_study --point NUMBER FILE [OUTPUT]  runs one point, from 0; several points may run at the same time
//   perf_study --join FILE [OUTPUT]          makes the table of the finished points; exit code 3 if some are
//                                            missing
//
// OUTPUT is `studies` by default. The program writes OUTPUT/NAME.csv and, for each chart, OUTPUT/NAME-Y.svg.
// Runs leave their records in OUTPUT/NAME/. A run with a summary.json is not repeated, unless the study now
// gives it other options. A failed run has its error message in the table, and is tried again next time.
// --program PATH runs the program PATH instead of the trireme in the folder of perf_study.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "point_run.hpp"
#include "table.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::studies {
namespace {

namespace fs = std::filesystem;

enum class Action { whole, points, point, join, help };

constexpr const char* help =
    R"(Usage: perf/study [--points | --point NUMBER | --join] FILE [OUTPUT]

Runs a study: trireme with every combination of some options. The results are OUTPUT/NAME.csv and, for each chart,
OUTPUT/NAME-Y.svg. Each run keeps its records in OUTPUT/NAME/. A run that has finished is not run again, so a study that
was stopped can be continued. OUTPUT is `studies` by default.

  perf/study FILE [OUTPUT]                 runs every point that has not finished
  perf/study --points FILE                 prints the number of points
  perf/study --point NUMBER FILE [OUTPUT]  runs one point, counted from 0; several may run at the same time
  perf/study --join FILE [OUTPUT]          makes the table of the points that have finished; exit code 3 if some have not
  --program PATH                           runs the program PATH instead of the trireme of the build

A study file is JSON:

  {
    "schema": 1,
    "name": "schedules",
    "source": "what the study asks, and why",
    "command": "train",                          the subcommand: train or simulate
    "launch": ["mpirun", "-n", "{ranks}"],       the command that starts the ranks; optional
    "options": {"model": "gpt2-tiny", "steps": 20},
    "axes": [[{"schedule": "gpipe"}, {"schedule": "1f1b"}],
             [{"ranks": 2, "pipe": 2}, {"ranks": 4, "pipe": 4}]],
    "figures": ["tokens_per_s", "mfu", "bubble/measured"],
    "beside": {"options": {"network": "free"}, "saved": {"exposed_comm": "seconds"}},
    "charts": [{"title": "...", "x": "ranks", "y": "mfu", "lines": ["schedule"]}]
  }

  options   options of every run, by name without the dashes; true and false stand for on and off
  axes      lists of points; a run takes one point of each axis. A point sets options; null removes an option
  {name}    in a word of "launch", or in the value of an option, stands for the value of the option `name`
  figures   columns of the table, from summary.json; "/" goes down one level
  beside    optional: a second run of each point with these options. "saved" gives the fraction of a figure saved:
            exposed_comm is 1 - seconds of the second run / seconds
  charts    optional: a chart has one line for each combination of the values of the options in "lines"

perf/studies holds examples.
)";

struct CommandLine {
    Action action = Action::whole;
    std::string number = {};  // number of the point
    std::string file = {};
    fs::path output = "studies";
    std::string program = {};
};

[[noreturn]] void refuse(const std::string& why) {
    throw ConfigError(cat(why, "; usage: perf/study [--points | --point NUMBER | --join] FILE [OUTPUT]"));
}

// Removes the first word and returns it. `what` describes it in the error message if it is missing.
std::string next(std::vector<std::string>& words, const std::string& what) {
    if (words.empty() || words.front().empty() || words.front().starts_with("--"))
        refuse(cat(what, " is missing"));
    const std::string word = words.front();
    words.erase(words.begin());
    return word;
}

// Removes the option and its value from `words`. Returns the value, or an empty string if the option is absent.
std::string take_option(std::vector<std::string>& words, const std::string& option) {
    const auto at = std::ranges::find(words, option);
    if (at == words.end()) return {};
    std::vector<std::string> after(at + 1, words.end());
    words.erase(at, words.end());
    const std::string value = next(after, cat("the value of ", option));
    words.insert(words.end(), after.begin(), after.end());
    return value;
}

CommandLine parsed(std::vector<std::string> words) {
    CommandLine line;
    if (std::ranges::find(words, "--help") != words.end()) {
        line.action = Action::help;
        return line;
    }
    line.program = take_option(words, "--program");
    line.number = take_option(words, "--point");
    if (!line.number.empty()) line.action = Action::point;
    for (const auto& [option, action] :
         {std::pair("--points", Action::points), std::pair("--join", Action::join)}) {
        if (std::erase(words, option) == 0) continue;
        if (line.action != Action::whole) refuse("--points, --point and --join exclude each other");
        line.action = action;
    }
    for (const std::string& word : words) {
        if (word.starts_with("--")) refuse(cat("unknown option ", word));
    }
    line.file = next(words, "the study file, such as perf/studies/stragglers.json,");
    if (!words.empty() && line.action != Action::points) line.output = next(words, "OUTPUT");
    if (!words.empty()) refuse(cat("unexpected argument ", words.front()));
    if (line.program.empty())
        line.program = (fs::read_symlink("/proc/self/exe").parent_path() / "trireme").string();
    return line;
}

const Point& point_of(const CommandLine& line, const std::string& name, const std::vector<Point>& points) {
    std::size_t number = 0;
    const char* end = line.number.data() + line.number.size();
    const auto [last, error] = std::from_chars(line.number.data(), end, number);
    if (error != std::errc() || last != end || number >= points.size())
        throw ConfigError(cat("study ", name, " has no point ", line.number,
                              "; its points are numbered from 0 to ", points.size() - 1));
    return points[number];
}

// Throws ResourceError (exit code 3) if the point failed.
int run_point(const Study& study, const Point& point, const CommandLine& line) {
    const fs::path records = line.output / study.name;
    fs::create_directories(records);
    const Row row = make_row(study, point, line.program, records);
    keep(row, study, point, records);
    if (!row.failure.empty()) throw ResourceError(cat(point.folder, " failed: ", row.failure));
    fmt::print("{}  done\n", point.folder);
    return 0;
}

// Predicts the remaining seconds of a study from the mean time of its points so far. Points whose results are
// already known take almost no time and do not count.
class Pace {
public:
    void add(double seconds) {
        constexpr double min_seconds = 0.5;  // a faster point was not run: its result was known
        if (seconds < min_seconds) return;
        ++points_;
        seconds_ += seconds;
    }

    // Returns ", about 1m30s left" for `more` points; empty if the time is unknown.
    std::string left(std::size_t more) const {
        if (points_ == 0 || more == 0) return "";
        const double each = seconds_ / static_cast<double>(points_);
        return cat(", about ", format_duration(std::ceil(each * static_cast<double>(more))), " left");
    }

private:
    std::size_t points_ = 0;
    double seconds_ = 0;
};

int run_all(const Study& study, const std::vector<Point>& points, const CommandLine& line) {
    const fs::path records = line.output / study.name;
    fs::create_directories(records);
    std::vector<TableRow> rows;
    Pace pace;
    for (const Point& point : points) {
        fmt::print("{:>4}/{}  {}", rows.size() + 1, points.size(), point.folder);
        std::fflush(stdout);
        const auto begin = std::chrono::steady_clock::now();
        rows.push_back({.point = &point, .row = make_row(study, point, line.program, records)});
        const Row& row = rows.back().row;
        keep(row, study, point, records);
        pace.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        fmt::print("  {}{}\n", row.failure.empty() ? "done" : row.failure,
                   pace.left(points.size() - rows.size()));
        write_table(study, points, rows, line.output);
    }
    return 0;
}

// Throws ResourceError (exit code 3) if the table lacks points.
int join(const Study& study, const std::vector<Point>& points, const CommandLine& line) {
    std::vector<TableRow> rows;
    std::string missing;
    for (const Point& point : points) {
        const auto row = kept_row(study, point, line.output / study.name);
        if (row)
            rows.push_back({.point = &point, .row = *row});
        else
            missing += cat("\n  ", &point - points.data(), "  ", point.folder);
    }
    if (!rows.empty()) write_table(study, points, rows, line.output);
    if (!missing.empty())
        throw ResourceError(cat(
            "study ", study.name, " lacks the results of ", points.size() - rows.size(), " of its ",
            points.size(), " points; run each of these with --point NUMBER, then run --join again:", missing));
    fmt::print("{}  points: {}\n", (line.output / (study.name + ".csv")).string(), rows.size());
    return 0;
}

int execute(const CommandLine& line) {
    if (line.action == Action::help) {
        fmt::print("{}", help);
        return 0;
    }
    const Study study = read_study(line.file);
    const std::vector<Point> points = make_points(study);
    switch (line.action) {
        case Action::whole:
            return run_all(study, points, line);
        case Action::points:
            fmt::print("{}\n", points.size());
            return 0;
        case Action::point:
            return run_point(study, point_of(line, study.name, points), line);
        case Action::join:
            return join(study, points, line);
        case Action::help:
            break;
    }
    return 70;  // not reached
}

}  // namespace
}  // namespace trireme::studies

int main(int count, char** words) try {
    return trireme::studies::execute(trireme::studies::parsed({words + 1, words + count}));
} catch (const trireme::Error& error) {
    fmt::print(stderr, "perf_study: {}\n", error.what());
    return static_cast<int>(error.code());
} catch (const std::filesystem::filesystem_error& error) {
    fmt::print(stderr, "perf_study: {}\n", error.what());
    return 3;
}

// A study runs every combination of points, one from each axis, with the options that they set.
//
//   {"schema": 1, "name": "schedules", "source": "what the study asks, and why",
//    "launch": ["mpirun", "-n", "{ranks}"], "command": "train",
//    "options": {"model": "gpt2-tiny", "steps": 20},
//    "axes": [[{"schedule": "gpipe"}, {"schedule": "1f1b"}],
//             [{"ranks": 2, "pipe": 2}, {"ranks": 4, "pipe": 4}]],
//    "figures": ["tokens_per_s", "mfu", "bubble/measured"],
//    "beside": {"options": {"network": "free"}, "saved": {"exposed_comm": "seconds"}},
//    "charts": [{"title": "...", "x": "ranks", "y": "mfu", "lines": ["schedule"]}]}
//
// A point of an axis sets some options; a run takes one point of each axis. A null removes an option of
// "options" from the runs of that point: {"straggler": "off", "look-every": null}. "launch", "beside"
// and "charts" are optional. A word of "launch" may contain an option's value, by its name in braces. If
// "command" is "train", such an option is passed only to the launcher. An option may contain another option's
// value in the same way, as "slow": "rank=0,factor={factor}" does; the other option is then not passed to the
// program. Figures are those of summary.json, or of `plan --format json` if "command" is "plan", with "/"
// between levels. "beside" adds a second run of each point with its own options. The fraction of a figure that
// these options save is a figure of its own: exposed_comm is 1 - seconds of the second run / seconds.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trireme::studies {

using Options = std::map<std::string, std::string>;

struct ChartSpec {
    std::string title;
    std::string x;                   // name of an option
    std::string y;                   // name of a figure
    std::vector<std::string> lines;  // options; the chart has one line for each combination of their values
};

// A second run of each point. `saved` maps the name of a saved fraction to the figure that it is computed from.
struct ComparisonSpec {
    Options options;
    std::map<std::string, std::string> saved;
};

struct Study {
    std::string file;  // path of the file
    std::string name, source, command;
    std::vector<std::string> launch;
    Options options;
    std::vector<std::vector<Options>> axes;
    std::vector<std::string> figures;
    std::optional<ComparisonSpec> beside;
    std::vector<ChartSpec> charts;
};

// A combination of one point from each axis, and so one run of the study.
struct Point {
    Options own;         // options that the points of the axes set
    Options all;         // `own`, and those of the study's options that `own` does not set
    std::string folder;  // its name, made from `own`: "pipe-4.schedule-1f1b"
};

// Throws ConfigError if the file is not a valid study, and names the place in it.
Study read_study(const std::filesystem::path& file);

// Returns all points; the last axis varies fastest. Throws ConfigError if two points have the same name.
std::vector<Point> make_points(const Study& study);

// Returns the second run of a point, in which the options of the comparison replace those of the point.
Point beside(const Point& point, const ComparisonSpec& comparison);

inline constexpr const char* plan_file = "plan.json";  // the result of the command `plan`

// Returns the command line of a point, whose records go to `folder`. The command `plan` writes only
// `plan_file`.
std::vector<std::string> words_for(const Study& study, const Point& point, const std::string& program,
                                   const std::filesystem::path& folder);

}  // namespace trireme::studies

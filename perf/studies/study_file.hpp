// What a study runs: every combination of some points, each with options of its own.
//
//   {"schema": 1, "name": "schedules", "source": "what is asked, and why",
//    "launch": ["mpirun", "-n", "{ranks}"], "command": "train",
//    "options": {"model": "gpt2-tiny", "steps": 20},
//    "axes": [[{"schedule": "gpipe"}, {"schedule": "1f1b"}],
//             [{"ranks": 2, "pipe": 2}, {"ranks": 4, "pipe": 4}]],
//    "figures": ["tokens_per_s", "mfu", "bubble/measured"],
//    "beside": {"options": {"network": "free"}, "saved": {"exposed_comm": "seconds"}},
//    "charts": [{"title": "...", "x": "ranks", "y": "mfu", "lines": ["schedule"]}]}
//
// A point of an axis sets some options; a run takes one of each axis. A null removes an option of "options"
// from the runs of that point, as {"straggler": "off", "look-every": null} does. "launch", "beside" and
// "charts" may be left out. A word of "launch" may have an option's value, by its name in braces: such an
// option is the launcher's alone where "command" is "train". An option may have another one's value in the same
// way, as "slow": "rank=0,factor={factor}" does; that one is not the program's. Figures are those of
// summary.json, with "/" on the way down. Of each run there is another one beside it, with the options of
// "beside", and the share of a figure that these save is a figure of its own: exposed_comm is 1 - seconds of
// the other / seconds.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trireme::studies {

using Options = std::map<std::string, std::string>;

struct ChartWish {
    std::string title, x, y;
    std::vector<std::string> lines;  // options: a line for each of their values
};

// Another run of each point, and what its options save: by the name of the share, the figure that it is of.
struct BesideWish {
    Options options;
    std::map<std::string, std::string> saved;
};

struct Study {
    std::string file;  // where it was read
    std::string name, source, command;
    std::vector<std::string> launch;
    Options options;
    std::vector<std::vector<Options>> axes;
    std::vector<std::string> figures;
    std::optional<BesideWish> beside;
    std::vector<ChartWish> charts;
};

// One run of a study.
struct Point {
    Options own;         // what its axes say
    Options all;         // with what all have
    std::string folder;  // "pipe-4.schedule-1f1b": its name, from its own
};

// Throws ConfigError for a file that is no study, naming the place in it.
Study read_study(const std::filesystem::path& file);

// The last axis turns fastest. Throws ConfigError where two would have one name.
std::vector<Point> points_of(const Study& study);

// The one that runs beside it.
Point beside(const Point& point, const BesideWish& wish);

// The words that run it, with its records in `folder`.
std::vector<std::string> words_for(const Study& study, const Point& point, const std::string& program,
                                   const std::filesystem::path& folder);

}  // namespace trireme::studies
